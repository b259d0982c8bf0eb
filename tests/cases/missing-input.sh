#!/bin/sh
# case: what cannot be set up stops the run; it is never tried again without the sandbox
# options: --input /proc/no-such-folder/x
# want-verdict: setup-error
# want-status: 125
# want-words: /proc/no-such-folder/x
# never: marker
echo marker
