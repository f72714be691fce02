#!/usr/bin/env python3
"""between.py MDSTREAM, under tests/servers/with.sh for each of azurite, testbench, oci, dbfs, seaweedfs, hub and, as the last,
sshd: a dataset is copied from store to store, and comes back as it was; and a small one from each to each."""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

program = sys.argv[1]
stores = ["s3://test", "azure://test", "gs://test", "oci://test", "dbfs:/Volumes/main/test/data", "dbfs:/mnt", "s3://test/again",
          "hf://datasets/test/data", os.environ["MDSTREAM_TEST_URL"], "oci://test@testns/again"]


def run(*words, stdin=None):
    subprocess.run([program, *map(str, words)], input=stdin, text=True, check=True, timeout=120, stdout=subprocess.DEVNULL)


def from_each_to_each(work):
    small = work / "small"
    run("write", "--out", small, "--column", "x=str", stdin='{"x": "one"}\n{"x": "two"}\n')
    wanted = {each.name: each.read_bytes() for each in small.iterdir()}
    places = [f"{store}/small" for store in stores] + [small]
    for place in places[:-1]:
        run("copy", small, place)
    for turn, source in enumerate(places):
        for number, place in enumerate(places):
            to = f"{place}-{turn}"
            run("copy", source, to)
            run("copy", to, work / "seen" / str(number))
        for each in (work / "seen").iterdir():
            assert wanted == {file.name: file.read_bytes() for file in each.iterdir()}, (source, places[int(each.name)])
        shutil.rmtree(work / "seen")


with tempfile.TemporaryDirectory() as name:
    work = pathlib.Path(name)
    rows = "".join('{"x": "row %d"}\n' % i for i in range(40))
    run("write", "--out", work / "ring", "--column", "x=str", "--size-limit", "400", stdin=rows)
    (work / "ring" / "large").write_bytes(random.Random(7).randbytes(20 << 20))
    at = work / "ring"
    for place in [f"{store}/ring" for store in stores] + [work / "back"]:
        run("copy", at, place)
        at = place
    before = {each.name: each.read_bytes() for each in (work / "ring").iterdir()}
    assert before == {each.name: each.read_bytes() for each in (work / "back").iterdir()}
    run("verify", work / "back", "--all")
    from_each_to_each(work)
