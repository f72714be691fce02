#!/usr/bin/env python3
"""compare_test.py MDSTREAM URL..., under tests/servers/with.sh: what lies at its destination with the same bytes is left,
what has other bytes of the same size is copied, as far as the real servers' listings tell."""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

program, places = sys.argv[1], sys.argv[2:]


def copy(*words):
    said = subprocess.run([program, "copy", *map(str, words)], text=True, check=True, timeout=120, stdout=subprocess.PIPE).stdout
    counts = json.loads(said)
    return counts["copied"], counts["skipped"]


def change(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def one_by_one(work, remote, small):
    """An object that is named by itself tells as much as one of a listing."""
    assert copy(f"{remote}/small", small.parent) == (0, 1)
    change(small)
    assert copy(f"{remote}/small", small.parent) == (1, 0)
    named = work / "named"
    named.write_text(f"{remote}/small\n")
    for wanted in (1, 0), (0, 1):
        assert copy("--list", named, work / "listed") == wanted
    change(work / "listed" / "compared" / "small")
    assert copy("--list", named, work / "listed") == (1, 0)


def check(work, remote):
    # The blocks of a large blob have no hash that Azure would tell.
    changed = ["small"] if remote.startswith("azure:") else ["small", "large"]
    ours, theirs, both = work / "ours", work / "theirs", (len(changed), 4 - len(changed))
    ours.mkdir(parents=True)
    for name, size in (("empty", 0), ("small", 1000), ("one part", 11 << 20), ("large", 33 << 20)):
        (ours / name).write_bytes(random.Random(size).randbytes(size))
    same = {each.name: each.read_bytes() for each in ours.iterdir()}
    assert copy(ours, remote) == (4, 0)
    assert copy(ours, remote) == (0, 4)
    for name in changed:
        change(ours / name)
    assert copy(ours, remote, "--compare", "size") == (0, 4)
    assert copy(ours, remote) == both
    assert copy(remote, theirs) == (4, 0)
    assert copy(remote, theirs) == (0, 4)
    for name in changed:
        assert (theirs / name).read_bytes() == (ours / name).read_bytes() != same[name]
        change(theirs / name)
    assert copy(remote, theirs) == both
    one_by_one(work, remote, theirs / "small")
    for name in same:
        assert (theirs / name).read_bytes() == (ours / name).read_bytes()
    assert copy(remote, remote + "-again") == (4, 0)
    assert copy(remote, remote + "-again") == (0, 4)


with tempfile.TemporaryDirectory() as name:
    for number, each in enumerate(places):
        check(pathlib.Path(name) / str(number), f"{each}/compared")
