#!/bin/sh
# case: without a fault in what is asked, the same script runs, confined
# want-verdict: ok
# want-stdout: ^marker$
# want-stdout: ^no-new-privs 1$
echo marker
echo "no-new-privs $(awk '/^NoNewPrivs/ { print $2 }' /proc/self/status)"
