#!/usr/bin/env python3
"""docs/diagrams.py [--check] [--orders MDSTREAM]: draws the pictures of the pages on how it works into docs/images.

With --check nothing is written, and the exit status is 1 where a picture differs. The orders in the pictures are those of
docs/images/orders.txt; with --orders the program MDSTREAM, the command line, says what has to be in that file.
"""
import pathlib
import re
import subprocess
import sys

import svg

docs = pathlib.Path(__file__).resolve().parent
images = docs / "images"
orders = images / "orders.txt"

SHUFFLERS = {"py1s": "within each shard", "py2s": "within each shard, twice", "py1br": "within blocks of samples",
             "py1e": "each sample moves a little", "naive": "over the whole epoch", "bijection": "within moving windows"}
SHUFFLED = "--samples 256 --shards 16 --ncn 1 --block-size 64 --shuffler"
WORLDS = {"1,2,1": (8, "one node of two ranks"), "1,4,1": (4, "one node of four ranks"), "2,2,1": (4, "two nodes of two ranks")}
DEALT = "--samples 64 --shards 8 --ncn 2 --shuffler none --count 16 --world"


def commands():
    yield from (f"{SHUFFLED} {name}" for name in SHUFFLERS)
    yield from (f"{DEALT} {world} --batch-size {batch}" for world, (batch, _) in WORLDS.items())


def printed():
    """Arguments and ids of `mdstream order`, a line each."""
    if "--orders" not in sys.argv:
        return orders.read_text(encoding="utf-8")
    program = sys.argv[sys.argv.index("--orders") + 1]
    ids = {given: subprocess.run([program, "order", *given.split()], check=True, capture_output=True, text=True).stdout for given in commands()}
    return "".join(f"{given}: {' '.join(text.split())}\n" for given, text in ids.items())


def layers():
    """The modules by layer, of the table in docs/architecture.md."""
    rows = re.findall(r"^\| (\d) \| `([\w./]+)` \|", (docs / "architecture.md").read_text(encoding="utf-8"), re.M)
    out = svg.drawing("Modules by layer: each includes only downwards", 720)
    names = {"6": "what you include", "5": "loader and dataset", "4": "cache, writing, checkpoints", "3": "stores, batches, devices",
             "2": "decisions, formats, codecs, HTTP", "1": "the base"}
    for place, layer in enumerate(sorted(names, reverse=True)):
        y = 44 + place * 56
        out.rect(14, y, 692, 48, "own" if layer in "56" else "box", 5)
        out.text(26, y + 20, layer, "strong")
        out.text(44, y + 20, names[layer], "small")
        out.text(44, y + 38, "   ".join(module.rstrip("/") for number, module in rows if number == layer))
    return out.done(44 + 6 * 56 + 8)


def batch():
    out = svg.drawing("The way of a batch", 720)
    out.box(14, 50, 150, 62, ["order", "which sample at", "which position"], "own")
    out.box(196, 50, 150, 62, ["lookahead", "shards of the next", "batches, next uses"], "own")
    out.box(378, 50, 150, 62, ["fetch window", "what to fetch,", "by deadline"], "own")
    out.box(560, 50, 146, 62, ["store", "ranged requests,", "retries"])
    out.box(378, 170, 150, 62, ["shard cache", "one copy for the node,", "evicts by next use"], "own")
    out.box(560, 170, 146, 62, ["check", "size, hash,", "decompression"])
    out.box(378, 290, 150, 62, ["mapped shards", "samples as ranges", "of bytes"])
    out.box(196, 290, 150, 62, ["batch assembly", "transform, collator:", "one copy a sample"], "own")
    out.box(14, 290, 150, 62, ["your loop", "host, pinned or", "device memory"], "good")
    for points in [((164, 81), (194, 81)), ((346, 81), (376, 81)), ((453, 112), (453, 168)), ((528, 190), (544, 190), (544, 81), (558, 81)),
                   ((633, 112), (633, 168)), ((560, 212), (530, 212)), ((453, 232), (453, 288)), ((378, 321), (348, 321)), ((196, 321), (166, 321)),
                   ((271, 112), (271, 200), (376, 200))]:
        out.arrow(*points)
    out.text(536, 146, "miss", "small")
    out.text(279, 192, "next uses", "small")
    out.text(173, 280, "stager", "small")
    return out.done(out.note(380, "The order is read and shards are fetched in the background. A batch whose shards are resident is built on the "
                                  "thread that asks for it, without a queue."))


