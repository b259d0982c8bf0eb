# case: UTF-8 goes in and comes back, although no locale was asked for
# stdin: crème brûlée — 数字 ✓ 🙂
# want-verdict: ok
# want-stdout: ^chars 21$
# want-stdout: ^back crème brûlée — 数字 ✓ 🙂$
import sys
text = sys.stdin.readline().rstrip("\n")
print("chars", len(text))
print("back", text)
