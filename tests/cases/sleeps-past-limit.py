# case: a program that only sleeps uses no CPU time, and is stopped by the clock all the same
# options: --wall 2s
# want-verdict: wall-time
# want-status: 124
# want-stdout: ^tick 0$
# want-stdout: ^tick 3$
# never: finished
# want-cpu-below: 0.5
import time
for n in range(240):
    print("tick", n, flush=True)
    time.sleep(0.25)
print("finished")