def shufflers(ids):
    out = svg.drawing("256 samples in 16 shards, one epoch: what is read when (block size 64)", 720)
    size = 192
    for place, (name, what) in enumerate(SHUFFLERS.items()):
        x, y = 28 + place % 3 * 232, 64 + place // 3 * 262
        out.text(x, y - 8, name, "strong")
        out.text(x + 12 + 8 * len(name), y - 8, what, "small")
        out.rect(x, y, size, size, "faint")
        for position, sample in enumerate(ids[f"{SHUFFLED} {name}"]):
            out.dot(x + (position + 0.5) * size / 256, y + size - (sample + 0.5) * size / 256, svg.COLOURS[sample // 16 % 8])
        out.text(x + size / 2, y + size + 16, "position in the epoch", "small", "middle")
        out.parts.append(f'<text class="small" text-anchor="middle" transform="translate({x - 8:g},{y + size / 2:g}) rotate(-90)">sample</text>')
    return out.done(out.note(562, "A dot is a sample, a colour a shard. The wider a shard's samples are spread along the epoch, the better they are "
                                  "mixed, and the longer the shard has to stay in the cache."))


def partition(ids):
    out = svg.drawing("One global batch of 16 samples, dealt to three worlds", 720)
    cell = 36

    def row(x, y, samples, colour_of):
        for place, sample in enumerate(samples):
            out.rect(x + place * cell, y, cell - 3, 24, radius=3, fill=svg.COLOURS[colour_of(sample)])
            out.parts.append(f'<text x="{x + place * cell + (cell - 3) / 2:g}" y="{y + 16:g}" text-anchor="middle" style="fill:#fff">{sample}</text>')

    node_of = lambda sample: sample // 32  # two canonical nodes share 64 samples
    for node in range(2):
        out.text(14, 62 + node * 32, f"canonical node {node}")
        row(130, 46 + node * 32, range(32 * node, 32 * node + 8), node_of)
        out.text(130 + 8 * cell + 6, 62 + node * 32, "…")
    out.text(14, 116, "Their sequences are read side by side: the next 8 of each are the first global batch. In every world it has the same samples.", "small")
    y = 140
    for world, (size, what) in WORLDS.items():
        dealt = ids[f"{DEALT} {world} --batch-size {size}"]
        out.text(14, y + 12, what, "strong")
        y += 22
        for rank in range(16 // size):
            x = 60 + rank % 2 * 350
            out.text(x - 46, y + 16, f"rank {rank}")
            row(x, y, dealt[rank * size:(rank + 1) * size], node_of)
            y += 30 * (rank % 2)
        y += 12
    return out.done(y)


def shard():
    out = svg.drawing("The life of a shard in a node's cache", 720)
    out.box(14, 60, 130, 52, ["absent", "not on the disk"])
    out.box(196, 60, 150, 52, ["being fetched", "temporary name, locked"], "own")
    out.box(398, 60, 130, 52, ["checked", "size, hash, codec"], "own")
    out.box(576, 60, 130, 52, ["resident", "renamed, complete"], "good")
    out.box(576, 176, 104, 52, ["in use", "mapped, pinned"], "good")
    out.box(398, 176, 130, 52, ["bad", "fetched once more"], "bad")
    out.box(196, 176, 130, 52, ["still bad", "on_bad_shard"], "bad")
    out.box(14, 176, 130, 52, ["evicted", "unlinked"])
    for points in [((144, 86), (194, 86)), ((346, 86), (396, 86)), ((528, 86), (574, 86)), ((610, 112), (610, 174)), ((640, 176), (640, 114)),
                   ((490, 112), (490, 174)), ((430, 176), (430, 142), (271, 142), (271, 114)), ((398, 202), (328, 202)),
                   ((694, 112), (694, 254), (79, 254), (79, 230)), ((79, 176), (79, 114))]:
        out.arrow(*points)
    for x, y, text in [(147, 78, "needed"), (584, 148, "pin"), (646, 148, "unpin"), (496, 148, "wrong"), (330, 194, "wrong again"),
                       (150, 248, "space is needed, and its next use is the farthest of all shards")]:
        out.text(x, y, text, "small")
    return out.done(out.note(284, "One process of the node fetches; the others wait for the rename. A killed process loses its lock, and the next "
                                  "process deletes the temporary file. A mapping stays valid after its file is unlinked: a sample that a program "
                                  "holds never changes."))


def commit():
    out = svg.drawing("A checkpoint is complete when its manifest exists", 720)
    lanes = {"rank 0": 64, "rank 1": 124, "rank 2": 184, "the run's objects": 262}
    for name, y in lanes.items():
        out.text(14, y + 20, name, "strong")
        out.line((130, y + 15), (706, y + 15), kind="faint")
    for rank, end in enumerate((250, 280, 310)):
        y = 64 + rank * 60
        out.box(136, y, 60, 30, ["copy"], "own")
        out.box(200, y, end - 200, 30, ["upload"], "own")
        out.box(end + 4, y, 58, 30, ["record"], "own")
        out.arrow((end + 33, y + 30), (end + 33, 260))
    out.box(396, 64, 74, 30, ["layout"], "own")
    out.box(474, 64, 110, 30, ["a later start?"], "box")
    out.box(588, 64, 96, 30, ["manifest"], "good")
    out.arrow((433, 94), (433, 260))
    out.arrow((636, 94), (636, 260))
    out.box(136, 262, 448, 30, ["data, records, layout: not a checkpoint yet"], "box")
    out.box(588, 262, 96, 30, ["checkpoint"], "good")
    out.text(136, 52, "save returns", "small")
    out.text(396, 52, "rank 0 has all records", "small")
    return out.done(out.note(324, "Each rank stores its files, then its record. Rank 0 waits for all records, writes the layout, makes sure that the "
                                  "job has not been started again, and creates the manifest. If a rank is killed before that, there is no new "
                                  "checkpoint, and the one before stays the newest."))


text = printed()
ids = {given: [int(number) for number in numbers.split()] for given, numbers in (line.split(": ") for line in text.splitlines())}
pictures = {"layers": layers(), "batch": batch(), "shufflers": shufflers(ids), "partition": partition(ids), "shard": shard(), "commit": commit()}
svg.keep({orders: text} | {images / f"{name}.svg": picture for name, picture in pictures.items()})
