#!/usr/bin/env python3
"""docs/charts.py [--check]: draws the charts of docs/performance.md, each from a table of that page.

With --check nothing is written, and the exit status is 1 where a picture is not that of its table.
"""
import math
import pathlib
import re
import sys

import svg

docs = pathlib.Path(__file__).resolve().parent
page = (docs / "performance.md").read_text(encoding="utf-8")
PREFIXES = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}


def table(heading, first):
    """[{column: cell}] of the table below this heading whose first column has the name `first`."""
    section = page[page.index(f"## {heading}\n"):]
    start = re.search(rf"^\| {re.escape(first)} \|", section, re.M)
    lines = re.match(r"(?:\|.*\n)+", section[start.start():])[0].splitlines()
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return [dict(zip(head, cells)) for cells in rows]


def rate(cell, unit):
    """(value, unit) of a cell such as "1.13 GB/s (0.82 to 1.51)", "write() 0.93 M/s" or "0.33"; without one, that of the row."""
    found = re.search(r"(?<![\w.])(\d+(?:\.\d+)?)(?: ([kMG]?)(B/s|/s| samples/s|(?= |$)))?", cell)
    if found is None:
        return None, unit
    if found[3] is not None and (found[2] or found[3]):
        unit = found[2], found[3].removeprefix(" samples")
    return float(found[1]) * PREFIXES[unit[0]], unit


def shown(value, base):
    prefix = max((p for p in PREFIXES if PREFIXES[p] <= value), key=PREFIXES.get)
    return f"{value / PREFIXES[prefix]:.3g} {prefix}{base or '/s'}"


def chart(title, rows, first, cases, columns, powers=None):
    """Bars of these columns for each case. `powers`: a logarithmic axis from and to these powers of ten; else each case has its own scale."""
    left, width, bar, gap = 190, 430, 15, 22
    out, y, drawn = svg.drawing(title, 720), 48, set()
    for row in rows:
        case = cases.get(row[first])
        if case is None or case in drawn:
            continue
        drawn.add(case)
        unit, bars = ("", "/s"), []
        for column, label in columns.items():
            value, unit = rate(row[column], unit)
            if value is not None:
                bars.append((label or re.search(r"`(?:limit:)?([^`]+)`", row[column])[1], value))
        most = max(value for _, value in bars)
        out.text(14, y, case, "strong")
        y += 8
        for label, value in bars:
            length = width * ((math.log10(value) - powers[0]) / (powers[1] - powers[0]) if powers else 0.85 * value / most)
            out.text(left - 8, y + 12, label, anchor="end")
            out.rect(left, y, length, bar, "bar" if label == "mdstream" else "peer")
            out.text(left + length + 6, y + 12, shown(value, unit[1]))
            y += bar + 4
        y += gap
    if drawn != set(cases.values()):
        sys.exit(f"docs/charts.py: docs/performance.md has not all of the cases {', '.join(cases)}")
    return out.done(y - 8)


def named(*columns):
    return {column: column for column in columns}


pictures = {
    "loader": chart(
        "Samples a second in one process, shuffled, from a warm page cache (logarithmic)",
        table("How fast is a loop, beside other libraries?", "case"), "case",
        {"iteration, 1 KiB": "samples of 1 KiB", "iteration, 2048 uint16": "2,048 tokens",
         "iteration, JPEG files of 110 KB": "JPEG files of 110 KB"},
        named("mdstream", "mlx-data", "litdata", "webdataset", "mosaicml-streaming"), (3.3, 7.6)),
    "epoch": chart(
        "Samples of 2 KiB a second in a first epoch, from a web server to an empty cache",
        table("How fast is a first epoch?", "case"), "case",
        {"first epoch, raw": "raw shards", "first epoch, zstd": "zstd shards"},
        {"mdstream": "mdstream", "compared with": None}),
    "copy": chart(
        "Downloads to memory, 16 objects at a time (each case has its own scale)",
        table("How fast is a copy?", "download"), "download",
        {"64 x 32 MiB to memory": "64 objects of 32 MiB", "2000 x 1 MiB to memory": "2,000 objects of 1 MiB",
         "20000 x 64 KiB to memory": "20,000 objects of 64 KiB"},
        named("mdstream", "curl -Z", "s5cmd", "rclone", "obstore")),
    "checkpoint": chart(
        "A checkpoint of 1.5 GB in S3 (each case has its own scale)",
        table("How fast is a checkpoint?", "S3"), "S3", {"save": "save", "load": "load"},
        named("mdstream", "safetensors + s5cmd", "safetensors + boto3", "torch.save + boto3")),
    "order": chart(
        "Ids of an epoch in the order of py1e a second (each case has its own scale)",
        table("How fast is an order?", "py1e"), "py1e",
        {"all ids, 1e8 samples in 1e5 shards, NCN 1 (loaded)": "1e8 samples, 1e5 shards, 1 canonical node",
         "all ids, 1e8 samples in 1e5 shards, NCN 8": "the same, 8 canonical nodes",
         "all ids, 1e7 samples in 1e6 shards, NCN 1 (loaded)": "1e7 samples, 1e6 shards, 1 canonical node"},
        named("mdstream", "mosaicml-streaming")),
    "write": chart(
        "Samples written a second, with one thread beside the caller (each case has its own scale)",
        table("How fast is writing?", "case"), "case",
        {"1 KiB, one thread beside the caller": "samples of 1 KiB", "64 B, one thread beside the caller": "samples of 64 B",
         "1 KiB, zstd": "samples of 1 KiB, zstd"},
        {"mdstream": "mdstream", "limit": "the limit", "mosaicml-streaming": "mosaicml-streaming"}),
}
svg.keep({docs / "images" / f"{name}.svg": picture for name, picture in pictures.items()})
