#!/bin/bash
# case: pasted line endings of another system do not break a script
# want-verdict: ok
# want-stdout: ^total 6$
total=0
for n in 1 2 3
do
  total=$((total + n))
done
if [ "$total" -eq 6 ]
then
  echo "total $total"
fi
