# SPDX-License-Identifier: MIT
# What Python asks of the kernel besides files: `system.py NAME` tries the function of that name and prints what came of
# it. Nothing here waits for a clock to say that it worked.
import ctypes
import fcntl
import mmap
import os
import pty
import resource
import select
import signal
import struct
import sys
import tempfile

libc = ctypes.CDLL(None, use_errno=True)


def checked(value):
    if value == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return value


def in_child(action):
    """Runs action in a forked child and returns its exit status."""
    pid = os.fork()
    if pid == 0:
        os._exit(action() or 0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def flock():
    with tempfile.NamedTemporaryFile() as held:
        fcntl.flock(held, fcntl.LOCK_EX)

        def try_lock():
            with open(held.name) as other:
                try:
                    fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    return 7
        print("held:", in_child(try_lock) == 7)


def temporary():
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as unnamed:
        unnamed.write(b"x" * 4096)
        with open(os.path.join(folder, "name"), "w") as named:
            named.write("kept")
        print(os.listdir(folder), unnamed.tell())


def memfd():
    fd = os.memfd_create("belongs to nobody", os.MFD_ALLOW_SEALING)
    os.write(fd, b"sealed")
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
    try:
        os.write(fd, b"more")
    except PermissionError:
        print(os.pread(fd, 6, 0).decode())


def inotify():
    with tempfile.TemporaryDirectory() as folder:
        fd = checked(libc.inotify_init1(os.O_CLOEXEC))
        checked(libc.inotify_add_watch(fd, folder.encode(), 0x100))  # IN_CREATE
        open(os.path.join(folder, "new"), "w").close()
        print("created:", os.read(fd, 4096)[16:].rstrip(b"\0").decode())


def limits():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 32), hard))
    try:
        kept = [open("/dev/null") for _ in range(64)]
    except OSError as e:
        print(os.strerror(e.errno), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0)


def terminal():
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, 0x5414, struct.pack("HHHH", 24, 80, 0, 0))  # TIOCSWINSZ
    print(os.isatty(follower), os.get_terminal_size(follower).columns)


