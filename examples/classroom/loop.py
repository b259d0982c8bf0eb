# SPDX-License-Identifier: MIT
# $ belljar run -p classroom examples/classroom/loop.py
#
# Exercise 3: "Print the sum of the odd numbers below ten." A pupil's answer, with the mistake that everybody makes once:
# from 1 in steps of 2 the number 10 is never met, and the loop has no other end. The preset ends it after two seconds of
# CPU time, and the verdict says so.
print("the sum of the odd numbers below ten is", flush=True)

total = 0
number = 1
while number != 10:
    total += number
    number += 2

print(total)
