#!/usr/bin/env python3
"""picture.py WORK BYTES COUNTS...: compares the undisturbed run and the moved one, draws both in WORK/moving.svg, and prints what the
moves cost. BYTES are those of the datasets' shards, COUNTS those of the clouds' borders (cloud.py), each in a directory with its cloud's
name. The exit status is 1 where the runs differ, more data left a cloud than once for each node's cache, or the training met no
throttling and no outage."""
import json
import pathlib
import sys
from html import escape

work, runs = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[1]) / "runs"
calm, moved = ((runs / name).read_text().splitlines() for name in ("calm.tsv", "moved.tsv"))
notes = [json.loads(line) for line in (runs / "moved.changes").read_text().splitlines()]
timing = [json.loads(line) for part in work.glob("nodes/*/runs/moved.timing.jsonl") for line in part.read_text().splitlines()]
starts = sorted((each for each in timing if each["what"] == "start"), key=lambda each: each["began"])
steps = sorted((each for each in timing if each["what"] == "step"), key=lambda each: each["at"])
dataset = int(sys.argv[2])
counts = {pathlib.Path(each).parent.name: json.loads(pathlib.Path(each).read_text()) for each in sys.argv[3:]}
egress = {cloud: {kind: each[kind] for kind in ("data", "checkpoints")} for cloud, each in counts.items()}
phases = ["detect", "restart", "open", "checkpoint", "first batch", "redone steps", "wait"]
colours = dict(zip(phases, ["#7f7f7f", "#9467bd", "#1f77b4", "#2ca02c", "#ff7f0e", "#d62728", "#17becf"]))
shades = ["#eef4fb", "#fdf3e7", "#eef8ee", "#f6eefa", "#f2f2f2"]
cloud_names = {"s3": "S3, leg 1", "s3-slurm": "S3, leg 2", "s3-copy": "S3, the copy", "azure": "Azure", "gs": "Google, legs 3 and 4"}
caches = {"s3": 1, "s3-slurm": 2, "s3-copy": 1, "azure": 0, "gs": 1}  # of nodes that read their data there; the copy reads once
indexes = 1 << 16  # bytes, in all starts of a leg


def changes():
    """Cause, change, and the start that follows, of each."""
    for change in (note for note in notes if note["what"] == "change"):
        yield change["cause"], change, next(each for each in starts if each["began"] >= change["begin"])


def new_step(start):
    """The first step after this start that no earlier one had done."""
    done = max((each["step"] for each in steps if each["at"] < start["began"]), default=-1)
    return next(each for each in steps if each["at"] >= start["began"] and each["step"] > done)


def redone(start):
    """Seconds from the first batch to the end of the first new step."""
    return new_step(start)["at"] - start["began"] - start["open"] - start["checkpoint"] - start["first_batch"]


def lost_time():
    """Of each change: its phases, in seconds."""
    out = []
    for cause, change, start in changes():
        times = [change["noticed"] - change["begin"], start["began"] - change["noticed"], start["open"], start["checkpoint"],
                 start["first_batch"], redone(start)]
        out.append((cause, dict(zip(phases, times))))
    return out


def failures():
    """Of each kill: its cause, the seconds lost but for the launcher's, and how old the checkpoint was that the run went on from."""
    out = []
    for cause, change, start in changes():
        saved = [each["at"] for each in timing if each["what"] == "save" and each["step"] == start["step"] and each["at"] < change["begin"]]
        if "kill" in cause.lower() and saved:
            lost = start["open"] + start["checkpoint"] + start["first_batch"] + redone(start)
            out.append((cause, lost, change["begin"] - saved[-1]))
    return out


def waits_in(note):
    """Waits of half a second or more while that lasted; of each step that of the rank which waited for the longest."""
    out = {}
    for each in timing:
        if each["what"] == "wait" and each["end"] > note["begin"] and each["end"] - each["seconds"] < note["end"]:
            out[each["step"]] = max(out.get(each["step"], 0), each["seconds"])
    return out


def legs():
    """Name, first and last step of each."""
    out = []
    for note in (note for note in notes if note["what"] == "leg"):
        start = next(each for each in starts if each["began"] >= note["at"])
        out.append([note["name"], new_step(start)["step"], len(moved)])
    for before, after in zip(out, out[1:]):
        before[2] = after[1]
    return out


class Svg:
    def __init__(self, width, height):
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
                      f'font-family="sans-serif" font-size="12"><rect width="{width}" height="{height}" fill="white"/>']

    def rect(self, x, y, width, height, colour):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"/>')

    def line(self, x1, y1, x2, y2, colour="#bbb"):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>')

    def text(self, x, y, words, anchor="start", size=12):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(words)}</text>')

    def curve(self, points, colour, width, more=""):
        self.parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="{width}" {more} points="'
                          + " ".join(f"{x:.1f},{y:.1f}" for x, y in points) + '"/>')

    def bars(self, x, y, width, rows, unit, colours):
        """Rows of (name, {part: value}), stacked; the sum behind each."""
        most = max(sum(parts.values()) for _, parts in rows) or 1
        for name, parts in rows:
            self.text(x, y + 12, name)
            at = x + 240
            for part, value in parts.items():
                long = value / most * (width - 320)
                self.rect(at, y + 2, long, 13, colours[part])
                at += long
            self.text(at + 6, y + 12, f"{sum(parts.values()):.1f} {unit}")
            y += 20
        for number, (part, colour) in enumerate(colours.items()):  # the legend, in columns that are wide enough for each name
            self.rect(x + 240 + number * 88, y + 4, 10, 10, colour)
            self.text(x + 254 + number * 88, y + 13, part, size=11)
        return y + 32


