#!/usr/bin/env python3
"""docs/charts.py [--check]: draws docs/images/loader.svg from the table of other libraries in docs/performance.md.

With --check nothing is written, and the exit status is 1 where the picture is not that of the table.
"""
import math
import pathlib
import re
import sys

import svg

docs = pathlib.Path(__file__).resolve().parent
target = docs / "images" / "loader.svg"
UNITS = {"k": 1e3, "M": 1e6}


def table():
    """(case, {library: samples a second}) of each row."""
    text = (docs / "performance.md").read_text(encoding="utf-8")
    section = text[text.index("## How fast is a loop, beside other libraries?"):]
    lines = [line.strip().strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    head = [cell.strip() for cell in lines[0]]
    for cells in lines[2:]:
        if len(cells) != len(head):
            break
        rates = {name: re.match(r"([\d.]+) ([kM])", cell.strip()) for name, cell in zip(head[1:], cells[1:])}
        yield cells[0].strip(), {name: float(found[1]) * UNITS[found[2]] for name, found in rates.items() if found}


def drawn(rows, libraries):
    left, width, bar, gap = 190, 430, 15, 22
    low, high = 3.3, 7.6  # powers of ten
    at = lambda rate: left + width * (math.log10(rate) - low) / (high - low)
    out, y = svg.drawing("Samples a second in one process, shuffled, from a warm page cache (logarithmic)", 720), 48
    for case, rates in rows:
        out.text(14, y, case, "strong")
        y += 8
        for library in libraries:
            if library not in rates:
                continue
            rate = rates[library]
            shown = f"{rate / 1e6:.3g} M" if rate >= 1e6 else f"{rate / 1e3:.3g} k"
            out.text(left - 8, y + 12, library, anchor="end")
            out.rect(left, y, at(rate) - left, bar, "bar" if library == "mdstream" else "peer")
            out.text(at(rate) + 6, y + 12, f"{shown}/s")
            y += bar + 4
        y += gap
    return out.done(y - 8)


cases = {"iteration, 1 KiB": "samples of 1 KiB", "iteration, 2048 uint16": "2,048 tokens",
         "iteration, JPEG files of 110 KB": "JPEG files of 110 KB"}
rows = [(cases[case], rates) for case, rates in table() if case in cases]
picture = drawn(rows, ["mdstream", "mlx-data", "litdata", "webdataset", "mosaicml-streaming"])
if len(rows) != len(cases):
    sys.exit("docs/charts.py: docs/performance.md has not all of the cases")
svg.keep({target: picture})
