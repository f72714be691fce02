#!/usr/bin/env python3
"""oci_sdk.py: has OCI's own SDK (oci of PyPI, 500 MB, which no test installs) do what a store does, against the server of

    MDSTREAM_TEST_CLOCK=0 tests/servers/with.sh oci sh -c 'python tests/clouds/oci_sdk.py && sort -u $MDSTREAM_TEST_REQUESTS'

which prints what lies in oci_requests.txt. The server takes the SDK's request for an instance principal, too.
"""
import contextlib
import os

import oci
from oci.object_storage import models

config = oci.config.from_file(os.environ["OCI_CLI_CONFIG_FILE"])
client = oci.object_storage.ObjectStorageClient(config, service_endpoint=os.environ["OCI_CLI_ENDPOINT"])
space = client.get_namespace().data
name = "sdk/a b+ü%2F?#&"
client.put_object(space, "test", name, b"hello")
tag = client.head_object(space, "test", name).headers["etag"]
assert client.get_object(space, "test", name, range="bytes=1-3").data.content == b"ell"
assert client.get_object(space, "test", name, range="bytes=1-3", if_match=tag).data.content == b"ell"
client.put_object(space, "test", "sdk/new", b"hello", if_none_match="*")
for each in ("sdk/1", "sdk/2", "sdk/3"):
    client.put_object(space, "test", each, b"hello")
page = client.list_objects(space, "test", prefix="sdk/", fields="name,size,etag", limit=1000).data
assert [each.name for each in page.objects] == ["sdk/1", "sdk/2", "sdk/3"], page
page = client.list_objects(space, "test", prefix="sdk/", fields="name,size,etag", limit=1000, start=page.next_start_with).data
assert [each.name for each in page.objects] == [name, "sdk/new"], page
for condition in ({}, {"if_none_match": "*"}):
    large = f"sdk/large{len(condition)}"
    upload = client.create_multipart_upload(space, "test", models.CreateMultipartUploadDetails(object=large), **condition).data
    parts = [models.CommitMultipartUploadPartDetails(part_num=i, etag=client.upload_part(
        space, "test", large, upload.upload_id, i, b"part").headers["etag"]) for i in (1, 2)]
    client.commit_multipart_upload(space, "test", large, upload.upload_id,
                                   models.CommitMultipartUploadDetails(parts_to_commit=parts), **condition)
upload = client.create_multipart_upload(space, "test", models.CreateMultipartUploadDetails(object=large)).data
client.abort_multipart_upload(space, "test", large, upload.upload_id)
client.delete_object(space, "test", name)

os.environ["OCI_METADATA_BASE_URL"] = os.environ["OCI_CLI_ENDPOINT"] + "/opc/v2"
principal = oci.auth.signers.InstancePrincipalsSecurityTokenSigner
tokens = {"federation_endpoint": os.environ["OCI_CLI_ENDPOINT"] + "/v1/x509"}
with contextlib.suppress(oci.exceptions.TransientServiceError):  # the server is busy at first, which the SDK does not ask again
    principal(**tokens)
machine = oci.object_storage.ObjectStorageClient({}, signer=principal(**tokens), service_endpoint=os.environ["OCI_CLI_ENDPOINT"])
assert machine.get_namespace().data == space
