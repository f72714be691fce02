#!/usr/bin/env python3
"""oci_test.py MDSTREAM, under tests/servers/with.sh oci: profiles, sessions and variables that sign, and what is said where
they do not. No output may hold a secret."""
import os
import pathlib
import sys
import tempfile

from tool import Tool

place = os.environ["MDSTREAM_TEST_URL"] + "/keys"
config = pathlib.Path(os.environ["OCI_CLI_CONFIG_FILE"])
tool = Tool(sys.argv[1], os.environ["MDSTREAM_TEST_SECRETS"], *config.with_name("plain.pem").read_text().splitlines()[1:3])
run = tool.said
endpoint = {name: os.environ[name] for name in ("PATH", "OCI_CLI_ENDPOINT")}


with tempfile.TemporaryDirectory() as name:
    work = pathlib.Path(name)
    (work / "object").write_bytes(b"an object")
    by_file = endpoint | {"OCI_CLI_CONFIG_FILE": str(config), "HOME": name}
    run("copy", work / "object", f"{place}/object", **by_file)

    def fetched(url=f"{place}/object", status=0, **variables):
        return tool.fetched(url, work / "fetched", b"an object", status, **variables)

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

    # A machine's certificate gets tokens, each good for thirty requests here: the others want another, asked for once.
    here = os.environ["OCI_CLI_ENDPOINT"]
    instance = endpoint | {"OCI_CLI_AUTH": "instance_principal", "OCI_METADATA_BASE_URL": f"{here}/opc/v2", "HOME": "/nonexistent",
                           "OCI_SDK_AUTH_CLIENT_REGION_URL": here}
    fetched(**instance)
    tool.copy_many(work, place, **instance)
    said = fetched(status=1, **instance | {"OCI_METADATA_BASE_URL": f"{here}/opc/v2/none"})
    assert "the instance principal is not known" in said and "404" in said, said
    said = fetched(status=1, **instance | {"OCI_METADATA_BASE_URL": here.replace("//", "//hush:hush@") + "/opc/v2/broken"})
    assert "no certificate in PEM" in said and f"{here}/opc/v2/broken/identity/" in said, said
    said = fetched(status=1, **instance | {"OCI_SDK_AUTH_CLIENT_REGION_URL": f"{here}/elsewhere"})
    assert "401 NotAuthenticated" in said and "/elsewhere/v1/x509" in said, said

    # What a service of OCI gives to what runs in it: values, or the files that have them.
    resource = endpoint | {"OCI_RESOURCE_PRINCIPAL_VERSION": "2.2", "HOME": "/nonexistent"}
    key = config.with_name("key.pem")
    (work / "phrase").write_text("hush of the pass phrase #1")
    (work / "phrase").chmod(0o600)
    fetched(**resource | {"OCI_RESOURCE_PRINCIPAL_RPST": str(config.with_name("token")), "OCI_RESOURCE_PRINCIPAL_PRIVATE_PEM": str(key),
                          "OCI_RESOURCE_PRINCIPAL_PRIVATE_PEM_PASSPHRASE": str(work / "phrase")})
    by_value = resource | {"OCI_RESOURCE_PRINCIPAL_RPST": "hush-of-the-session",
                           "OCI_RESOURCE_PRINCIPAL_PRIVATE_PEM": config.with_name("plain.pem").read_text()}
    fetched(**by_value)
    said = fetched(status=1, **by_value | {"OCI_RESOURCE_PRINCIPAL_RPST": "hush-of-another"})
    assert "401" in said and "the resource principal" in said, said
    said = fetched(status=1, **by_value | {"OCI_RESOURCE_PRINCIPAL_RPST": "/nonexistent"})
    assert "OCI_RESOURCE_PRINCIPAL_RPST" in said and "/nonexistent" in said, said
    for version in ("1.1", "2.1.1", "3.0"):
        said = fetched(status=1, **by_value | {"OCI_RESOURCE_PRINCIPAL_VERSION": version})
        assert f"is {version}, but" in said and "2.2" in said and "instance_principal" in said, said

    # A listing may be behind what was written. What an index names is read all the same, and a copy goes on later.
    late = place + "/late"
    rows = "".join('{"x": "row %d"}\n' % i for i in range(12))
    tool.here("write", "--out", f"{late}/a", "--column", "x=str", "--size-limit", "100", stdin=rows)
    assert len(tool.digests(work, f"{late}/a", "cache")) == 3
    assert "404" in tool.here("copy", f"{late}/a", work / "late", status=1)
    for copied in (14, 0):
        assert f'"copied":{copied},' in tool.here("copy", f"{late}/a", work / "late")
    for copied in (14, 0):  # so few are looked at, and not listed
        assert f'"copied":{copied},' in tool.here("copy", work / "late", f"{late}/b")
    tool.here("verify", f"{late}/b", "--all")

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
    assert "may be read by everybody" in said and "key.pem" in said and f"{config} holds" not in said, said
    config.chmod(0o644)  # it has the key's pass phrase
    assert f"{config} holds credentials and may be read by everybody" in fetched(**by_file)
