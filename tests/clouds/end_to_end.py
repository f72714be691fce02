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

program = sys.argv[1]
place = f"{os.environ['MDSTREAM_TEST_URL']}/e{os.getpid()}"
secrets = [os.environ[name] for name in ("AZURE_ACCOUNT_ACCESS_KEY", "MDSTREAM_TEST_SECRETS") if os.environ.get(name)]
outputs = []


def run(*words, stdin="", status=0, **variables):
    done = subprocess.run([program, *map(str, words)], input=stdin, text=True, capture_output=True,
                          env=os.environ | variables, timeout=120)
    outputs.append(done.stdout + done.stderr)
    assert done.returncode == status, (words, done.returncode, done.stderr)
    return done.stdout if status == 0 else done.stderr


def stream(work, remote, cache, *words):
    config = work / "config.json"
    config.write_text(json.dumps({"streams": [{"remote": remote, "local": str(work / cache)}], "batch_size": 4,
                                  "shuffle": True, "shuffle_seed": 7, "cache_limit": "1mb"}))
    lines = run("stream", "--config", config, "--digest", *words).splitlines()
    return [line for line in map(json.loads, lines) if "digest" in line]


def second_opinion(key, file, action):
    script = pathlib.Path(__file__).with_name("second_opinion.py")
    subprocess.run([os.environ["MDSTREAM_TEST_PYTHON"], script, key, file, action], check=True, timeout=120)


def check_ssh(work):
    unknown = work / "known_hosts"
    unknown.write_text("")
    said = run("inspect", place, status=1, COMPOSER_SFTP_KNOWN_HOSTS_FILE=str(unknown))
    assert "key" in said.lower() and "@" not in said, said
    run("inspect", place, status=1, COMPOSER_SFTP_KNOWN_HOSTS_FILE="/nonexistent")
    other = work / "other_key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other], check=True)
    other.chmod(0o644)
    said = run("inspect", place, status=1, COMPOSER_SFTP_KEY_FILE=str(other))
    assert "may be read by everybody" in said, said
    assert "key file" in run("inspect", place, status=1, COMPOSER_SFTP_KEY_FILE="/nonexistent")
    run("copy", f"{place}/none", work / "none", status=1)
    (work / "odd name").write_bytes(b"odd")
    run("copy", work / "odd name", f"{place}/a b+ü/odd \"name")
    run("copy", f"{place}/a b+ü", work / "odd")
    assert (work / "odd" / 'odd "name').read_bytes() == b"odd"
    run("copy", f"{place}/a b+ü/odd \"name", f"{place}/a b+ü/second")


def main():
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        for part in ("a", "b"):
            rows = "".join(json.dumps({"x": f"{part}{i}"}) + "\n" for i in range(40))
            run("write", "--out", f"{place}/{part}", "--column", "x=str", "--size-limit", "200", "--hashes", "sha1", stdin=rows)
        run("merge-index", place)
        run("verify", place, "--all")

        whole = stream(work, place, "one")
        assert len(whole) == 20, whole
        state = work / "state"
        first = stream(work, place, "two", "--batches", "8", "--save-state", state)
        rest = stream(work, place, "three", "--state", state)
        digests = [each["digest"] for each in whole]
        assert [each["digest"] for each in first + rest] == digests, (first, rest, whole)

        run("copy", place, work / "copied")
        run("verify", work / "copied", "--all")
        again = json.loads(run("copy", work / "copied", f"{place}-back").splitlines()[-1])
        assert again["copied"] > 80 // 20, again
        assert [each["digest"] for each in stream(work, f"{place}-back", "four")] == digests

        if os.environ.get("COMPOSER_SFTP_KEY_FILE"):
            return check_ssh(work)
        if place.startswith("oci:") and not os.environ.get("MDSTREAM_TEST_PYTHON"):
            return  # 500 MB of an SDK: what it sends was recorded, and is compared in clouds_server_oci
        ours, theirs = work / "ours", work / "theirs"
        ours.write_bytes(os.urandom(17 << 20))
        run("copy", ours, f"{place}-sdk/a b+ü/ours")
        second_opinion(f"e{os.getpid()}-sdk/a b+ü/ours", theirs, "get")
        assert theirs.read_bytes() == ours.read_bytes()
        second_opinion(f"e{os.getpid()}-sdk/a b+ü/theirs", theirs, "put")
        run("copy", f"{place}-sdk", work / "sdk")
        assert (work / "sdk" / "a b+ü" / "theirs").read_bytes() == ours.read_bytes()

        if os.environ.get("AZURE_ACCOUNT_ACCESS_KEY"):
            said = run("inspect", place, status=1, AZURE_ACCOUNT_ACCESS_KEY="d3Jvbmc=")
            assert "AZURE_ACCOUNT_ACCESS_KEY" in said and "d3Jvbmc" not in said, said
            said = run("inspect", place, status=1, AZURE_ACCOUNT_ACCESS_KEY="", AZURE_STORAGE_SAS_TOKEN="sv=2021-12-02&sig=hush%2Bhush")
            assert "AZURE_STORAGE_SAS_TOKEN" in said and "hush" not in said, said


main()
for secret in secrets:
    assert not any(secret in each for each in outputs), "an output holds a key"
