#!/usr/bin/env python3
"""hub_sdk.py, under tests/servers/with.sh hub: has the Hub's own SDK (huggingface_hub of PyPI) do what a store does."""
import os
import pathlib
import tempfile
import time

from huggingface_hub import HfApi, hf_hub_download, hf_hub_url
from huggingface_hub.errors import HfHubHTTPError
from huggingface_hub.file_download import http_get


def again(call, *words, **named):
    """The SDK leaves it to its users to repeat commits where another came between."""
    for _ in range(5):
        try:
            return call(*words, repo_id="test/data", repo_type="dataset", **named)
        except HfHubHTTPError as refused:
            assert refused.response.status_code in (409, 412), refused
            time.sleep(0.1)
    raise AssertionError("commits are never made")


files = pathlib.Path(os.environ["MDSTREAM_TEST_FILES"])
content = {"a b+ü": b"a b" * 100, "1": b"1" * 50, "2": os.urandom(11 << 20), "3": b"333"}
api = HfApi()
for name, each in content.items():
    again(api.upload_file, path_or_fileobj=each, path_in_repo=f"sdk/{name}")
again(api.upload_file, path_or_fileobj=content["2"], path_in_repo="sdk/4")  # whose bytes are there
again(api.delete_file, "sdk/4")
found = api.list_repo_tree("test/data", "sdk", repo_type="dataset", recursive=True)
assert sorted(each.path for each in found) == ["sdk/1", "sdk/2", "sdk/3", "sdk/a b+ü"]
with tempfile.TemporaryDirectory() as directory:
    for name in ("a b+ü", "1"):
        came = hf_hub_download("test/data", f"sdk/{name}", repo_type="dataset", local_dir=directory)
        assert pathlib.Path(came).read_bytes() == content[name] == (files / "sdk" / name).read_bytes()
        with open(came, "r+b") as part:
            http_get(hf_hub_url("test/data", f"sdk/{name}", repo_type="dataset"), part, resume_size=1,
                     headers={"Authorization": "Bearer " + os.environ["HF_TOKEN"]})
