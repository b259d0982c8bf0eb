#!/bin/sh
# SPDX-License-Identifier: MIT
# A day of git: a repository, two commits, a clone, a branch, a merge, what the log says, and a check of it all.
set -e
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example HOME="$PWD"
git init -q -b main first
cd first
echo one >file
git add file
git commit -q -m 'first'
cd ..
git clone -q first second
cd second
git checkout -q -b side
echo two >>file
git commit -q -a -m 'second'
git checkout -q main
git merge -q --no-ff -m 'third' side
git gc -q
git fsck --strict 2>&1
git push -q origin main:arrived
git -C ../first log --topo-order --format=%s arrived
