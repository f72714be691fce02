#!/usr/bin/env python3
"""docs/charts.py [--check]: draws the charts that docs/performance.md shows, each from the table of that page that stands before it.

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
LEFT, WIDTH, BAR, GAP = 225, 390, 15, 22


def table_before(picture):
    """[[cell]] of the last table before this picture, its head first."""
    lines = re.findall(r"(?:^\|.*\n)+", page[:page.index(f"](images/{picture}.svg)")], re.M)[-1].splitlines()
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return [head, *rows]


def quantity(cell):
    """(name, value, text) of a cell such as "1.13 GB/s (0.82 to 1.51)", "write() 0.93 M/s (1.30x)" or "482"."""
    found = re.fullmatch(r"(?:(.*?):? )??(([\d.,]+)(?: (?:([kMG]?)(?:B/s|/s)|(ms|µs|s|MB|MiB)))?)(?: to [\d.]+)?(?: \(.*\))?", cell)
    if found is None:
        sys.exit(f"docs/charts.py: no figure in the cell '{cell}'")
    name, text, number, prefix, time = found.groups()
    factor = {"ms": 1e-3, "µs": 1e-6}.get(time) or PREFIXES[prefix or ""]
    return (name or "").strip("`"), float(number.replace(",", "")) * factor, text


def chart(picture, title, cases, columns, powers=None, full=None):
    """Bars of these columns for each case: of all where `columns` says so by None.

    `cases`: the first cell of a row -> its name in the picture. `powers`: a logarithmic axis from and to these powers of ten. `full`: what
    the longest bar stands for; else each case has its own scale.
    """
    head, *rows = table_before(picture)
    rows = {row[0]: row for row in rows}
    if not cases.keys() <= rows.keys():
        sys.exit(f"docs/charts.py: the table before {picture}.svg has no row {', '.join(cases.keys() - rows.keys())}")
    out, y = svg.drawing(title, 720), 48
    for case, shown in cases.items():
        bars = []
        for column, cell in zip(head[1:], rows[case][1:]):
            if cell and (columns is None or column in columns):
                name, value, text = quantity(cell)
                own = column == head[1]
                bars.append(("mdstream" if own else name or column.strip("`"), value, text, own))
        most = full or max(value for _, value, *_ in bars)
        out.text(14, y, shown, "strong")
        y += 8
        for label, value, text, own in bars:
            length = WIDTH * ((math.log10(value) - powers[0]) / (powers[1] - powers[0]) if powers else 0.85 * value / most)
            out.text(LEFT - 8, y + 12, label, anchor="end")
            out.rect(LEFT, y, length, BAR, "bar" if own else "peer")
            out.text(LEFT + length + 6, y + 12, text)
            y += BAR + 4
        y += GAP
    return out.done(y - 8)


def themselves(*cases):
    return {case: case for case in cases}


FILES = ("JSON lines", "CSV", "Parquet", "WebDataset archives", "files of 110 KB", "windows of 1,025 tokens")
pictures = {name: chart(name, *what) for name, what in {
    "loader": ("Samples a second in one process, shuffled, from a warm page cache (logarithmic)",
               {"shuffled batches, samples of 1 KiB": "samples of 1 KiB", "2,048 tokens": "2,048 tokens",
                "JPEG files of 110 KB": "JPEG files of 110 KB"},
               ("mdstream", "mlx-data", "litdata", "webdataset", "mosaicml-streaming"), (3.3, 7.6)),
    "epoch": ("Samples of 2 KiB a second in a first epoch, from a web server to an empty cache", themselves("raw shards", "zstd shards"), None),
    "cache": ("Downloads of ten epochs, 650 without a cache (fewer is better)",
              {f"downloads, a cache of {percent} %": f"a cache of {percent} %" for percent in (10, 30, 60)}, None, None, 650),
    "restart": ("From the start of a process to its first batch, after SIGKILL (shorter is better)",
                themselves("65 shards", "100,000 shards, 10^8 samples"), None),
    "raw": ("Bytes of foreign files a second in a first epoch (each case has its own scale)", {f"first epoch, {kind}": kind for kind in FILES}, None),
    "copy": ("Downloads to memory, 16 objects at a time (each case has its own scale)",
             {"download to memory, 64 x 32 MiB": "64 objects of 32 MiB", "download to memory, 2000 x 1 MiB": "2,000 objects of 1 MiB",
              "download to memory, 20000 x 64 KiB": "20,000 objects of 64 KiB"}, None),
    "checkpoint": ("A checkpoint of 1.5 GB in S3 (each case has its own scale)", {"save to S3": "save", "load from S3": "load"},
                   ("mdstream", "safetensors + s5cmd", "safetensors + boto3", "torch.save + boto3")),
    "order": ("Ids of an epoch in the order of py1e a second (each case has its own scale)",
              {"ids a second, 10^8 samples, 10^5 shards": "10^8 samples, 10^5 shards, 1 canonical node",
               "the same, 8 canonical nodes": "the same, 8 canonical nodes",
               "ids a second, 10^7 samples, 10^6 shards": "10^7 samples, 10^6 shards, 1 canonical node"}, None),
    "write": ("Samples written a second (each case has its own scale)",
              themselves("samples of 1 KiB", "samples of 64 B", "samples of 1 KiB, zstd"), None),
    "gpu": ("Work on the GPU, of the limit: 1 is as fast as a copy of the same bytes",
            themselves("batches of 64 MiB from the cache to the device, 46 GB/s", "batches collated on the device, dense", "packed", "padded", "ragged",
                       "rows of 4096 B gathered", "rows of 64 B gathered"), None, None, 1),
}.items() if f"](images/{name}.svg)" in page}
svg.keep({docs / "images" / f"{name}.svg": picture for name, picture in pictures.items()})
