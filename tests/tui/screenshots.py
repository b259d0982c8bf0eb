#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Pictures of the real program: each scene of tests/tui/scenes, in each look, as SVG and PNG.

usage: screenshots.py SCREENS OUTPUT-FOLDER [SCENE...]

A scene is a file of keys; its first line says size and arguments. The program runs on a terminal of its own (pyte), and
what stands there when it has come to rest is drawn: a cell is a cell, so no font can shift a column. The text of the
same scenes is compared by golden.sh; nobody compares pixels.
"""

import codecs
import fcntl
import html
import os
import pathlib
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time

import pyte

CELL_WIDTH, CELL_HEIGHT, FONT_SIZE, MARGIN = 8.43, 17, 14, 8
PALETTE = {"black": "#000000", "red": "#cd0000", "green": "#00a000", "brown": "#cdcd00", "blue": "#1e60d0",
           "magenta": "#cd00cd", "cyan": "#00b0b0", "white": "#e5e5e5"}
LOOKS = {  # name: background, foreground, environment
    "dark": ("#16181d", "#d8dce4", {}),
    "light": ("#fbfbf8", "#20242b", {}),
    "mono": ("#16181d", "#d8dce4", {"NO_COLOR": "1"}),
}
PATIENCE_S, REST_S = 60.0, 0.7


def parse_scene(path):
    """Size as (columns, rows), and arguments, from the first line."""
    words = path.read_text(encoding="utf-8").splitlines()[0].lstrip("# ").split()
    columns, rows = words[0].split("x")
    return int(columns), int(rows), words[1:]


def start(argv, columns, rows, environment):
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(environment)
        os.execvp(argv[0], argv)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    return pid, fd


def watch(fd, columns, rows, first_s):
    """The screen when nothing has been drawn for a while, after `first_s` at the least."""
    screen = pyte.Screen(columns, rows)
    stream = pyte.Stream(screen)
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    end, rest = time.monotonic() + PATIENCE_S, time.monotonic() + first_s
    while time.monotonic() < min(end, rest):
        if not select.select([fd], [], [], 0.05)[0]:
            continue
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        stream.feed(decode(data))
        rest = max(rest, time.monotonic() + REST_S)
    return screen


def capture(screens, path, environment):
    columns, rows, arguments = parse_scene(path)
    pid, fd = start([screens, "--script", str(path), *arguments], columns, rows,
                    {"TERM": "tmux-256color", "LC_ALL": "C.UTF-8", **environment})
    try:
        return watch(fd, columns, rows, 30.0 if ".live." in path.name else 2.0)
    finally:
        os.kill(pid, signal.SIGTERM)
        os.close(fd)
        os.waitpid(pid, 0)


def color(name, otherwise):
    if name == "default":
        return otherwise
    return PALETTE.get(name, "#" + name if len(name) == 6 else otherwise)


def runs_of(line, columns, background, foreground):
    """Neighbours of one look: (first column, text, foreground, background, bold, underlined)."""
    runs = []
    for x in range(columns):
        cell = line[x]
        look = [color(cell.fg, foreground), color(cell.bg, background)]
        if cell.reverse:
            look.reverse()
        look = (*look, cell.bold, cell.underscore)
        if runs and runs[-1][2:] == look:
            runs[-1] = (runs[-1][0], runs[-1][1] + (cell.data or " "), *look)
        else:
            runs.append((x, cell.data or " ", *look))
    return runs


def draw(screen, background, foreground):
    width, height = screen.columns * CELL_WIDTH + 2 * MARGIN, screen.lines * CELL_HEIGHT + 2 * MARGIN
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
           f'font-family="DejaVu Sans Mono,monospace" font-size="{FONT_SIZE}">',
           f'<rect width="100%" height="100%" rx="6" fill="{background}"/>']
    for y in range(screen.lines):
        top = MARGIN + y * CELL_HEIGHT
        for x, text, fg, bg, bold, underlined in runs_of(screen.buffer[y], screen.columns, background, foreground):
            if bg != background:
                out.append(f'<rect x="{MARGIN + x * CELL_WIDTH:.2f}" y="{top}" '
                           f'width="{len(text) * CELL_WIDTH:.2f}" height="{CELL_HEIGHT}" fill="{bg}"/>')
            if not text.strip():
                continue
            places = " ".join(f"{MARGIN + (x + i) * CELL_WIDTH:.1f}" for i in range(len(text)))
            style = (' font-weight="bold"' if bold else "") + (' text-decoration="underline"' if underlined else "")
            out.append(f'<text x="{places}" y="{top + 13}" fill="{fg}"{style} xml:space="preserve">'
                       f"{html.escape(text)}</text>")
    return "\n".join([*out, "</svg>", ""])


def main():
    screens, folder, wanted = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    scenes = sorted(pathlib.Path("tests/tui/scenes").glob("*.keys"))
    folder.mkdir(exist_ok=True)
    for path in scenes:
        if wanted and path.name.split(".")[0] not in wanted:
            continue
        for look, (background, foreground, environment) in LOOKS.items():
            screen = capture(screens, path, environment)
            if not any(line.strip() for line in screen.display):
                sys.exit(f"{path.stem}: nothing was drawn")
            svg = folder / f"{path.name.split('.')[0]}-{look}.svg"
            svg.write_text(draw(screen, background, foreground), encoding="utf-8")
            print(svg)
            if shutil.which("rsvg-convert"):
                subprocess.run(["rsvg-convert", "-o", svg.with_suffix(".png"), svg], check=True)


if __name__ == "__main__":
    main()
