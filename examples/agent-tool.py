# SPDX-License-Identifier: MIT
# $ python3 examples/agent-tool.py
#
# A tool for an AI agent: it hands over code, and is told how that ended, what it printed, and what it was refused. The
# whole tool is run_code(); describe() is what the agent gets to read. Below they are called twice: with code as it should
# be, and with code that pries. Nothing but the standard library is needed.
"""Runs code that an AI agent wrote under belljar, and tells the agent what came of it."""
from __future__ import annotations

import base64
import dataclasses
import json
import pathlib
import shutil
import subprocess
from typing import Any

BUILT_HERE = pathlib.Path(__file__).resolve().parents[1] / "build" / "belljar"
BELLJAR = shutil.which("belljar") or str(BUILT_HERE)
OUTPUT_CHARACTERS = 8000  # an agent's context is no place for a flood
GRACE_S = 30.0  # belljar holds the limit itself; this is for a machine on which not even belljar comes to an end


@dataclasses.dataclass(frozen=True)
class ToolResult:
    """What came of one call. `verdict` is belljar's own word, or "unavailable" where it gave none."""

    verdict: str
    evidence: str
    stdout: str = ""
    stderr: str = ""
    denied: list[str] = dataclasses.field(default_factory=list)

    @property
    def ran(self) -> bool:
        """Whether anything of the code ran: if not, the fault is the call's or the machine's, not the code's."""
        return self.verdict not in ("setup-error", "unavailable")


def text_of(value: Any) -> str:
    """A text in belljar's JSON: a string, or base64 where the bytes are no UTF-8. Cut to what an agent may get, and
    without what would act on the terminal of a person who reads along."""
    if isinstance(value, dict):
        value = base64.b64decode(value["base64"]).decode("utf-8", "replace")
    text = "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in value or "")
    if len(text) > OUTPUT_CHARACTERS:
        text = f"{text[:OUTPUT_CHARACTERS]}\n[{len(text) - OUTPUT_CHARACTERS} more characters]"
    return text


def refusals(result: dict[str, Any]) -> list[str]:
    """What was refused or led nowhere, a line each. A last entry of type "dropped" says that the list was cut."""
    lines = []
    for event in result["denied"] + result["network"] + result["files"]:
        if event["type"] == "dropped":
            lines.append(f"and {event['count']} more")
            continue
        if event["outcome"] not in ("refused", "unreachable", "hidden", "read-only"):
            continue
        if event["type"] == "denied":
            what = f"{event['call']}: {event['errno']}"
        elif event["type"] == "network":
            what = f"{event['op']} {event.get('address')} port {event.get('port')}: {event['outcome']}"
        else:
            what = f"{event['op']} {text_of(event.get('path'))}: {event['outcome']}"
        layer = f", by {event['layer']}" if event.get("layer") else ""
        lines.append(f"{what}{layer} ({event['basis']})")
    return lines


def run_code(code: str, language: str = "python", wall_s: int = 10) -> ToolResult:
    """Runs code at the level for code that may be hostile. Never raises for what the code or the machine does.

    The code goes in on standard input and no shell is involved, so nothing in it is ever read as an option or a command;
    what else the agent may choose is glued to its option, so that it cannot become one of its own.
    """
    command = [BELLJAR, "run", "--json", "-q", "-p", "namespaces", f"--lang={language}", f"--wall={wall_s}s", "-"]
    try:
        done = subprocess.run(command, input=code.encode("utf-8", "replace"), capture_output=True, check=False,
                              timeout=wall_s + GRACE_S)
        result = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return ToolResult("unavailable", f"no answer within {wall_s + GRACE_S:g} s")
    except OSError as error:
        return ToolResult("unavailable", f"{BELLJAR} cannot be run: {error.strerror}")
    except ValueError:  # JSON that is none, or text that is none
        return ToolResult("unavailable", f"no result, status {done.returncode}")
    if result["verdict"] == "setup-error":
        return ToolResult("setup-error", text_of(result["evidence"]))
    return ToolResult(result["verdict"], text_of(result["evidence"]), text_of(result["stdout"]),
                      text_of(result["stderr"]), refusals(result))


def describe(result: ToolResult) -> str:
    """What the agent is told."""
    if not result.ran:
        return f"Nothing was run: {result.evidence}"
    parts = [f"verdict: {result.verdict}" + (f" ({result.evidence})" if result.evidence else "")]
    for title, text in (("stdout", result.stdout), ("stderr", result.stderr)):
        if text:
            parts.append(f"{title}:\n{text.rstrip()}")
    parts.append("refused:\n" + "\n".join(result.denied) if result.denied else "refused: nothing")
    return "\n".join(parts)


FINE = """
numbers = [3, 1, 4, 1, 5, 9, 2, 6]
print("sorted:", sorted(numbers))
"""

HOSTILE = """
import ctypes, os, socket

def attempt(what, action):
    try:
        print(what, "->", action())
    except OSError as error:
        print(what, "->", error.strerror)

def trace_process_1():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(16, 1, None, None) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return "attached"

attempt("read /etc/shadow", lambda: open("/etc/shadow").readline())
attempt("write below /usr", lambda: open("/usr/bin/python3", "ab"))
attempt("trace process 1", trace_process_1)
attempt("call home", lambda: socket.create_connection(("127.0.0.1", 9), timeout=1))
"""

if __name__ == "__main__":
    for title, snippet in (("as it should be", FINE), ("prying", HOSTILE)):
        print(f"== {title}")
        print(describe(run_code(snippet)), end="\n\n")
