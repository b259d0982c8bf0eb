# SPDX-License-Identifier: MIT
# $ belljar run -p data-analysis --input examples/clean-csv/sales.csv:/data/sales.csv --output cleaned examples/clean-csv/clean.py
#
# What an assistant writes when it is handed a table: one spelling for each region, one form for dates and amounts,
# doubles and rows without an amount dropped. It sees this one file, and what it leaves in /out is all that comes back.
# With pandas where that is installed, else with the standard library; the table that comes out is the same.
import csv
import datetime
import re
import sys

try:
    import pandas
except ImportError:
    pandas = None

SOURCE, RESULT = "/data/sales.csv", "/out/sales.csv"
COLUMNS = ["date", "region", "product", "amount"]


def clean_date(text):
    """One of two forms becomes ISO 8601; anything else becomes empty."""
    for form in ("%Y-%m-%d", "%d/%m/%Y"):
        try:
            return datetime.datetime.strptime(text.strip(), form).date().isoformat()
        except ValueError:
            pass
    return ""


def clean_amount(text):
    match = re.fullmatch(r"[€$]?(-?\d[\d,]*(?:\.\d+)?)", text.strip())
    return f"{float(match[1].replace(',', '')):.2f}" if match else ""


CLEANERS = {
    "date": clean_date,
    "region": lambda text: text.strip().capitalize(),
    "product": str.strip,
    "amount": clean_amount,
}


def with_pandas():
    table = pandas.read_csv(SOURCE, dtype=str, keep_default_na=False)[COLUMNS]
    read = len(table)
    for column, cleaner in CLEANERS.items():
        table[column] = table[column].map(cleaner)
    table = table[(table["date"] != "") & (table["amount"] != "")].drop_duplicates()
    table.to_csv(RESULT, index=False, lineterminator="\n")
    totals = table["amount"].astype(float).groupby(table["region"]).sum()
    return read, len(table), dict(totals)


def with_standard_library():
    with open(SOURCE, newline="", encoding="utf-8") as source:
        rows = [tuple(CLEANERS[c](row[c]) for c in COLUMNS) for row in csv.DictReader(source)]
    kept = list(dict.fromkeys(row for row in rows if row[0] and row[3]))
    with open(RESULT, "w", newline="", encoding="utf-8") as result:
        writer = csv.writer(result, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(kept)
    totals = {}
    for _, region, _, amount in kept:
        totals[region] = totals.get(region, 0) + float(amount)
    return len(rows), len(kept), totals


read, kept, totals = with_pandas() if pandas else with_standard_library()
print(f"{read} rows read, {kept} kept")
for region, total in sorted(totals.items()):
    print(f"{region:6} {total:10.2f}")
print("by", f"pandas {pandas.__version__}" if pandas else "the standard library", file=sys.stderr)
