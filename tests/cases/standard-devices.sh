#!/bin/sh
# case: the standard devices and the links to one's own descriptors work
# want-verdict: ok
# want-stdout: ^null read$
# want-stdout: ^null write$
# want-stdout: ^zero 0000000000000000$
# want-stdout: ^random 16$
# want-stdout: ^full refuses$
# want-stdout: ^descriptors$
# want-stdout: ^opened again$
# want-stderr: ^and this one$
[ "$(cat /dev/null 2>&1 | wc -c)" -eq 0 ] && cat /dev/null && echo "null read"
(echo drop >/dev/null) && echo "null write"
echo "zero $(head -c 8 /dev/zero | od -An -tx1 | tr -d ' \n')"
echo "random $(head -c 16 /dev/urandom | wc -c | tr -d ' ')"
(echo x >/dev/full) 2>/dev/null || echo "full refuses"
[ "$(echo hi | cat /dev/fd/0)" = hi ] && [ "$(echo hi | cat /dev/stdin)" = hi ] && echo descriptors
echo 'opened again' >/dev/stdout
echo 'and this one' >/dev/stderr
exit 0
