#!/bin/bash
# SPDX-License-Identifier: MIT
# Nothing of what the program shows is obeyed by a terminal, whatever brings it: see wall.py.
. "$(dirname "$0")/lib.sh"
need_run
python3 "$here/tests/tui/wall.py" "$BELLJAR" "$level" "$scratch"
