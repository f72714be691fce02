#!/usr/bin/env python3
"""between.py MDSTREAM, under tests/servers/with.sh for each of azurite, testbench, oci, dbfs, seaweedfs, hub and, as the last,
sshd: a dataset is copied from store to store, and comes back as it was. Each store is a source and a target, two of
them also both at once."""
import os
import pathlib
import random
import subprocess
import sys
import tempfile

program = sys.argv[1]
stores = ["s3://test", "s3://test/again", "azure://test", "gs://test", "dbfs:/Volumes/main/test/data", "dbfs:/mnt", "oci://test",
          "oci://test@testns/again", "hf://datasets/test/data", os.environ["MDSTREAM_TEST_URL"]]


def run(*words, stdin=None):
    subprocess.run([program, *map(str, words)], input=stdin, text=True, check=True, timeout=120, stdout=subprocess.DEVNULL)


with tempfile.TemporaryDirectory() as name:
    work = pathlib.Path(name)
    rows = "".join('{"x": "row %d"}\n' % i for i in range(40))
    run("write", "--out", work / "ring", "--column", "x=str", "--size-limit", "400", stdin=rows)
    (work / "ring" / "large").write_bytes(random.Random(7).randbytes(20 << 20))
    at = work / "ring"
    for dataset in [f"{store}/ring" for store in stores] + [work / "back"]:
        run("copy", at, dataset)
        at = dataset
    before = {each.name: each.read_bytes() for each in (work / "ring").iterdir()}
    assert before == {each.name: each.read_bytes() for each in (work / "back").iterdir()}
    run("verify", work / "back", "--all")
