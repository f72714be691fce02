#!/usr/bin/env python3
"""azure_sdk.py, under tests/servers/with.sh azurite: has Azure's own SDK (azure-storage-blob of PyPI) do what a store does."""
import os

from azure.core import MatchConditions
from azure.storage.blob import BlobBlock, BlobServiceClient

text = os.environ["AZURE_STORAGE_CONNECTION_STRING"] + ";AccountKey=" + os.environ["AZURE_ACCOUNT_ACCESS_KEY"]
container = BlobServiceClient.from_connection_string(text + ";DefaultEndpointsProtocol=http").get_container_client("test")
blob = container.get_blob_client("sdk/a b+ü%2F?#&")
blob.upload_blob(b"hello", overwrite=True)
container.get_blob_client("sdk/once").upload_blob(b"hello", overwrite=False)
tag = blob.get_blob_properties().etag
assert blob.download_blob(offset=1, length=3).readall() == b"ell"
held = {"etag": tag, "match_condition": MatchConditions.IfNotModified}
assert blob.download_blob(offset=1, length=3, **held).readall() == b"ell"
large = container.get_blob_client("sdk/large")
for block in ("1", "2"):
    large.stage_block(block, b"part")
large.commit_block_list([BlobBlock("1"), BlobBlock("2")])
pages = container.list_blobs(name_starts_with="sdk/", results_per_page=1).by_page()
assert [each.name for page in pages for each in page] == [blob.blob_name, "sdk/large", "sdk/once"]
blob.delete_blob()