def draw(lost):
    left, right, top, bottom = 60, 880, 70, 330
    losses = [[float(line.split("\t")[1]) for line in run] for run in (calm, moved)]
    length = len(calm)
    low, high = min(map(min, losses)), max(map(max, losses))
    picture = Svg(920, 700)
    across = lambda step: left + (right - left) * step / length
    up = lambda loss: bottom - (bottom - top) * (loss - low) / (high - low)
    picture.text(left, 24, "One training, undisturbed and moved through three clouds", size=16)
    for number, (name, first, last) in enumerate(legs()):
        picture.rect(across(first), top, across(last) - across(first), bottom - top, shades[number % len(shades)])
        # Two rows of names, so that those of short legs stand beside each other's.
        picture.text((across(first) + across(last)) / 2, top - 22 + 14 * (number % 2), name, "middle", 11)
        picture.line(across(first), top, across(first), bottom)
    for loss in range(int(low), int(high) + 1):
        if low <= loss <= high:
            picture.line(left, up(loss), right, up(loss), "#e4e4e4")
            picture.text(left - 8, up(loss) + 4, str(loss), "end")
    for part in range(5):
        picture.text(across(length * part / 4), bottom + 18, str(length * part // 4), "middle")
    picture.text((left + right) / 2, bottom + 36, "training step; loss in nats a byte", "middle")
    picture.curve([(across(i + 0.5), up(loss)) for i, loss in enumerate(losses[0])], "#9ecae1", 4)
    picture.curve([(across(i + 0.5), up(loss)) for i, loss in enumerate(losses[1])], "#d94801", 1)
    for row, (name, colour, width) in enumerate([("undisturbed", "#9ecae1", 4), ("moved", "#d94801", 1)]):
        picture.curve([(right - 130, top + 20 + 18 * row), (right - 100, top + 20 + 18 * row)], colour, width)
        picture.text(right - 92, top + 24 + 18 * row, name)
    picture.text(left, 400, "Bytes that left each cloud", size=14)
    kinds = {"data": "#1f77b4", "checkpoints": "#2ca02c"}
    rows = [(cloud_names[cloud], {kind: sums.get(kind, 0) / 1e6 for kind in kinds}) for cloud, sums in egress.items()]
    y = picture.bars(left, 408, right - left, rows, "MB", kinds)
    picture.text(left, y + 14, "Time lost at each change", size=14)
    picture.bars(left, y + 22, right - left, lost, "s", colours)
    (work / "moving.svg").write_text("\n".join(picture.parts) + "\n</svg>\n")


outage = next(note for note in notes if note["what"] == "outage")
waits = waits_in(outage)
lost = lost_time() + [("the store throttles, then is gone", {"wait": sum(waits.values())})]
draw(lost)
print(f"the picture: {work / 'moving.svg'}")
for cause, parts in lost:
    print(f"{cause}: " + ", ".join(f"{phase} {seconds:.2f} s" for phase, seconds in parts.items()))
print(f"Google answered {counts['gs']['throttled']} requests by 503 and refused {counts['gs']['refused']}; "
      f"{len(waits)} batches came half a second late or more")
copy = next(note for note in notes if note["what"] == "copy")
print(f"the copy took {copy['end'] - copy['begin']:.1f} s beside {copy['steps']} steps of leg 2; "
      f"{len(waits_in(copy))} batches came half a second late or more meanwhile")
for cause, seconds, age in failures():
    print(f"{cause}: {seconds:.2f} s lost, launcher aside; the checkpoint was {age:.2f} s old: its age {seconds - age:+.2f} s")
for cloud, sums in egress.items():
    print(f"left {cloud_names[cloud]}: {sums.get('data', 0)} bytes of data, {sums.get('data', 0) / dataset:.2f} times all that there are; {sums.get('checkpoints', 0)} bytes of checkpoints")

fields = [[line.split("\t") for line in run] for run in (calm, moved)]
different = next((i for i, (a, b) in enumerate(zip(*fields)) if a != b), None)
if different is None and len(calm) != len(moved):
    different = min(len(calm), len(moved))
if different is not None:
    print(f"the moved run is another one from step {different + 1} on: see {runs}/calm.tsv and {runs}/moved.tsv")
    sys.exit(1)
for cloud, sums in egress.items():
    if sums["data"] > caches[cloud] * (dataset + indexes):
        sys.exit(f"more left {cloud_names[cloud]} than all data {caches[cloud]} times")
if not counts["gs"]["throttled"] or not counts["gs"]["refused"]:
    sys.exit("no request was throttled, or none was refused")
if not any(each["what"] == "wait" and each["end"] - each["seconds"] < outage["end"] < each["end"] for each in timing):
    sys.exit("no rank has waited for the store to come back")
print(f"every global batch of {len(calm)} held the same samples, and the losses are equal to the bit")
print(f"{sum(sum(sums.values()) for sums in egress.values())} bytes of egress, "
      f"{sum(sum(parts.values()) for _, parts in lost):.1f} seconds lost in {len(lost) - 1} changes and an outage")
