#!/usr/bin/env python3
"""azure_sas_test.py MDSTREAM, under tests/servers/with.sh azurite: signed queries (SAS) that Azure's own SDK made, of which
some let in and some do not. No output may hold a signature."""
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.parse

from tool import Tool

tool = Tool(sys.argv[1])
sdk = """import datetime, os, sys
from azure.storage.blob import generate_container_sas
now = datetime.datetime.now(datetime.timezone.utc)
print(generate_container_sas(os.environ["AZURE_ACCOUNT_NAME"], "test", account_key=os.environ["AZURE_ACCOUNT_ACCESS_KEY"],
                             permission=sys.argv[1], expiry=now + datetime.timedelta(hours=int(sys.argv[2]))))"""


def signed(permission="rwdl", hours=1):
    query = subprocess.run([os.environ["MDSTREAM_TEST_PYTHON"], "-c", sdk, permission, str(hours)], check=True, text=True,
                           capture_output=True, timeout=120).stdout.strip()
    keep(query)
    return query


def keep(query):
    """No output may hold it from now on, nor its signature in any form."""
    signature = urllib.parse.parse_qs(query)["sig"][0]
    tool.secrets += (query, signature, urllib.parse.quote(signature, safe=""))


def main(work):
    environment = {name: os.environ[name] for name in ("PATH", "AZURE_ACCOUNT_NAME", "AZURE_STORAGE_CONNECTION_STRING")}
    good = signed()
    by_variable = environment | {"AZURE_STORAGE_SAS_TOKEN": good}
    content = os.urandom(17 << 20)  # several blocks
    (work / "object").write_bytes(content)

    def copied(url, **variables):
        return tool.fetched(url, work / "fetched", content, **variables)

    # As a variable, in the connection string, with and without a question mark, in the URL; by the data lake's scheme, too.
    tool.said("copy", work / "object", "azure://test/sas/object", **by_variable)
    copied("azure://test/sas/object", **by_variable)
    copied("azure-dl://test/sas/object", **environment | {"AZURE_STORAGE_SAS_TOKEN": "?" + good})
    connection = environment["AZURE_STORAGE_CONNECTION_STRING"] + ";SharedAccessSignature=" + good
    tool.said("copy", work / "object", "azure-dl://test/lake/object", **environment | {"AZURE_STORAGE_CONNECTION_STRING": connection})
    copied("azure-dl://test/lake/object", **environment | {"AZURE_STORAGE_CONNECTION_STRING": connection})
    copied(f"azure://test/sas/object?{good}", **environment)
    copied(f"azure-dl://test/lake/object?{good}", **environment)
    rows = '{"x": "one"}\n{"x": "two"}\n'
    tool.run("write", "--out", "azure://test/sas/rows", "--column", "x=str", stdin=rows, env=by_variable)
    tool.said("verify", "azure://test/sas/rows", "--all", **by_variable)

    # What one may do is told by the query alone; who gave it is told.
    def refused(query, *words):
        said = tool.said(*words, status=1, **environment | {"AZURE_STORAGE_SAS_TOKEN": query})
        assert "403" in said and "AZURE_STORAGE_SAS_TOKEN" in said, said

    reads_only = signed("rl")
    copied("azure://test/sas/object", **environment | {"AZURE_STORAGE_SAS_TOKEN": reads_only})
    refused(reads_only, "copy", work / "object", "azure://test/sas/other")
    refused(signed(hours=-1), "inspect", "azure://test/sas/rows")
    wrong = good.replace("sp=rwdl", "sp=rl")  # signed for something else
    assert wrong != good
    refused(wrong, "copy", "azure-dl://test/sas/object", work / "none")
    said = tool.said("inspect", f"azure://test/sas/rows?{wrong}", status=1, **environment)
    assert "403" in said and "the URL (SAS)" in said, said


with tempfile.TemporaryDirectory() as name:
    main(pathlib.Path(name))
