#!/usr/bin/env python3
"""dbfs_test.py MDSTREAM, under tests/servers/with.sh dbfs: tokens, service principals and profiles that let in, and what is
said where they do not. No output may hold a secret."""
import os
import pathlib
import re
import sys
import tempfile

from tool import Tool

tool = Tool(sys.argv[1], os.environ["MDSTREAM_TEST_SECRETS"])
run = tool.said
base_url = os.environ["MDSTREAM_TEST_URL"] + "/keys"
host, token = os.environ["DATABRICKS_HOST"], os.environ["DATABRICKS_TOKEN"]
plain = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}


with tempfile.TemporaryDirectory() as name:
    work = pathlib.Path(name)
    (work / "object").write_bytes(b"an object")
    by_token = plain | {"DATABRICKS_HOST": host, "DATABRICKS_TOKEN": token}
    run("copy", work / "object", f"{base_url}/object", **by_token)

    def fetched(url=f"{base_url}/object", status=0, **variables):
        return tool.fetched(url, work / "fetched", b"an object", status, **variables)

    fetched(f"{base_url}/object", **by_token)
    principal = plain | {"DATABRICKS_HOST": host, "DATABRICKS_CLIENT_ID": "the-principal",
                         "DATABRICKS_CLIENT_SECRET": "hush-of-the-principal"}
    fetched(**principal)
    # A token of a principal is good for thirty requests here: the others want another, asked for once.
    tool.copy_many(work, base_url, **principal)

    # Volumes are stores of their own; any other path is the file system's.
    run("copy", work / "object", "dbfs:/mnt/object", **by_token)
    (work / "list").write_text(f"{base_url}/object\ndbfs:/mnt/object\n")
    run("copy", "--list", work / "list", work / "listed", **by_token)
    assert (work / "listed" / "root/keys/object").read_bytes() == (work / "listed" / "mnt/object").read_bytes() == b"an object"

    # The file system moves nothing over a file. When the old one is removed and the new one not moved, no byte is lost.
    run("copy", work / "object", "dbfs:/mnt/kept", **by_token)
    (work / "newer").write_bytes(b"a newer object")
    said = run("copy", work / "newer", "dbfs:/mnt/kept", status=1, **by_token)
    found = re.search(r"dbfs:/mnt/\.mdstream-\w+\.tmp", said)
    assert found and "403" in said, said
    tool.fetched(found[0], work / "fetched", b"a newer object", **by_token)

    # Where the answer to a move is lost, the move is sent again, and refused: what has the name is the new file, and stays.
    for lost in ("dbfs:/mnt/unanswered/kept", "dbfs:/mnt/unanswered/first/kept"):
        run("copy", work / "newer", lost, **by_token)
        tool.fetched(lost, work / "fetched", b"a newer object", **by_token)

    profiles = work / ".databrickscfg"
    profiles.write_text(f"[DEFAULT]\nhost = {host}\ntoken = {token}\n[robot]\nhost = {host}\nclient_id = the-principal\n"
                        f"client_secret = hush-of-the-principal\n[wrong]\nhost = {host}\ntoken = dapi-hush-wrong\n")
    profiles.chmod(0o600)
    at_home = plain | {"HOME": name}
    fetched(**at_home)
    fetched(f"{base_url}/object?profile=robot", **at_home)

    said = fetched(status=1, **at_home | {"DATABRICKS_CONFIG_PROFILE": "wrong"})
    assert "401" in said and f"the profile wrong in {profiles}" in said, said
    said = fetched(status=1, **by_token | {"DATABRICKS_TOKEN": "dapi-hush-revoked"})
    assert "403" in said and "DATABRICKS_TOKEN" in said, said
    said = fetched(status=1, **principal | {"DATABRICKS_CLIENT_SECRET": "hush-that-is-wrong"})
    assert "invalid_client" in said and "DATABRICKS_CLIENT_SECRET" in said, said
    assert "anonymous" in fetched(status=1, **plain | {"DATABRICKS_HOST": host})
    assert "DATABRICKS_HOST" in fetched(status=1, **plain)
    said = fetched("dbfs:/Volumes/main/test/other/object", status=1, **by_token)
    assert "dbfs:/Volumes/main/test/other/object" in said, said
    profiles.write_text("[DEFAULT]\nhush this is no setting\n")
    profiles.chmod(0o644)
    said = fetched(status=1, **at_home)
    assert "line 2" in said and "may be read by everybody" in said, said
