# Starts children until it may not, at most 200, and lets them all go again.
import os
import sys

children = []
try:
    for number in range(200):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            for _, other in children:  # or the elder ones would never see the parent let go
                os.close(other)
            os.close(write)
            os.read(read, 1)  # waits until the parent lets go
            os._exit(0)
        os.close(read)
        children.append((pid, write))
except OSError as error:
    print(len(children), "children at once, then:", error.strerror)
    sys.stdout.flush()
    os._exit(1)  # gives up at once; they all end with the run
print(len(children), "children at once")
for pid, write in children:
    os.close(write)
    os.waitpid(pid, 0)
