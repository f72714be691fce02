#!/usr/bin/env python3
"""end_to_end.py MDSTREAM: datasets in a cloud by the command line alone, under tests/servers/with.sh.

Writes two datasets, merges their indexes, streams them through a cache, stops and goes on elsewhere, copies
them away and back; has the provider's SDK read what it wrote and the reverse; asks with keys that are wrong. No output
may hold the keys.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from tool import Tool

def places():
    """Of every scheme that the server has."""
    dataset = f"{os.environ['MDSTREAM_TEST_URL']}/e{os.getpid()}"
    return [dataset, dataset.replace("azure://", "azure-dl://") + "-dl"] if dataset.startswith("azure://") else [dataset]


tool = Tool(sys.argv[1], *filter(None, map(os.environ.get, ("AZURE_ACCOUNT_ACCESS_KEY", "GCS_SECRET", "MDSTREAM_TEST_SECRETS"))))
run, digests = tool.output, tool.digests


def name_of(dataset):
    return dataset.rpartition("/")[2]


def second_opinion(key, file, action):
    script = pathlib.Path(__file__).with_name("second_opinion.py")
    subprocess.run([os.environ["MDSTREAM_TEST_PYTHON"], script, key, file, action], check=True, timeout=120)


def check_ssh(work, dataset):
    unknown = work / "known_hosts"
    unknown.write_text("")
    said = run("inspect", dataset, status=1, COMPOSER_SFTP_KNOWN_HOSTS_FILE=str(unknown))
    assert "key" in said.lower() and "@" not in said, said
    run("inspect", dataset, status=1, COMPOSER_SFTP_KNOWN_HOSTS_FILE="/nonexistent")
    other = work / "other_key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other], check=True)
    other.chmod(0o644)
    said = run("inspect", dataset, status=1, COMPOSER_SFTP_KEY_FILE=str(other))
    assert "may be read by everybody" in said, said
    assert "key file" in run("inspect", dataset, status=1, COMPOSER_SFTP_KEY_FILE="/nonexistent")
    run("copy", f"{dataset}/none", work / "none", status=1)
    (work / "odd name").write_bytes(b"odd")
    run("copy", work / "odd name", f"{dataset}/a b+ü/odd \"name")
    run("copy", f"{dataset}/a b+ü", work / "odd")
    assert (work / "odd" / 'odd "name').read_bytes() == b"odd"
    run("copy", f"{dataset}/a b+ü/odd \"name", f"{dataset}/a b+ü/second")


def main(dataset):
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        for part in ("a", "b"):
            rows = "".join(json.dumps({"x": f"{part}{i}"}) + "\n" for i in range(40))
            run("write", "--out", f"{dataset}/{part}", "--column", "x=str", "--size-limit", "200", "--hashes", "sha1", stdin=rows)
        run("merge-index", dataset)
        run("verify", dataset, "--all")

        whole = digests(work, dataset, "one")
        assert len(whole) == 20, whole
        state = work / "state"
        first = digests(work, dataset, "two", "--batches", "8", "--save-state", state)
        rest = digests(work, dataset, "three", "--state", state)
        assert first + rest == whole, (first, rest, whole)

        run("copy", dataset, work / "copied")
        run("verify", work / "copied", "--all")
        again = json.loads(run("copy", work / "copied", f"{dataset}-back").splitlines()[-1])
        assert again["copied"] > 80 // 20, again
        assert digests(work, f"{dataset}-back", "four") == whole

        if os.environ.get("COMPOSER_SFTP_KEY_FILE"):
            return check_ssh(work, dataset)
        if dataset.startswith("oci:") and not os.environ.get("MDSTREAM_TEST_PYTHON"):
            return  # 500 MB of an SDK: what it sends was recorded, and is compared in clouds_server_oci
        if os.environ.get("GCS_KEY"):  # which Google's SDK does not take
            said = run("inspect", dataset, status=1, GCS_SECRET="hush-hush")
            assert "GCS_KEY" in said and "hush" not in said, said
            return
        ours, theirs = work / "ours", work / "theirs"
        ours.write_bytes(os.urandom(17 << 20))
        run("copy", ours, f"{dataset}-sdk/a b+ü/ours")
        second_opinion(f"{name_of(dataset)}-sdk/a b+ü/ours", theirs, "get")
        assert theirs.read_bytes() == ours.read_bytes()
        second_opinion(f"{name_of(dataset)}-sdk/a b+ü/theirs", theirs, "put")
        run("copy", f"{dataset}-sdk", work / "sdk")
        assert (work / "sdk" / "a b+ü" / "theirs").read_bytes() == ours.read_bytes()

        if os.environ.get("AZURE_ACCOUNT_ACCESS_KEY"):
            said = run("inspect", dataset, status=1, AZURE_ACCOUNT_ACCESS_KEY="d3Jvbmc=")
            assert "AZURE_ACCOUNT_ACCESS_KEY" in said and "d3Jvbmc" not in said, said
            said = run("inspect", dataset, status=1, AZURE_ACCOUNT_ACCESS_KEY="", AZURE_STORAGE_SAS_TOKEN="sv=2021-12-02&sig=hush%2Bhush")
            assert "AZURE_STORAGE_SAS_TOKEN" in said and "hush" not in said, said


for each in places():
    main(each)
