#!/usr/bin/env python3
"""hub_test.py MDSTREAM SCRIPTED_HUB: a dataset of the Hub streamed, listed and copied by the command line."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

program, server = sys.argv[1:]
token = "hf_secretOfTheTest"
outputs = []


def run(*words, stdin="", status=0, **variables):
    done = subprocess.run([program, *map(str, words)], input=stdin, text=True, capture_output=True,
                          env=os.environ | variables, timeout=120)
    outputs.append(done.stdout + done.stderr)
    assert done.returncode == status, (words, done.returncode, done.stderr)
    return done.stdout if status == 0 else done.stderr


def stream(work, remote, cache, *words):
    config = work / "config.json"
    config.write_text(json.dumps({"streams": [{"remote": str(remote), "local": str(work / cache)}], "batch_size": 4,
                                  "shuffle": True, "download_retry": 4}))
    lines = map(json.loads, run("stream", "--config", config, "--digest", *words).splitlines())
    return [line["digest"] for line in lines if "digest" in line]


def check(work, port):
    remote = "hf://datasets/test/data/text"
    os.environ |= {"HF_ENDPOINT": f"http://127.0.0.1:{port}", "HF_TOKEN": token, "HOME": str(work)}
    whole = stream(work, remote, "one")
    assert len(whole) == 10 and whole == stream(work, work / "repo" / "text", "two"), whole
    state = work / "state"
    first = stream(work, remote, "three", "--batches", "4", "--save-state", state)
    assert first + stream(work, remote, "four", "--state", state) == whole

    run("copy", remote, work / "copied")
    for each in (work / "repo" / "text").iterdir():
        assert (work / "copied" / each.name).read_bytes() == each.read_bytes()
    (work / "list").write_text(f"{remote}/index.json\n")
    run("copy", "--list", work / "list", work / "listed")
    assert (work / "listed/text/index.json").read_bytes() == (work / "repo/text/index.json").read_bytes()

    token_file = work / "token"
    token_file.write_text(token + "\n")
    token_file.chmod(0o644)
    run("inspect", remote, HF_TOKEN="", HF_TOKEN_PATH=str(token_file))
    assert "may be read by everybody" in outputs[-1], outputs[-1]

    said = run("inspect", remote, status=1, HF_TOKEN="hf_wrong")
    assert "401" in said and "HF_TOKEN" in said and "hf_wrong" not in said, said
    assert "RepoNotFound" in run("copy", "hf://datasets/test/other/x", work / "none", status=1)
    assert "RevisionNotFound" in run("inspect", "hf://datasets/test/data@old/text", status=1)
    said = run("write", "--out", "hf://datasets/test/data/new", "--column", "x=str", stdin='{"x":"y"}\n', status=1)
    assert "huggingface-cli upload" in said, said
    assert "mount it" in run("inspect", "alipan:///x", status=1)
    assert not any(secret in each for each in outputs for secret in (token, "hush-of-the-url")), "an output has a secret"


with tempfile.TemporaryDirectory() as name:
    work = pathlib.Path(name)
    rows = "".join(json.dumps({"x": f"row {i}"}) + "\n" for i in range(40))
    (work / "repo").mkdir()
    run("write", "--out", work / "repo" / "text", "--column", "x=str", "--size-limit", "300", stdin=rows)
    hub = subprocess.Popen([sys.executable, server, str(work / "repo"), token], stdout=subprocess.PIPE, text=True)
    try:
        check(work, int(hub.stdout.readline()))
    finally:
        hub.kill()
        hub.wait()
