#!/usr/bin/env python3
"""hub_test.py MDSTREAM SCRIPTED_HUB: a dataset of the Hub streamed, listed and copied by the command line."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from tool import Tool

server, token = sys.argv[2], "hf_secretOfTheTest"
tool = Tool(sys.argv[1], token, "hf_wrong", "hush-of-the-url")
run = tool.output


def check(work, port):
    remote = "hf://datasets/test/data/text"
    os.environ |= {"HF_ENDPOINT": f"http://127.0.0.1:{port}", "HF_TOKEN": token, "HOME": str(work)}
    whole = tool.digests(work, remote, "one")
    assert len(whole) == 10 and whole == tool.digests(work, work / "repo" / "text", "two"), whole
    renamed = "hf://datasets/test/renamed/text"
    assert tool.digests(work, renamed, "renamed") == whole
    run("copy", renamed, work / "of-renamed")
    assert len(list((work / "of-renamed").iterdir())) == len(list((work / "repo" / "text").iterdir()))
    state = work / "state"
    first = tool.digests(work, remote, "three", "--batches", "4", "--save-state", state)
    assert first + tool.digests(work, remote, "four", "--state", state) == whole

    run("copy", remote, work / "copied")
    for each in (work / "repo" / "text").iterdir():
        assert (work / "copied" / each.name).read_bytes() == each.read_bytes()
    files = [work / "copied" / each.name for each in (work / "repo" / "text").iterdir()]
    assert json.loads(run("copy", remote, work / "copied"))["skipped"] == len(files)
    for changed in min(files, key=lambda each: each.stat().st_size), max(files, key=lambda each: each.stat().st_size):
        changed.write_bytes(b"x" * changed.stat().st_size)
    assert json.loads(run("copy", remote, work / "copied"))["copied"] == 2
    (work / "list").write_text(f"{remote}/index.json\n")
    run("copy", "--list", work / "list", work / "listed")
    ours, theirs = work / "listed/text/index.json", work / "repo/text/index.json"
    assert ours.read_bytes() == theirs.read_bytes()
    ours.write_bytes(b"x" * ours.stat().st_size)
    for copied in 1, 0:
        assert json.loads(run("copy", "--list", work / "list", work / "listed"))["copied"] == copied
    assert ours.read_bytes() == theirs.read_bytes()

    token_file = work / "token"
    token_file.write_text(token + "\n")
    token_file.chmod(0o644)
    said = tool.run("inspect", remote, env=os.environ | {"HF_TOKEN": "", "HF_TOKEN_PATH": str(token_file)}).stderr
    assert "may be read by everybody" in said, said

    said = run("inspect", remote, status=1, HF_TOKEN="hf_wrong")
    assert "401" in said and "HF_TOKEN" in said, said
    assert "RepoNotFound" in run("copy", "hf://datasets/test/other/x", work / "none", status=1)
    assert "RevisionNotFound" in run("inspect", "hf://datasets/test/data@old/text", status=1)
    rows = '{"x":"y"}\n' * 50
    run("write", "--out", f"{remote}-new", "--column", "x=str", stdin=rows)
    run("verify", f"{remote}-new", "--all")
    run("copy", f"{remote}-new", f"{remote}-newer")
    for each in (work / "repo" / "text-new").iterdir():
        assert (work / "repo" / "text-newer" / each.name).read_bytes() == each.read_bytes()
    said = run("copy", work / "token", f"{renamed}/new", status=1)
    assert "307" in said and "/test/data/preupload/main" in said, said
    said = run("write", "--out", f"{remote}-no", "--column", "x=str", stdin=rows, status=1, HF_TOKEN="hf_wrong")
    assert "401" in said and "HF_TOKEN" in said, said
    (work / "a.ignored").write_text("x")
    assert ".gitignore" in run("copy", work / "a.ignored", f"{remote}/a.ignored", status=1)
    (work / "refused").write_text("refuse me" * 100)
    said = run("copy", work / "refused", f"{remote}/refused", status=1)
    assert "403" in said and "(withheld)" in said, said
    assert "RevisionNotFound" in run("copy", work / "a.ignored", "hf://datasets/test/data@old/a", status=1)
    header = json.dumps({"w": {"dtype": "F32", "shape": [100], "data_offsets": [0, 400]}}).encode()
    (work / "model").mkdir()
    written = work / "model" / "model.safetensors"
    written.write_bytes(len(header).to_bytes(8, "little") + header + bytes(range(200)) * 2)
    run("copy", work / "model", "hf://test/model/llm")
    run("copy", "hf://test/model@main/llm/model.safetensors", work / "again")
    assert (work / "again").read_bytes() == written.read_bytes()
    for source in "hf://test/model/llm", "hf://test/model/llm/model.safetensors":
        imported = work / f"run-{len(source)}"
        assert json.loads(run("checkpoint", "import", source, imported))["tensors"] == 1
        run("checkpoint", "export", "--out", f"{imported}-plain", imported)
        assert (imported.parent / f"{imported.name}-plain" / "model.safetensors").read_bytes().endswith(bytes(range(200)) * 2)
    said = run("checkpoint", "import", "hf://test/none/llm", work / "none", status=1)
    assert "RepoNotFound" in said and "hf://test/none" in said, said
    assert "mount it" in run("inspect", "alipan:///x", status=1)


with tempfile.TemporaryDirectory() as name:
    work = pathlib.Path(name)
    rows = "".join(json.dumps({"x": f"row {i}"}) + "\n" for i in range(40))
    (work / "repo").mkdir()
    run("write", "--out", work / "repo" / "text", "--column", "x=str", "--size-limit", "300", stdin=rows)
    (work / "hub").mkdir()
    hub = subprocess.Popen([sys.executable, server, work / "hub", token, work / "repo"], stdout=subprocess.PIPE, text=True)
    try:
        check(work, int(hub.stdout.readline()))
    finally:
        hub.kill()
        hub.wait()
