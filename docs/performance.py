#!/usr/bin/env python3
"""docs/performance.py [--check]: writes the figures of docs/figures/NAME.jsonl into docs/performance.md, README and docs/notes/figures.md.

docs/figures/NAME.jsonl is what `bench/run.sh NAME` printed, one run with the line that names it first. The table of NAME stands
between comments of docs/performance.md; a table without such a file is left as it is, and so is a line of a summary.
docs/charts.py draws the charts from the tables. With --check nothing is written, and the exit status is 1 where a page differs.
"""
import datetime
import json
import math
import pathlib
import re
import sys

import figure_tables

docs = pathlib.Path(__file__).resolve().parent
PREFIXES = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}
# Units of work in a turn of cases that are shown as the time of a turn.
IN_A_TURN = {"1/s": 1, "1/downloads": 1, "training loop blocked": 1_493_277_696}


def three_digits(value):
    digits = 2 - math.floor(math.log10(abs(value))) if value else 0
    return f"{round(value, digits):,.{max(digits, 0)}f}"


def scaled(value, unit):
    """(factor, unit as shown) for a value of this unit."""
    if unit == "s":
        return (1, "s") if value >= 0.0995 else (1e3, "ms") if value >= 0.9995e-4 else (1e6, "µs")
    if unit not in ("/s", "B/s"):
        return 1, unit
    prefix = max((p for p in PREFIXES if PREFIXES[p] <= value * 1.0005), key=PREFIXES.get, default="")
    return 1 / PREFIXES[prefix], prefix + unit


def number(value, unit):
    """Three digits; what is only counted in full."""
    counted = unit not in ("s", "/s", "B/s") and (value >= 100 or value == int(value))
    return f"{value:,.0f}" if counted else three_digits(value)


def line_of(cells):
    return re.sub(r"\|  (?=\|)", "| ", f"| {' | '.join(cells)} |")


def times(ratio):
    return f"{ratio:.2f}" if ratio < 9.995 else f"{float(f'{ratio:.3g}'):,.0f}"


class figure:
    """What one contender of a case did."""

    def __init__(self, line):
        self.line, self.rate = line, line["value"]
        values = [line[name] for name in ("value", "min", "max") if name in line]
        turn = IN_A_TURN.get(line["unit"]) or IN_A_TURN.get(line["case"])
        if turn:
            values = [turn / value for value in values]
            self.unit = "" if line["unit"] == "1/downloads" else "s"
        else:
            self.unit = {"bytes/s": "B/s", "samples/s": "/s", "ids/s": "/s"}.get(line["unit"], line["unit"])
        self.value, self.range = values[0], sorted(values[1:])

    def text(self):
        factor, unit = scaled(self.value, self.unit)
        return f"{number(self.value * factor, self.unit)} {unit}".strip()

    def full(self):
        """With the lowest and the highest turn."""
        if not self.range:
            return self.text()
        factor, _ = scaled(self.value, self.unit)
        low, high = (number(value * factor, self.unit) for value in self.range)
        return self.text() if low == high else f"{self.text()} ({low} to {high})"


class kept_run:
    """The figures of one file."""

    def __init__(self, path):
        self.name, self.lines, self.figures = path.stem, [], {}
        texts = path.read_text(encoding="utf-8").splitlines()
        lines = [json.loads(text) for text in texts if text.strip()]
        if not lines or any("run" in line for line in lines[1:]) or "run" not in lines[0]:
            sys.exit(f"{path}: has to be one run, whose first line names it as bench/run.sh does")
        self.about = lines[0]["run"]
        if "only" in self.about:
            sys.exit(f"{path}: is a part of a run: MDSTREAM_BENCH_ONLY={self.about['only']}")
        for line in lines:
            if line["bench"] != self.name:
                sys.exit(f"{path}: has a line of the benchmark {line['bench']}")
            if "value" not in line:
                continue
            one = figure(line)
            if any(line["unit"] == other.line["unit"] for other in self.figures.get((line["case"], line["who"]), [])):
                sys.exit(f"{path}: has '{line['case']}' of {line['who']} twice")
            self.figures.setdefault((line["case"], line["who"]), []).append(one)
            self.lines.append(one)

    def of(self, case, who):
        """The figure, or None."""
        return self.figures.get((case, who), [None])[0]

    def described(self):
        day = datetime.date.fromisoformat(self.about["date"])
        compiler = re.sub(r" \(.*?\)", "", self.about["compiler"])
        whos = " ".join(who for _, who in self.figures) + (" seaweedfs" if self.name in ("checkpoint", "transfer") else "")
        peers = {name.removesuffix("-bin"): version for name, version in self.about.get("peers", {}).items()}
        beside = [f"{name} {version}" for name, version in peers.items() if name in whos]
        option = "--peers " if "peers" in self.about else ""
        return (f"All rows are of one run, on {day.day} {day:%B %Y}: `bench/run.sh {option}{self.name}` at revision {self.about['tip']}, "
                f"{self.about['machine']}, {self.about['system']}, {compiler}"
                + (f"; {self.about['note']}" if "note" in self.about else "") + "."
                + (f" Beside {', '.join(beside)}." if beside else ""))


