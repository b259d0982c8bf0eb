#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/bench/start.sh [ROUNDS]: tests/bench/start.c as whoever calls it and, when that is root, once more as an ordinary
# user without an account, from a copy that this user can read.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
rounds=${1:-60}

scratch=$(mktemp -d /tmp/bj-bench-XXXXXX) || exit 1
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/root" "$scratch/user" "$scratch/tree/$build/tests/bench"
cp "$build"/belljar "$scratch/tree/$build/"
cp "$build"/tests/bench/start "$scratch/tree/$build/tests/bench/"
cp -r presets "$scratch/tree/"
chmod -R go+rX "$scratch"

echo "As $(id -un):"
(cd "$scratch/tree" && HOME=$scratch/root "$build/tests/bench/start" "$PWD/$build/belljar" "$rounds") || exit 1
[ "$(id -u)" -eq 0 ] || exit 0
uid=61234
chown "$uid:$uid" "$scratch/user"
printf '\nAs an ordinary user:\n'
(cd "$scratch/tree" && HOME=$scratch/user setpriv --reuid=$uid --regid=$uid --clear-groups \
	"$build/tests/bench/start" "$PWD/$build/belljar" "$rounds")
