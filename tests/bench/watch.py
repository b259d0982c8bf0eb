# SPDX-License-Identifier: MIT
"""watch.py [index|glance]: an index of source files, as tools that check, search or pack code make it. Every file is read
in full, its digest taken, and what it imports and defines looked for; then a server is asked for and some programs are
started. `glance` only opens each file and reads its first bytes: as little work between two opens as a program can do.
Prints how many files it opened, connections it tried and programs it started."""
import glob
import hashlib
import os
import re
import socket
import sys

FILES, CONNECTS, EXECS = 1400, 8, 8
NAMES = re.compile(rb"^\s*(?:import|from|class|def|async\s+def)\s+(\w+)", re.MULTILINE)


def sources():
    for root in sorted(glob.glob("/usr/lib/python3*")):
        for here, folders, names in os.walk(root):
            folders.sort()
            yield from (os.path.join(here, name) for name in sorted(names) if name.endswith(".py"))


def index(path):
    with open(path, "rb") as source:
        text = source.read()
    return hashlib.sha256(text).digest(), NAMES.findall(text)


def glance(path):
    fd = os.open(path, os.O_RDONLY)
    start = os.read(fd, 512)
    os.close(fd)
    return start


def main():
    look = glance if sys.argv[1:] == ["glance"] else index
    found = {}
    for path in sources():
        if len(found) == FILES:
            break
        found[path] = look(path)
    for _ in range(CONNECTS):
        with socket.socket() as s:
            s.connect_ex(("127.0.0.1", 9))  # nobody is there: in a network of its own not even a network is
    for _ in range(EXECS):
        os.waitpid(os.posix_spawn("/usr/bin/true", ["true"], {}), 0)
    print(len(found), CONNECTS, EXECS)


main()
