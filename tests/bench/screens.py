#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""screens.py BELLJAR: how the screens hold up, each number beside the one to reach. The program runs on a pty whose other
side is read as fast as this script can; a key counts from its write(2) until the bytes that show its effect are here.
Floods are bounded and made by a target that writes them with nothing in between; the preset lifts the limit on output."""
import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time

CHUNK = 1 << 16
STARTS, KEYS = 20, 100
FLOODS = {  # what a target prints again and again, and how many bytes in all
    "plain text": (b"a line of a flood\n", 4 << 30),
    "colours": (b"\033[31mred\033[0m and \033[1;32mgreen\033[0m, as compilers print it\n", 1 << 30),
    "hostile sequences": (b"\033]0;title\007\033[2J\033[?1049h\033[6n \xe2\x80\xae text\n", 256 << 20),
}
KEY_EFFECTS = [(b"3", b"[3 Events]"), (b"2", b"[2 Run]")]
missed = 0


def row(what, reached, target, good):
    global missed
    missed += not good
    print(f"{what:<44} {reached:>12}   {target:>12}   {'held' if good else 'MISSED'}", flush=True)


class Terminal:
    """belljar on a pty of its own."""

    def __init__(self, argv, home, columns=80, rows=24):
        self.began = time.monotonic()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8", HOME=home)
            for name in [name for name in os.environ if name.startswith("XDG_") or name in ("NO_COLOR", "SSH_CONNECTION")]:
                del os.environ[name]
            os.execv(argv[0], argv)
        self.seen, self.taken = b"", 0

    def read(self, seconds):
        if not select.select([self.fd], [], [], max(0, seconds))[0]:
            return False
        try:
            piece = os.read(self.fd, CHUNK)
        except OSError:
            piece = b""
        self.taken += len(piece)
        self.seen = (self.seen + piece)[-4 * CHUNK:]
        return bool(piece)

    def wait(self, pattern, seconds=60):
        """Seconds until it was there; what came before this call does not count."""
        begin = time.monotonic()
        while not re.search(pattern, self.seen):
            if time.monotonic() - begin > seconds:
                sys.exit(f"screens.py: {pattern!r} never came; the last was {self.seen[-400:]!r}")
            self.read(begin + seconds - time.monotonic())
        return time.monotonic() - begin

    def press(self, key, effect):
        self.seen = b""
        os.write(self.fd, key)
        return self.wait(re.escape(effect))

    def drain(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(end - time.monotonic())

    def end(self):
        os.write(self.fd, b":quit now\r")
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and self.read(1):
            pass
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def children(pid):
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield int(child)
            yield from children(int(child))


def screens_of(pid):
    return next(child for child in children(pid) if (pathlib.Path(f"/proc/{child}/comm").read_text() == "belljar-screens\n"))


def cpu_seconds(pid):
    return int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def rss_kib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1])


def percentile(values, percent):
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def bench_start(belljar, home):
    times = []
    for _ in range(STARTS):
        terminal = Terminal([belljar], home)
        terminal.wait(rb"Nothing is staged")
        times.append(time.monotonic() - terminal.began)
        terminal.drain(0.1)
        terminal.end()
    row("first frame, median", f"{statistics.median(times) * 1e3:.1f} ms", "< 50 ms", statistics.median(times) < 0.05)


def bench_idle(terminal, when):
    pids = [terminal.pid, screens_of(terminal.pid)]
    terminal.drain(1)
    before, taken = sum(map(cpu_seconds, pids)), terminal.taken
    terminal.drain(3)
    used = sum(map(cpu_seconds, pids)) - before
    row(f"processor time in 3 s of idling, {when}", f"{used * 1e3:.1f} ms", "0", used < 0.001 and terminal.taken == taken)


def bench_paste(belljar, home):
    terminal = Terminal([belljar], home)
    terminal.wait(rb"Nothing is staged")
    terminal.drain(0.3)
    text = b"".join(b"x%06d = 'a line of a large paste'  # filler, filler\r" % i for i in range(20000))
    whole, at, begin = b"\033[200~" + text + b"\033[201~", 0, time.monotonic()
    os.set_blocking(terminal.fd, False)
    terminal.seen = b""
    while at < len(whole):
        try:
            at += os.write(terminal.fd, whole[at:at + CHUNK])
        except BlockingIOError:
            select.select([terminal.fd], [terminal.fd], [])
        terminal.read(0)
    os.set_blocking(terminal.fd, True)
    terminal.wait(rb"20000 lines")
    took = time.monotonic() - begin
    row(f"a paste of {len(text) / 1e6:.1f} MB, until it is staged", f"{took * 1e3:.0f} ms", "< 100 ms", took < 0.1)
    bench_idle(terminal, "code staged")
    terminal.end()


def write_target(folder, line, total):
    path = pathlib.Path(folder, "flood.py")
    path.write_text(f"import os\nblock = {line!r} * ({CHUNK} // {len(line)})\nleft = {total}\n"
                    "while left > 0:\n\tleft -= os.write(1, block)\n")
    return str(path), total


def bench_flood(belljar, home, name):
    line, total = FLOODS[name]
    path, total = write_target(home, line, total)
    terminal = Terminal([belljar, path], home)
    terminal.wait(rb"STAGED, NOT RUN")
    terminal.press(b":preset flood\r", b"flood")
    terminal.drain(0.3)
    begin = time.monotonic()
    terminal.press(b"r", b"[2 Run]")
    terminal.wait(rb"lines")
    screens, times, sizes = screens_of(terminal.pid), [], []
    while b"lines  kept" not in terminal.seen and time.monotonic() < begin + 2:
        terminal.read(0.1)
    for i in range(KEYS):  # the pauses are uneven, so that keys fall anywhere between two frames
        terminal.drain(0.005 + 0.007 * (i * 7 % 11) / 11)
        times.append(terminal.press(*KEY_EFFECTS[i % 2]))
        sizes.append(rss_kib(screens))
    during = time.monotonic() - begin
    terminal.press(b"3", b"[3 Events]")
    terminal.press(b"2", b"[2 Run]")
    terminal.wait(rb"exit status 0|Status 0", 120)
    took = time.monotonic() - begin
    if during > took:
        sys.exit("screens.py: the flood ended before the keys were pressed")
    row(f"{name}: taken, on the screens", f"{total / took / 1e6:.0f} MB/s", "> 100 MB/s", total / took > 100e6)
    high = percentile(times, 95)
    row(f"{name}: key to screen, 95th of {KEYS}", f"{high * 1e3:.1f} ms", "< 50 ms", high < 0.05)
    grown = max(sizes) - sizes[len(sizes) // 4]
    row(f"{name}: memory, largest", f"{max(sizes) / 1024:.1f} MiB", "< 64 MiB", max(sizes) < 65536)
    row(f"{name}: memory, grown in the flood", f"{grown} KiB", "< 1024 KiB", grown < 1024)
    bench_idle(terminal, "run ended")
    terminal.end()


def bench_pty(home):
    """What the kernel's pty gives at best, from a program that only copies: no target can be held above it."""
    path, total = pathlib.Path(home, "lines"), 32 << 20
    path.write_bytes(FLOODS["plain text"][0] * (total // len(FLOODS["plain text"][0])))
    terminal = Terminal(["/bin/cat", str(path)], home)
    while terminal.read(30):
        pass
    print(f"{'for comparison: cat, onto a pty':<44} {total / (time.monotonic() - terminal.began) / 1e6:>7.0f} MB/s", flush=True)
    os.close(terminal.fd)
    os.waitpid(terminal.pid, 0)


def bench_lines(belljar, home, name):
    line, total = FLOODS[name]
    path, total = write_target(home, line, total // 16)
    argv = [belljar, "run", "-q", "--no-record", "-p", "flood", path]
    begin = time.monotonic()
    with subprocess.Popen(argv, stdout=subprocess.PIPE, env=dict(os.environ, HOME=home)) as run:
        while os.read(run.stdout.fileno(), 4 * CHUNK):
            pass
    rate = total / (time.monotonic() - begin)
    row(f"{name}: belljar run, into a pipe", f"{rate / 1e6:.0f} MB/s", "> 100 MB/s", rate > 100e6)
    terminal = Terminal(argv, home)
    while terminal.read(30):
        pass
    rate = total / (time.monotonic() - terminal.began)
    row(f"{name}: belljar run, onto a pty", f"{rate / 1e6:.0f} MB/s", "> 100 MB/s", rate > 100e6)
    os.close(terminal.fd)
    os.waitpid(terminal.pid, 0)


def main():
    belljar = os.path.abspath(sys.argv[1])
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with tempfile.TemporaryDirectory(prefix="bj-bench-") as home:
        presets = pathlib.Path(home, ".config/belljar/presets")
        presets.mkdir(parents=True)
        level = next(level for level in ("namespaces", "subprocess") if subprocess.run(
            [belljar, "run", "-q", "--no-record", "-p", level, "-l", "sh", "-c", "exit 0"], check=False).returncode == 0)
        (presets / "flood.ini").write_text(f"[preset]\nname = flood\nsummary = a flood\nextends = {level}\n"
                                           "[limits]\noutput = unlimited\nwall = 2m\ncpu = 2m\n")
        print(f"{'level ' + level:<44} {'reached':>12}   {'to reach':>12}")
        bench_start(belljar, home)
        bench_paste(belljar, home)
        bench_pty(home)
        for name in FLOODS:
            bench_flood(belljar, home, name)
            bench_lines(belljar, home, name)
    print(f"{missed} missed" if missed else "all held")


if __name__ == "__main__":
    main()
