#!/usr/bin/env python3
"""oci_test.py MDSTREAM, under tests/servers/with.sh oci: profiles, sessions and variables that sign, and what is said where
they do not. No output may hold a secret."""
import os
import pathlib
import subprocess
import sys
import tempfile

program = sys.argv[1]
place = os.environ["MDSTREAM_TEST_URL"] + "/keys"
config = pathlib.Path(os.environ["OCI_CLI_CONFIG_FILE"])
secrets = [os.environ["MDSTREAM_TEST_SECRETS"], *config.with_name("plain.pem").read_text().splitlines()[1:3]]
endpoint = {name: os.environ[name] for name in ("PATH", "OCI_CLI_ENDPOINT")}


def run(*words, status=0, **variables):
    done = subprocess.run([program, *map(str, words)], text=True, capture_output=True, timeout=120, env=variables)
    said = done.stdout + done.stderr
    assert done.returncode == status, (words, done.returncode, said)
    assert not any(secret in said for secret in secrets), said
    return said


with tempfile.TemporaryDirectory() as name:
    work = pathlib.Path(name)
    (work / "object").write_bytes(b"an object")
    by_file = endpoint | {"OCI_CLI_CONFIG_FILE": str(config), "HOME": name}
    run("copy", work / "object", f"{place}/object", **by_file)

    def fetched(url=f"{place}/object", status=0, **variables):
        (work / "fetched").unlink(missing_ok=True)
        said = run("copy", url, work / "fetched", status=status, **variables)
        assert status or (work / "fetched").read_bytes() == b"an object"
        return said

    # The namespace may stand in the URL, a session's profile in place of a user's, variables in place of a profile.
    fetched(place.replace("//test", "//test@testns") + "/object", **by_file)
    fetched(**by_file | {"OCI_CLI_CONFIG_FILE": str(config.with_name("session"))})
    (work / ".oci").mkdir()
    (work / ".oci" / "config").write_text(config.read_text())
    fetched(**endpoint | {"HOME": name})
    settings = dict(line.split(" = ") for line in config.read_text().splitlines()[1:4])
    by_variables = endpoint | {"HOME": "/nonexistent", "OCI_CLI_KEY_CONTENT": config.with_name("plain.pem").read_text()} | {
        f"OCI_CLI_{setting.upper()}": value for setting, value in settings.items()}
    fetched(**by_variables)

    # Who supplied the keys is told, where they are wrong.
    said = fetched(status=1, **by_file | {"OCI_CLI_PROFILE": "other"})
    assert "401" in said and "NotAuthenticated" in said and f"the profile other in {config}" in said, said
    said = fetched(status=1, **by_variables | {"OCI_CLI_USER": "somebody"})
    assert "OCI_CLI_KEY_CONTENT" in said, said
    said = fetched(status=1, **by_file | {"OCI_CLI_PROFILE": "wrong"})
    assert "pass phrase" in said and "key.pem" in said, said
    assert "PEM" in fetched(status=1, **by_file | {"OCI_CLI_PROFILE": "bad"})
    assert "/nonexistent" in fetched(status=1, **by_file | {"OCI_CLI_PROFILE": "absent"})
    assert "no profile nobody" in fetched(status=1, **by_file | {"OCI_CLI_PROFILE": "nobody"})
    said = fetched(status=1, **endpoint | {"HOME": "/nonexistent"})
    assert "anonymous" in said and "oci://bucket@namespace" in said, said
    assert "OCI_CLI_REGION" in fetched(status=1, PATH=os.environ["PATH"], HOME="/nonexistent")
    broken = work / "broken"
    broken.write_text("[DEFAULT]\nuser = x\nhush, this is no setting\n")
    said = fetched(status=1, **by_file | {"OCI_CLI_CONFIG_FILE": str(broken)})
    assert "line 3" in said and str(broken) in said, said

    # A key that everybody may read is used, and told of.
    config.with_name("key.pem").chmod(0o644)
    said = fetched(**by_file)
    assert "may be read by everybody" in said and "key.pem" in said, said
