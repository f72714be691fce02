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
run = tool.here
COLUMNS = ("--column", "x=int", "--size-limit", "300")


def lines(first, last):
    return "".join(json.dumps({"x": i}) + "\n" for i in range(first, last))


def stored(place):
    """The files of a dataset, as a copy of it has them."""
    with tempfile.TemporaryDirectory() as name:
        run("copy", place, f"{name}/all")
        return {str(each.relative_to(name)): each.read_bytes() for each in pathlib.Path(name).rglob("*") if each.is_file()}


def is_stored(key):
    with tempfile.TemporaryDirectory() as name:
        return subprocess.run([sys.argv[1], "copy", key, f"{name}/shard"], capture_output=True, timeout=120).returncode == 0


def kill_while_it_writes(place, text, *words):
    """Begins to write and ends it by SIGKILL when its first two shards are stored, in whichever order."""
    process = subprocess.Popen([sys.argv[1], "write", "--out", place, *COLUMNS, *words], stdin=subprocess.PIPE, text=True,
                               stdout=subprocess.DEVNULL)
    process.stdin.write(text)
    process.stdin.flush()
    directory = place + ("/part-00001-of-00003" if words else "")
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


def check_resume(work, place):
    run("write", "--out", work / "whole", *COLUMNS, stdin=lines(0, 300))
    kill_while_it_writes(place, lines(0, 200))
    assert "did not finish" in run("write", "--out", place, *COLUMNS, status=1)
    told = json.loads(run("write", "--out", place, *COLUMNS, "--existing", "resume", "--keep-local", work / "kept", stdin=lines(0, 300)))
    assert told["kept_samples"] > 0 and told["kept_samples"] + told["samples"] == 300, told
    assert stored(place) == stored(work / "whole") == stored(work / "kept")


def check_parts(place):
    kill_while_it_writes(place, lines(100, 180), "--part", "1/3")
    for part in (2, 0):
        run("write", "--out", place, *COLUMNS, "--part", f"{part}/3", stdin=lines(100 * part, 100 * part + 100))
    run("inspect", place, status=1)
    told = json.loads(run("write", "--out", place, *COLUMNS, "--part", "1/3", "--existing", "resume", stdin=lines(100, 200)))
    assert told["kept_samples"] > 0, told
    rows = [json.loads(line)["x"] for line in run("cat", place).splitlines()]
    assert rows == list(range(300)), rows
    run("verify", place)


place = os.environ.get("MDSTREAM_TEST_URL", "s3://test/root") + f"/w{os.getpid()}"
with tempfile.TemporaryDirectory() as name:
    check_resume(pathlib.Path(name), f"{place}-resumed")
    check_parts(f"{place}-parts")
