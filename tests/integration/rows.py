#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""rows.py FOLDER TYPE[,TYPE]... RECORDING PRINTED <ROWS: holds a recording and what a probe printed against a table.

A row is "name; what is printed (ERE); the event": a type, KEY=TEXT and KEY~ERE, where a key may be one of `args.`, or
"-" where none is due. @ in a text is FOLDER. The probe printed a line "name outcome" for each name. For each row
exactly one event matches, with a count of 1 and no argument that the row does not name; one that was printed as
ended by a signal never reached the kernel, so it has none. No event of a TYPE is there for which no row is.
Prints a line for each row, and one for all other events: "ok" or "no", a tab, what was held, a tab, and the reason.
"""
import json
import re
import sys


def value(event, key):
    for part in key.split("."):
        event = event.get(part) if isinstance(event, dict) else None
    return " ".join(event) if isinstance(event, list) else str(event)


def wanted(word, folder):
    key, how, text = re.fullmatch(r"([a-z0-9_.]+)([=~])(.*)", word).groups()
    if how == "=":
        text = re.escape(folder).join(re.escape(part) for part in text.split("@"))
    return key, text


def matches(event, kind, wants):
    return (
        event["type"] == kind
        and event.get("count", 1) == 1
        and set(event.get("args", {})) == {key.split(".")[1] for key, _ in wants if key.startswith("args.")}
        and all(re.fullmatch(ere, value(event, key)) for key, ere in wants)
    )


def judge(row, printed, events, folder):
    name, ere, due = (part.strip() for part in row.split(";", 2))
    came = printed.get(name, "nothing")
    if not re.fullmatch(ere, came):
        return f"{name}: {ere}", f"printed {came}"
    kind, *words = due.split()
    if kind == "-" or came.startswith("SIG"):
        return f"{name}: {came}", ""
    wants = [wanted(word, folder) for word in words]
    found = [e for e in events if matches(e, kind, wants)]
    for event in found:
        events.remove(event)
    near = [e for e in events if e["type"] == kind and any(k == "call" and value(e, k) == t for k, t in wants)]
    why = "" if len(found) == 1 else f"{len(found)} such events; there are {json.dumps((near or events)[:4])}"
    return f"{name}: {came}, {due}", why


def main(folder, kinds, recording, printed):
    with open(recording, encoding="utf-8") as lines:
        events = [e for e in map(json.loads, lines) if "type" in e]
    with open(printed, encoding="utf-8") as lines:
        came = dict(line.split() for line in lines if line.strip())
    rows = [row for row in sys.stdin if row.strip()]
    told = [judge(row, came, events, folder) for row in rows]
    unheld = came.keys() - {row.split(";")[0].strip() for row in rows}
    rest = [e for e in events if e["type"] in kinds.split(",")]
    told.append(("every attempt has a row", f"these have none: {', '.join(unheld)}" if unheld else ""))
    told.append(("every event has a row", f"these have none: {json.dumps(rest[:4])}" if rest else ""))
    for what, why in told:
        print("no" if why else "ok", what, why, sep="\t")


main(*sys.argv[1:])