def shell_on_terminal():
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp("sh", ["sh", "-c", "test -t 0 && stty size >/dev/null && tty | sed 's/[0-9]*$/N/'"])
    said = b""
    try:
        while chunk := os.read(fd, 1024):
            said += chunk
    except OSError:  # EIO: the last one hung up
        pass
    print(said.decode().strip(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def timer():
    rang = []
    signal.signal(signal.SIGALRM, lambda *_: rang.append(True))
    signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
    while len(rang) < 20:
        signal.pause()
    signal.setitimer(signal.ITIMER_REAL, 0)
    print("rang", len(rang) >= 20)


def shared_map():
    counter = mmap.mmap(-1, 4096)

    def add():
        counter[0] += 5
    in_child(add)
    in_child(add)
    print("sum", counter[0])


def machine_code():
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    code.write(bytes.fromhex("89f8 0fafc7 c3"))  # mov eax, edi; imul eax, edi; ret
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    checked(libc.mprotect(ctypes.c_void_p(address), 4096, mmap.PROT_READ | mmap.PROT_EXEC))
    print("squared", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(address)(12))


def callback():
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    numbers = (ctypes.c_int * 5)(5, 3, 1, 4, 2)
    libc.qsort(numbers, 5, ctypes.sizeof(ctypes.c_int), compare(lambda a, b: a[0] - b[0]))
    print(list(numbers))


def shared_memory():
    from multiprocessing import shared_memory as shm
    block = shm.SharedMemory(create=True, size=4096)
    again = shm.SharedMemory(name=block.name)
    block.buf[0] = 42
    print("seen", again.buf[0])
    again.close()
    block.close()
    block.unlink()


def semaphore():
    from multiprocessing import Semaphore
    gate, answer = Semaphore(0), Semaphore(0)

    def child():
        gate.acquire()
        answer.release()
    pid = os.fork()
    if pid == 0:
        child()
        os._exit(0)
    gate.release()
    answer.acquire()
    print("passed", os.waitpid(pid, 0)[1])


def message_queue():
    rt = ctypes.CDLL("librt.so.1", use_errno=True)
    name, place = b"/belljar-%d" % os.getpid(), ctypes.create_string_buffer(8192)
    queue = checked(rt.mq_open(name, os.O_CREAT | os.O_RDWR | os.O_EXCL, 0o600, None))
    checked(rt.mq_unlink(name))
    checked(rt.mq_send(queue, b"hello", 5, 0))
    length = checked(rt.mq_receive(queue, place, len(place), None))
    print(place.raw[:length].decode())


def system_v():
    key = checked(libc.shmget(0, 4096, 0o1600))
    libc.shmat.restype = ctypes.c_void_p
    address = libc.shmat(key, None, 0)
    checked(libc.shmctl(key, 0, None))  # IPC_RMID
    ctypes.memmove(address, b"shared", 6)
    print(ctypes.string_at(address, 6).decode())


def hashes():
    import hashlib
    key = hashlib.scrypt(b"password", salt=b"NaCl", n=1024, r=8, p=16, dklen=64)
    print(key.hex()[:16], hashlib.sha256(b"abc").hexdigest()[:8])


def tls():
    """A whole handshake of two sides in memory; it needs a certificate, which openssl makes."""
    import ssl
    import subprocess
    subprocess.run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem "
                   "-subj /CN=localhost -addext subjectAltName=DNS:localhost -days 2".split(), check=True, stderr=-3)
    ours, theirs = ssl.create_default_context(cafile="cert.pem"), ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    theirs.load_cert_chain("cert.pem", "key.pem")
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ours.wrap_bio(down, up, server_hostname="localhost")
    server = theirs.wrap_bio(up, down, server_side=True)
    done = []
    for side in [client, server] * 3:
        try:
            if side not in done:
                side.do_handshake()
                done.append(side)
        except ssl.SSLWantReadError:
            pass
    client.write(b"under glass")
    print(client.version(), server.read(64).decode())


def sockets():
    import socket
    left, right = socket.socketpair()
    read_fd, write_fd = os.pipe()
    os.write(write_fd, b"through")
    socket.send_fds(left, [b"x"], [read_fd])
    passed = socket.recv_fds(right, 1, 1)[1][0]
    poll = select.epoll()
    poll.register(passed, select.EPOLLIN)
    print(len(poll.poll(10)), os.read(passed, 16).decode())


def curses_screen():
    import curses
    pid, fd = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        window = curses.initscr()
        window.addstr(1, 1, "drawn")
        window.refresh()
        curses.endwin()
        os._exit(0)
    said = b""
    try:
        while chunk := os.read(fd, 1024):
            said += chunk
    except OSError:
        pass
    print(b"drawn" in said, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def database():
    import sqlite3
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "wal.db")
        writer, reader = sqlite3.connect(path), sqlite3.connect(path)
        mode = writer.execute("pragma journal_mode = wal").fetchone()[0]
        writer.execute("pragma mmap_size = 1048576")
        writer.execute("create table t (n integer)")
        with writer:
            writer.executemany("insert into t values (?)", ((n,) for n in range(1000)))
        print(mode, reader.execute("select sum(n) from t").fetchone()[0])


def time_zone():
    import zoneinfo
    from datetime import datetime, timezone
    noon = datetime(2024, 7, 1, 12, tzinfo=timezone.utc)
    print(noon.astimezone(zoneinfo.ZoneInfo("Asia/Tokyo")).isoformat(), "Europe/Berlin" in zoneinfo.available_timezones())


def sort_order():
    import locale
    print(locale.setlocale(locale.LC_ALL, "C.UTF-8"), *sorted(["ö", "z", "Z", "a"], key=locale.strxfrm))


globals()[sys.argv[1]]()
