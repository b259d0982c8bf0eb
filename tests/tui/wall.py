#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""wall.py BELLJAR LEVEL SCRATCH: hostile bytes through every door, and every byte that comes out onto the terminal parsed.

What may come out: printable text, line ends, and the sequences that terminfo has for the terminal in use, those that move,
erase and dress; besides, ours: SGR of eight colours where there are colours, bracketed paste. Anything else fails, and so
does any character that a terminal or a reader would take for what it is not. The parser is tried on known evil first."""
import codecs
import curses
import dataclasses
import fcntl
import functools
import itertools
import json
import multiprocessing
import os
import pathlib
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import termios
import time
import unicodedata

BELLJAR, LEVEL, SCRATCH = os.path.abspath(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
TREE = pathlib.Path(__file__).resolve().parents[2]
PATIENCE = float(os.environ.get("PATIENCE", "60"))
WORKERS = 6
COMMAND = str(SCRATCH / "tree/build/belljar")

# ---- what is fed ----

CSI = ["0c", "6n", "2J", "H", "8m", "5m", "31m", "?1049h", "?1049l", "?25l", "?2004h", "?1000h", "!p", "5i", "21t", "3;4r",
       "38;2;1;2;3m", "38:2::1:2:3m", ";".join("1" * 1000) + "m", "31"]
STRINGS = ["]0;OWNED", "]2;OWNED", "]8;;http://owned", "]52;c;T1dORUQ=", "]11;?", "Pq", "P$qm", "_Gf=1", "^pm", "Xsos", "ktitle"]
CHARACTERS = ("\u202e\u2066\u061c\u200e\u200b\u200d\u2060\ufeff\u00ad\ufff9\u3164\u180e\ufe0f\U000e0041\U000e0001"
              "\U000e0100\ue000\U000f0000\U0010ffff\ufdd0\u2028\u2029e\u0301\u0302\u0303\u0304\u0305")
EVIL = "".join(["seen "] + [chr(c) for c in range(1, 32) if chr(c) not in "\n\t"] + ["\x7f"]
               + [chr(c) for c in range(0x80, 0xa0)] + list(CHARACTERS)
               + [f"\033[{s}" for s in CSI] + [f"\x9b{s}" for s in CSI]
               + [f"\033{s}{end}" for s in STRINGS for end in ("\a", "\033\\", "\x9c")]
               + [f"{c1}x\x9c" for c1 in "\x90\x98\x9d\x9e\x9f"]
               + ["\033c\0337\033(0\033Z\033#8\033N\033=\033>", "\033]0;never ended"])
EVIL_BYTES = EVIL.encode() + b"\0\x9b31m\x9d0;x\x9c\xff\xfe\xc0\x9b\xe0\x80\x9b\xed\xa0\x80\xf4\x90\x80\x80"
SOFT = "\u202e\u200b\U000e0041\ue000me"  # where controls are refused
NAME = "na\033]0;OWNED\a\033[2J\x9b6n\u202e\u200b\U000e0041\ue000\033]52;c;eA==\033\\me"  # as a path, a word, a name
MARK = re.compile("[\u27e8<](ESC|U\\+|[0-9A-F]{2})")  # what the scrubber leaves in the place of things

# ---- what may come out ----

PLAIN = ("cr el el1 ed clear home cuu1 cud1 cuf1 cub1 ind ri dch1 ich1 il1 dl1 ht cbt sgr0 bold rev smul rmul smso rmso op enacs "
         "smacs rmacs smcup rmcup civis cnorm smkx rmkx BE BD sc rc smam rmam smir rmir nel").split()
NUMBERED = {"cup": 2, "csr": 2, "hpa": 1, "vpa": 1, "cuu": 1, "cud": 1, "cuf": 1, "cub": 1, "indn": 1, "rin": 1, "ech": 1,
            "dch": 1, "ich": 1, "il": 1, "dl": 1}
OURS = rb"\x1b\[0?(;?[147])*(;?[34][0-7])?(;?[34][0-7])?m"
CONTROLS = b"\r\n\b\t"
PADDING = re.compile(rb"\$<[0-9.]+[*/]*>")


ESCAPES = {b"E": b"\033", b"e": b"\033", b"n": b"\n", b"l": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f", b"s": b" ", b"0": b"\200"}


def terminfo(term):
    """Its strings by name, as infocmp says them. (Python's setupterm() takes only the first terminal it is given.)"""
    def plain(match):
        if match[1]:
            return bytes([int(match[1], 8)])
        if match[2]:
            return bytes([match[2][0] & 0x1f])
        return ESCAPES.get(match[3], match[3])

    told = subprocess.run(["infocmp", "-1", "-x", term], capture_output=True, check=True).stdout
    return {name.decode(): re.sub(rb"\\([0-7]{3})|\^(.)|\\(.)", plain, value)
            for name, value in re.findall(rb"^\t(\w+)=(.*),$", told, re.M)} | ({"AX": b""} if b"\tAX," in told else {})


@functools.cache
def allowed(term, screens, color):
    """One pattern for all the sequences that this terminal may be sent."""
    capabilities = terminfo(term)
    capability = capabilities.get

    def pattern(sequence):
        return re.escape(PADDING.sub(b"", sequence))

    found = {rb"\x1b\[K"} if term != "dumb" else set()  # lines alone use this and nothing else: progress
    if color:
        found.add(OURS)
    if screens:
        found.update(pattern(capability(name)) for name in PLAIN if capability(name))
        for name, count in NUMBERED.items():
            if capability(name):
                sequence = PADDING.sub(b"", curses.tparm(capability(name), *[777] * count))
                found.add(re.sub(rb"77[78]", rb"[0-9]{1,4}", re.escape(sequence)))
        if capability("rep"):  # the character before it passes as text
            found.add(re.sub(rb"7[67][0-9]", rb"[0-9]{1,4}", re.escape(curses.tparm(capability("rep"), ord("x"), 777)[1:])))
        if capability("sgr"):  # neither blinking, dim nor hidden
            for standout, under, reverse, bold, other in itertools.product((0, 1), repeat=5):
                found.add(pattern(curses.tparm(capability("sgr"), standout, under, reverse, 0, 0, bold, 0, 0, other)))
        for name in ("setaf", "setab"):
            if capability(name) and color:
                found.update(pattern(curses.tparm(capability(name), n)) for n in range(8))
        if "AX" in capabilities:  # one colour back to the terminal's own
            found.add(rb"\x1b\[[34]9m")
        if capability("BE"):
            found.add(rb"\x1b\[\?2004[hl]")
    return re.compile(b"|".join(sorted((p for p in found if p), key=len, reverse=True)) or rb"(?!)")


class Fault(Exception):
    pass


def check_character(c, marks, ascii_only):
    category = unicodedata.category(c)
    if category in ("Cc", "Cf", "Co", "Cs", "Zl", "Zp") or (category == "Cn" and (ord(c) & 0xfffe == 0xfffe or 0xfdd0 <= ord(c) < 0xfdf0)):
        raise Fault(f"U+{ord(c):04X} ({category})")
    if c in "\u3164\uffa0\u115f\u1160\u034f" or 0xfe00 <= ord(c) <= 0xfe0f or 0xe0000 <= ord(c) <= 0xe0fff:
        raise Fault(f"U+{ord(c):04X}, which nobody sees")
    if ascii_only and ord(c) > 0x7e:
        raise Fault(f"U+{ord(c):04X} in ASCII")
    if marks > 2:
        raise Fault("more than two combining marks")


def check_output(data, sequences, ascii_only=False):
    """Raises Fault at the first byte that may not be there. Returns the text alone."""
    text, at, marks = [], 0, 0
    decode = codecs.getincrementaldecoder("utf-8")("strict").decode
    while at < len(data):
        match = sequences.match(data, at)
        if match and match.end() > at:
            at = match.end()
            continue
        byte = data[at:at + 1]
        at += 1
        if byte in CONTROLS and byte:
            text.append(byte.decode())
            continue
        try:
            c = decode(byte)
        except UnicodeDecodeError as e:
            raise Fault(f"no UTF-8: {data[at - 4:at + 4]!r}") from e
        if not c:
            continue
        marks = marks + 1 if unicodedata.combining(c) else 0
        try:
            check_character(c, marks, ascii_only)
        except Fault as fault:
            raise Fault(f"{fault}: {data[max(0, at - 61):at - 1]!r} then {data[at - 1:at + 40]!r}") from None
        text.append(c)
    return "".join(text)


# ---- TAP ----

count = failed = 0


def report(good, name, why=""):
    global count, failed
    count += 1
    failed += not good
    if why:
        print("# " + why)
    print(f"{'ok' if good else 'not ok'} {count} - {name}", flush=True)


def check_parser():
    """A wall that lets known evil through would find nothing anywhere."""
    sequences = allowed("xterm-256color", True, True)
    for evil in [b"\033]0;x\a", b"\033]8;;x\033\\", b"\033]52;c;x\a", b"\033Pq\033\\", b"\033_x\033\\", b"\033[8m", b"\033[5m", b"\033[6n",
                 b"\033[?1000h", b"\033c", b"\a", b"\x1b", b"\x9b31m", b"\xc2\x9b31m", b"\xe2\x80\xae", b"\xe2\x80\x8b", b"\xf3\xa0\x81\x81",
                 b"\xee\x80\x80", b"\xff", b"\xc0\x80", b"\0", b"\x7f", "e\u0301\u0302\u0303".encode(), b"\033[38;2;1;2;3m", b"\033[21t"]:
        try:
            check_output(b"text" + evil + b"text", sequences)
            report(False, f"the parser refuses {evil!r}")
        except Fault:
            pass
    report(check_output(b"\033[0;1;31mred\033[0m\r\n\033[12;3Hx\033[?2004h", sequences) == "redx", "the parser takes what is ours, and no known evil")


# ---- the program on a terminal ----

def names_below(pid):
    try:
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [name for child in children for name in [pathlib.Path(f"/proc/{child}/comm").read_text().strip(), *names_below(child)]]
    except OSError:  # gone in the meantime
        return []


class Terminal:
    def __init__(self, argv, term, folder, env=None):
        self.output = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
            keep = {name: os.environ[name] for name in ("PATH", "BELLJAR_TEST") if name in os.environ}
            os.chdir(folder)
            os.execve(COMMAND, [COMMAND, *argv], {**keep, "TERM": term, "LC_ALL": "C.UTF-8", "HOME": str(SCRATCH), **(env or {})})

    def read(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            piece = os.read(self.fd, 65536)
        except OSError:
            piece = b""
        self.output += piece
        return bool(piece)

    def settle(self, quiet=0.08, limit=3.0):
        """Until nothing more comes; a clock that runs ends it too."""
        end = time.monotonic() + limit
        while time.monotonic() < end and self.read(quiet):
            pass

    def wait(self, pattern):
        begin, end = len(self.output), time.monotonic() + PATIENCE
        while not re.search(pattern, self.output[max(0, begin - 4000):]) and time.monotonic() < end:
            self.read(0.2)

    def wait_for_runs(self):
        end = time.monotonic() + PATIENCE
        while "belljar-run" in names_below(self.pid) and time.monotonic() < end:
            self.read(0.05)

    def keys(self, *words):
        for word in words:
            if word == RUN_ENDED:
                self.wait_for_runs()
            else:
                os.write(self.fd, word.encode())
            self.settle()

    def finish(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self.read(PATIENCE):
            pass
        os.close(self.fd)
        os.waitpid(self.pid, 0)
        return self.output


@dataclasses.dataclass
class Case:
    name: str
    argv: list
    term: str
    keys: list = None  # None: no screens
    color: bool = True
    ascii_only: bool = False
    expect: str = MARK.pattern
    env: dict = None


def output_of(case):
    terminal = Terminal(case.argv, case.term, SCRATCH, case.env)
    if case.keys is not None:
        terminal.wait(rb"Compose")  # typed earlier, keys would be echoed by the terminal itself
        terminal.settle()
        terminal.keys(*case.keys, ":quit now\r")
    return terminal.finish()


def fault_of(case):
    """What is wrong, or nothing."""
    output, screens = output_of(case), case.keys is not None
    term = "dumb" if case.term == NAME else case.term  # of an unknown one no sequence is known
    try:
        text = check_output(output, allowed(term, screens, case.color), case.ascii_only)
    except Fault as fault:
        return str(fault)
    if not re.search(case.expect, text):
        return f"nothing hostile was shown, so nothing was tried: {output[-600:]!r}"
    if screens and LAST_SCREEN[0] in case.keys and LAST_SCREEN not in text:
        return f"{LAST_SCREEN} never came: {output[-600:]!r}"
    return ""


# ---- hostile files ----

def hostile_recording(path, everything):
    """A recording whose free texts, or whose texts altogether, carry evil."""
    free = set("argv path command address detail title evidence text mechanism verified why rule signal summary remedy preset layer_detail "
               "function language".split())

    def poison(value, key=None):
        if isinstance(value, dict):
            return {k: poison(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [poison(v, key) for v in value]
        return value + " " + EVIL if isinstance(value, str) and (everything or key in free) else value

    lines = [json.loads(line) for line in (TREE / "tests/recordings/under-attack.jsonl").read_text().splitlines()]
    with open(path, "w", encoding="utf-8") as out:
        for i, line in enumerate(lines):
            keep = {k: line[k] for k in ("type", "source", "outcome", "layer", "verdict", "basis", "run", "started", "kind", "stream") if k in line}
            out.write(json.dumps({**poison(line), **keep} if i or not everything else line) + "\n")


def prepare():
    os.makedirs(SCRATCH / "tree/build")
    for program in ("belljar", "belljar-screens"):
        shutil.copy(pathlib.Path(BELLJAR).with_name(program), SCRATCH / "tree/build")
    for folder in ("presets", "examples"):
        shutil.copytree(TREE / folder, SCRATCH / "tree" / folder)
    for lesson in (SCRATCH / "tree/examples/lessons").glob("*.ini"):
        text = lesson.read_text()
        lesson.write_text(re.sub(r"^(title|say|text|ask|answer|summary)( *=.*)$", lambda m: m[0] + " " + SOFT, text, flags=re.M))
    presets = SCRATCH / ".config/belljar/presets"
    presets.mkdir(parents=True)
    (presets / "evil.ini").write_text(f"[preset]\nname = evil\nsummary = seen {SOFT}\nextends = {LEVEL}\n")
    (presets / f"{NAME}.ini").write_text(f"[preset]\nsummary = {NAME}\nextends = {NAME}\n[limits]\n{NAME} = {NAME}\n[{NAME}]\n")
    (SCRATCH / "suite.ini").write_text(f"[suite]\nname = {SOFT}\n{SOFT} = x\n[{SOFT}]\nsummary = {SOFT}\n")
    source = ("import os, sys\nevil = " + repr(EVIL_BYTES) + "\n"
              f"name = {NAME!r}\n"
              "os.write(1, b'begin\\n' + evil + b'\\n')\nos.write(2, evil + b'\\n')\n"
              "for path in ('/etc/' + name, '/root/' + name):\n\ttry:\n\t\topen(path)\n\texcept OSError as e:\n\t\tprint(e, file=sys.stderr)\n"
              "try:\n\tos.execve('/bin/' + name, [name], {name: name})\nexcept OSError:\n\tpass\n"
              "if os.fork() == 0:\n\tos.execve('/bin/sh', [name, '-c', 'exit 0', name], {name: name})\nos.wait()\n"
              "os.write(1, b'\\33]0;never ended')\n")
    told = ("compose", "run", "screen run", "events", "show 1", "boundary", "meters", "presets", "describe evil", "lessons",
            "lesson 1", "screen attacks", f"presets {LEVEL} evil", "compare", "screen compare", f"open {NAME}.py", "compose",
            "replay evil.jsonl", "screen run", "events", "quit")
    (SCRATCH / "plain.keys").write_text("".join(f":{c}\n" for c in (f"preset {LEVEL}", *told)))
    for name in ("evil.py", NAME + ".py"):
        (SCRATCH / name).write_text(source)
    (SCRATCH / "random.py").write_text("import os, random\nrandom.seed(1)\nleft = random.randbytes(1000000)\n"
                                       "while left:\n\tleft = left[os.write(1, left):]\n")
    hostile_recording(SCRATCH / "evil.jsonl", False)
    hostile_recording(SCRATCH / "damaged.jsonl", True)


# ---- the cases ----

LINES = {  # what is written as lines
    "run: output, errors, paths, argv": ["run", "-v", "-p", LEVEL, "evil.py"],
    "run: a million random bytes": ["run", "-p", LEVEL, "random.py"],
    "run: a file name": ["run", "-v", "-p", LEVEL, NAME + ".py"],
    "run: a missing file": ["run", "missing" + NAME],
    "run: a preset": ["run", "-p", NAME, "evil.py"],
    "run: a preset file": ["run", "-p", f"./.config/belljar/presets/{NAME}.ini", "evil.py"],
    "run: a program and its arguments": ["run", "-v", "-p", LEVEL, "--", NAME, NAME],
    "run: a variable": ["run", "-p", LEVEL, "--env", NAME, "evil.py"],
    "run: an option": ["run", "--" + NAME],
    "run: an input": ["run", "-p", LEVEL, "--input", NAME, "evil.py"],
    "run: a limit": ["run", "--memory", NAME, "evil.py"],
    "run: a language": ["run", "-l", NAME, "evil.py"],
    "a subcommand": [NAME],
    "help": ["help", NAME],
    "replay: a recording": ["replay", "--plain", "evil.jsonl"],
    "replay: a damaged one": ["replay", "--plain", "damaged.jsonl"],
    "replay: no recording": ["replay", "--plain", NAME + ".py"],
    "replay: a missing one": ["replay", "--plain", NAME],
    "compare: output and cells": ["compare", "-v", "-p", f"{LEVEL},evil", "evil.py"],
    "compare: presets": ["compare", "-p", f"{LEVEL},{NAME}", "evil.py"],
    "preset list": ["preset", "list"],
    "preset show": ["preset", "show", "evil"],
    "preset show, a name": ["preset", "show", NAME],
    "preset check": ["preset", "check", f"./.config/belljar/presets/{NAME}.ini"],
    "preset diff": ["preset", "diff", "evil", NAME],
    "attack: a suite": ["attack", "--manifest", "suite.ini"],
    "attack: a missing suite": ["attack", "--manifest", NAME],
    "attack: an attack": ["attack", "--only", NAME],
}


def cases_of_lines():
    for term, extra in (("xterm-256color", []), ("vt100", []), ("dumb", ["--ascii"])):
        for name, argv in LINES.items():
            takes = argv[0] in COMMANDS
            yield Case(f"{name} ({term})", [argv[0], *extra, *argv[1:]] if takes else argv, term, color=term.startswith("xterm"),
                       ascii_only=takes and bool(extra))
    env = {"XDG_STATE_HOME": f"/nowhere/{NAME}", "XDG_CONFIG_HOME": f"/nowhere/{NAME}", NAME.replace("=", ""): NAME}
    yield Case("run: folders by environment", ["run", "--record", f"/nowhere/{NAME}/x", "evil.py"], "xterm", env=env)
    yield Case("doctor: folders by environment", ["doctor"], "xterm", env=env, expect="")
    yield Case("run: no colours", ["run", "-p", LEVEL, "evil.py"], "xterm", color=False, env={"NO_COLOR": "1"})
    told = ["--script", "plain.keys", "evil.py"]
    yield Case("plain: an unknown terminal", told, NAME, color=False)
    yield Case("plain: asked for", ["--plain", *told], "xterm-256color", color=False)
    yield Case("plain: in ASCII", ["--ascii", *told], "dumb", color=False, ascii_only=True)


COMMANDS = {"run", "compare", "replay", "preset", "attack", "doctor"}
RUN_ENDED = "until no run lives"
EVERY_SCREEN = [key for n in "1234567" for key in (n, "\033[B", "\033[B", "?", "\033")]
LAST_SCREEN = "7 Learn]"  # as its tab looks in front


def cases_of_screens():
    for term, extra in (("xterm-256color", []), ("tmux-256color", []), ("linux", []), ("vt100", []), ("xterm-256color", ["--ascii"]),
                        ("xterm-256color", ["--color=never"])):
        color, ascii_only = term != "vt100" and "--color=never" not in extra, "--ascii" in extra

        def case(name, argv, keys):
            return Case(f"screens: {name} ({' '.join([term, *extra])})", [*extra, *argv], term, keys, color, ascii_only)

        yield case("hostile code and its run, every screen, after the end", [NAME + ".py"],
                   [f":preset {LEVEL}\r", "r", RUN_ENDED, "b", "b", "+", *EVERY_SCREEN, "2", "/seen\r", ":" + NAME + "\r"])
        yield case("a recording, every screen", ["replay", "evil.jsonl"], ["+", "3", "t", "\033[B", "\r", "o", *EVERY_SCREEN])
        yield case("a damaged recording", ["replay", "damaged.jsonl"], ["3", "1", "2"])
        if term == "xterm-256color" and not extra:
            yield case("a paste", [], ["\033[200~" + EVIL.replace("\033[201~", "") + "\033[201~", "G"])
            yield case("presets and lessons", [], ["6", *["\033[B", "d"] * 6, "7", *["\033[B"] * 3, "\r", "\r"])
            yield case("a million random bytes", ["random.py"], [f":preset {LEVEL}\r", "r", RUN_ENDED, "+", "\033[H", "3"])
            yield case("compare", ["evil.py"], ["5", f":preset {LEVEL},evil\r", "r", RUN_ENDED, "d", "\033[B"])


def main():
    curses.setupterm("xterm-256color", 1)  # tparm() wants some terminal, and looks at nothing of it
    prepare()
    check_parser()
    cases = [*cases_of_lines(), *cases_of_screens()]
    with multiprocessing.Pool(WORKERS) as pool:  # most of the time goes into waiting for what may still be drawn
        for case, why in zip(cases, pool.imap(fault_of, cases)):
            report(not why, case.name, why.replace("\n", "\\n"))
    print(f"1..{count}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
