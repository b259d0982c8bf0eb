# SPDX-License-Identifier: MIT
# $ belljar run -p research --input examples/research/data --output results examples/research/analyse.py
#
# A data set that must not leave, and an analysis that nobody has read. The data are at /data and cannot be written to;
# results go to /out, the one folder that outlives the run; there is no network and no other way out. What comes out is
# still the code's own word: look at it before it goes anywhere.
import csv
import json
import pathlib
import statistics

DATA, OUT = pathlib.Path("/data"), pathlib.Path("/out")

summary = {}
for path in sorted(DATA.glob("station-*.csv")):
    with path.open(newline="", encoding="utf-8") as source:
        values = [float(row["celsius"]) for row in csv.DictReader(source)]
    median = statistics.median(values)
    spread = statistics.median(abs(value - median) for value in values)
    summary[path.stem] = {
        "days": len(values),
        "median": round(median, 2),
        "outliers": [value for value in values if abs(value - median) > 10 * spread],
    }
    print(f"{path.stem}: {len(values)} days, median {median:.2f}, outliers {summary[path.stem]['outliers']}")

(OUT / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")

try:
    (DATA / "station-a.csv").write_text("", encoding="utf-8")
    print("the data set could be written to")
except OSError as error:
    print("the data set is as it was:", error.strerror)