def cell(run, row, whos):
    """What the fastest of these contenders did, and how many times mdstream's figure is better."""
    found = [(run.of(row.case, who), name) for who, name in whos.items() if run.of(row.case, who)]
    if not found:
        return ""
    other, name = max(found, key=lambda each: each[0].rate)
    own = run.of(row.case, row.own)
    if row.field:
        return f"{row.shown(other.line[row.field])} ({times(other.line[row.field] / own.line[row.field])}x)"
    return f"{name} {other.text()} ({times(own.rate / other.rate)}x)".strip()


def own_cell(run, row):
    own = run.of(row.case, row.own)
    if own is None:
        sys.exit(f"docs/figures/{run.name}.jsonl: has no case '{row.case}' of {row.own}")
    return row.shown(own.line[row.field]) if row.field else own.full()


def table(run, what):
    """The run, its table and its chart; columns that nobody has are left out."""
    rows = [[row.label, own_cell(run, row)] + [cell(run, row, whos) for whos in what.columns.values()] for row in what.rows]
    head = [what.corner, "mdstream", *what.columns]
    kept = [column for column in range(len(head)) if any(row[column] for row in rows)]
    lines = [line_of(line[column] for column in kept) for line in (head, *rows)]
    lines.insert(1, "|---" * len(kept) + "|")
    return run.described() + "\n\n" + "\n".join(lines) + "\n\n" + what.picture


def sentence(run, clauses):
    """The clauses whose figures the run has."""
    def value(place):
        case, who, other, form = re.fullmatch(r"(.*?)\|(.*?)(?: over (.*?))?(?::(\.\df))?", place[1]).groups()
        own = run.of(case, who)
        if other is None:
            return own.text().removesuffix("/s") if own.unit == "/s" else own.text()
        ratio = own.rate / run.of(case, other).rate
        return f"{ratio:{form}}" if form else times(ratio)
    out = []
    for clause in clauses:
        try:
            out.append(re.sub(r"\{(.*?)\}", value, clause))
        except AttributeError:  # one of its figures is None
            pass
    return ", ".join(out)


def all_rows(run):
    lines = ["| case | who | figure | CPU | memory |", "|---|---|---|---|---|"]
    for one in run.lines:
        cpu, memory = one.line.get("cpu_s"), one.line.get("rss_mb")
        more = "".join(f"; {name} {value}" for name, value in one.line.items()
                       if name not in ("bench", "case", "who", "value", "unit", "min", "max", "cpu_s", "rss_mb"))
        lines.append(line_of([one.line["case"], one.line["who"].replace("|", "\\|"), one.full() + more,
                              f"{three_digits(cpu)} s" if cpu else "", f"{memory:,.0f} MiB" if memory else ""]))
    return f"## {run.name}\n\n{run.described()}\n\n" + "\n".join(lines) + "\n"


def with_table(page, run, what):
    marked = re.compile(rf"(?<=<!-- figures: {run.name} -->\n)(?:(?!<!--).)*(?=<!-- end -->)", re.S)
    if len(marked.findall(page)) != 1:
        sys.exit(f"docs/performance.md: has no place for the figures of {run.name}")
    return marked.sub(lambda _: f"\n{table(run, what)}\n\n", page)


def with_summary(page, run, lines):
    """Rewrites the lines of summaries that begin with these cells."""
    for first, cells in lines.items():
        line = re.compile(rf"(?<=^\| {re.escape(first)} \| ).*(?= \|$)", re.M)
        if len(line.findall(page)) != 1:
            sys.exit(f"docs/performance.py: no one line begins with the cell '{first}'")
        page = line.sub(lambda _: " | ".join(sentence(run, clauses) for clauses in cells), page)
    return page


def keep(path, text):
    if "--check" not in sys.argv:
        path.write_text(text, encoding="utf-8")
    elif not path.exists() or path.read_text(encoding="utf-8") != text:
        sys.exit(f"docs/performance.py: {path.relative_to(docs.parent)} is out of date; run docs/performance.py, then docs/charts.py")


def main():
    runs = [kept_run(path) for path in sorted((docs / "figures").glob("*.jsonl"))]
    page, readme = ((path / name).read_text(encoding="utf-8") for path, name in ((docs, "performance.md"), (docs.parent, "README.md")))
    for run in runs:
        what = figure_tables.TABLES.get(run.name)
        if what is None:
            continue
        page = with_summary(with_table(page, run, what), run, what.in_short)
        readme = with_summary(readme, run, what.in_readme)
    keep(docs / "performance.md", page)
    keep(docs.parent / "README.md", readme)
    keep(docs / "notes" / "figures.md", figure_tables.ALL_ROWS + "\n" + "\n".join(map(all_rows, runs)))


if __name__ == "__main__":
    main()
