# case: a program that ends by a signal is told apart from one that returns the same number
# want-verdict: signalled
# want-signal: SIGABRT
# want-status: 134
# want-stdout: ^before$
# never: after
import os
print("before", flush=True)
os.abort()
print("after")
