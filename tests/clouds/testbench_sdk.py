#!/usr/bin/env python3
"""testbench_sdk.py, under tests/servers/with.sh testbench: has Google's own SDK (google-cloud-storage of PyPI) do what a store
does."""
from google.auth.credentials import AnonymousCredentials
from google.cloud import storage

client = storage.Client(project="test", credentials=AnonymousCredentials())
bucket = client.bucket("test")
name, kind = "sdk/a b+ü%2F?#&", {"content_type": "application/octet-stream", "checksum": "crc32c"}
bucket.blob(name).upload_from_string(b"hello", **kind)  # each time a new one: it remembers its generation
bucket.blob("sdk/once").upload_from_string(b"hello", if_generation_match=0, **kind)
held = bucket.get_blob(name).generation
assert bucket.blob(name).download_as_bytes(start=1, end=3) == b"ell"
assert bucket.blob(name).download_as_bytes(start=1, end=3, if_generation_match=held) == b"ell"
bucket.blob("sdk/large", chunk_size=5 << 20).upload_from_string(bytes(9 << 20), **kind)
found = client.list_blobs("test", prefix="sdk/", fields="items(name,size,generation,md5Hash,crc32c),nextPageToken", page_size=1)
assert [each.name for each in found] == [name, "sdk/large", "sdk/once"]
bucket.blob(name).delete()
