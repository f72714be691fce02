#!/usr/bin/env python3
"""dbfs_sdk.py: has Databricks' own SDK do what a store does, against the servers of

    tests/servers/with.sh dbfs python3 tests/clouds/dbfs_sdk.py     and     with.sh dbfs_files

and prints its requests, which is what lies in dbfs_requests.txt and dbfs_files_requests.txt.
"""
import io
import os
import pathlib
import subprocess
import sys

if sys.executable != os.environ["MDSTREAM_TEST_PYTHON"]:
    sys.exit(subprocess.run([os.environ["MDSTREAM_TEST_PYTHON"], *sys.argv]).returncode)

from databricks.sdk import WorkspaceClient
from databricks.sdk.core import Config

client = WorkspaceClient(config=Config(disable_experimental_files_api_client=True))
path = os.environ["MDSTREAM_TEST_URL"].removeprefix("dbfs:") + "/sdk"
if path.startswith("/Volumes/"):
    client.files.create_directory(path)
    for name in ("a b+ü", "1", "2", "3"):
        client.files.upload(f"{path}/{name}", io.BytesIO(b"hello"), overwrite=True)
    client.files.upload(f"{path}/once", io.BytesIO(b"hello"), overwrite=False)
    assert client.files.get_metadata(f"{path}/a b+ü").content_length == 5
    assert client.files.download(f"{path}/a b+ü").contents.read() == b"hello"
    assert [each.name for each in client.files.list_directory_contents(path)] == ["1", "2", "3", "a b+ü", "once"]
    client.files.delete(f"{path}/a b+ü")
else:
    dbfs = client.dbfs
    dbfs.put(f"{path}/small", contents="aGVsbG8=", overwrite=True)
    with dbfs.open(f"{path}/a b+ü", write=True, overwrite=True) as out:
        out.write(b"hello" * 300_000)
    assert dbfs.get_status(f"{path}/a b+ü").file_size == 1_500_000
    assert len(dbfs.read(f"{path}/a b+ü", offset=1, length=1 << 20).data) > 1 << 20
    assert sorted(each.path for each in dbfs.list(path)) == [f"{path}/a b+ü", f"{path}/small"]
    dbfs.move(f"{path}/small", f"{path}/moved")
    dbfs.delete(f"{path}/moved", recursive=False)
print("".join(sorted(set(pathlib.Path(os.environ["MDSTREAM_TEST_REQUESTS"]).read_text().splitlines(True)))))
