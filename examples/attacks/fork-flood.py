# SPDX-License-Identifier: MIT
"""Starts 200 processes that are alive at once: each answers through a pipe when all have been started.

Harmless: 200 and no more; they do nothing, and end as soon as all have answered, or their parent is gone.
"""
import gc
import hashlib
import os
import time

print("started fork-flood", flush=True)
COUNT = 200
go_read, go_write = os.pipe()
stay_read, stay_write = os.pipe()
answer_read, answer_write = os.pipe()
gc.freeze()  # a child that collects would copy the pages that it shares with its parent
children = []
try:
    for _ in range(COUNT):
        pid = os.fork()
        if pid == 0:
            os.close(go_write)
            os.close(stay_write)
            os.read(go_read, 1)  # a byte, or the end where the parent is gone
            os.write(answer_write, b"%9d\n" % os.getpid())
            os.read(stay_read, 1)  # until every answer was counted
            os._exit(0)
        children.append(pid)
except OSError as error:
    print(f"child {len(children) + 1}: {error.strerror}", flush=True)
    time.sleep(0.5)  # as a flood would stand at the limit

# All are started: only now does any of them answer.
os.write(go_write, b"." * len(children))
answers = set()
if len(children) == COUNT:
    with os.fdopen(answer_read) as answered:
        answers = {int(answered.readline()) for _ in range(COUNT)}
alive = len(answers & set(children))
os.close(stay_write)
for pid in children:
    os.waitpid(pid, 0)
if alive < COUNT:
    raise SystemExit(1)
print("witness", hashlib.sha256(f"{os.environ['BELLJAR_NONCE']} {alive}".encode()).hexdigest(), flush=True)
