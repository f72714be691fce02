#!/usr/bin/env python3
"""writers.py MDSTREAM: writers that are killed, that share a dataset and that keep a copy, under tests/servers/with.sh.

A write is killed while it waits for lines, and resumed; three processes write a dataset of which one is killed.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from tool import Tool

tool = Tool(sys.argv[1])
run = tool.output
COLUMNS = ("--column", "x=int", "--size-limit", "300")


def lines(first, last):
    return "".join(json.dumps({"x": i}) + "\n" for i in range(first, last))


def stored(dataset):
    """The files of a dataset, as a copy of it has them."""
    with tempfile.TemporaryDirectory() as name:
        run("copy", dataset, f"{name}/all")
        return {str(each.relative_to(name)): each.read_bytes() for each in pathlib.Path(name).rglob("*") if each.is_file()}


def is_stored(key):
    with tempfile.TemporaryDirectory() as name:
        return subprocess.run([sys.argv[1], "copy", key, f"{name}/shard"], capture_output=True, timeout=120).returncode == 0


def kill_while_it_writes(dataset, text, *words):
    """Begins to write and ends it by SIGKILL when its first two shards are stored, in whichever order."""
    process = subprocess.Popen([sys.argv[1], "write", "--out", dataset, *COLUMNS, *words], stdin=subprocess.PIPE, text=True,
                               stdout=subprocess.DEVNULL)
    process.stdin.write(text)
    process.stdin.flush()
    directory = dataset + ("/part-00001-of-00003" if words else "")
    missing = [f"{directory}/shard.{number:05}.mds" for number in (0, 1)]
    for _ in range(600):
        missing = [key for key in missing if not is_stored(key)]
        if not missing:
            break
        time.sleep(0.05)
    assert not missing, missing
    process.kill()
    assert process.wait() == -signal.SIGKILL
    process.stdin.close()


def check_resume(work, dataset):
    run("write", "--out", work / "whole", *COLUMNS, stdin=lines(0, 300))
    kill_while_it_writes(dataset, lines(0, 200))
    assert "did not finish" in run("write", "--out", dataset, *COLUMNS, status=1)
    report = json.loads(run("write", "--out", dataset, *COLUMNS, "--existing", "resume", "--keep-local", work / "kept", stdin=lines(0, 300)))
    assert report["kept_samples"] > 0 and report["kept_samples"] + report["samples"] == 300, report
    assert stored(dataset) == stored(work / "whole") == stored(work / "kept")


def check_parts(dataset):
    kill_while_it_writes(dataset, lines(100, 180), "--part", "1/3")
    for part in (2, 0):
        run("write", "--out", dataset, *COLUMNS, "--part", f"{part}/3", stdin=lines(100 * part, 100 * part + 100))
    run("inspect", dataset, status=1)
    report = json.loads(run("write", "--out", dataset, *COLUMNS, "--part", "1/3", "--existing", "resume", stdin=lines(100, 200)))
    assert report["kept_samples"] > 0, report
    rows = [json.loads(line)["x"] for line in run("cat", dataset).splitlines()]
    assert rows == list(range(300)), rows
    run("verify", dataset)


dataset = os.environ.get("MDSTREAM_TEST_URL", "s3://test/root") + f"/w{os.getpid()}"
with tempfile.TemporaryDirectory() as name:
    check_resume(pathlib.Path(name), f"{dataset}-resumed")
    check_parts(f"{dataset}-parts")
