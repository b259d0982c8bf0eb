# case: a large standard input and a large output at the same time do not wait for each other
# stdin-lines: 200000
# want-verdict: ok
# want-stderr: ^lines 200000 bytes 8000000$
import sys
lines = size = 0
for raw in sys.stdin.buffer:
    lines += 1
    size += len(raw)
    sys.stdout.buffer.write(raw)
    if lines % 64 == 0:
        sys.stdout.buffer.flush()
sys.stdout.buffer.flush()
print("lines", lines, "bytes", size, file=sys.stderr)
