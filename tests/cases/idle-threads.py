# case: a thread for each of many cores reserves stacks and touches none of them
# options: --processes 128 --memory 256M
# levels: namespaces microvm
# want-verdict: ok
# want-stdout: ^started 48$
import threading
gate = threading.Event()
threads = [threading.Thread(target=gate.wait) for _ in range(48)]
for thread in threads:
    thread.start()
print("started", len(threads))
gate.set()
