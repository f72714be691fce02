#!/usr/bin/env python3
"""oci_test.py MDSTREAM, under tests/servers/with.sh oci: profiles, sessions and variables that sign, and what is said where
they do not. No output may hold a secret."""
import contextlib
import os
import pathlib
import socket
import socketserver
import ssl
import subprocess
import sys
import tempfile
import threading
import urllib.parse

from tool import Tool

base_url = os.environ["MDSTREAM_TEST_URL"] + "/keys"
config = pathlib.Path(os.environ["OCI_CLI_CONFIG_FILE"])
tool = Tool(sys.argv[1], os.environ["MDSTREAM_TEST_SECRETS"], *config.with_name("plain.pem").read_text().splitlines()[1:3])
run = tool.said
endpoint = {name: os.environ[name] for name in ("PATH", "OCI_CLI_ENDPOINT")}


class Cluster(socketserver.StreamRequestHandler):
    """A cluster's proxy: TLS, behind which the scripted server is."""
    context = None

    def handle(self):
        with contextlib.suppress(OSError), self.context.wrap_socket(self.connection, server_side=True) as inside:
            request = inside.recv(65536)
            head, _, body = request.partition(b"\r\n\r\n")
            size = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
            while len(body) < size:
                body += inside.recv(65536)
            url = urllib.parse.urlsplit(os.environ["OCI_CLI_ENDPOINT"])
            with socket.create_connection((url.hostname, url.port)) as service:
                service.sendall(head + b"\r\nConnection: close\r\n\r\n" + body)
                while answer := service.recv(65536):
                    inside.sendall(answer)


@contextlib.contextmanager
def cluster(work):
    """Its address, which is this process's own, because its port is 12250 wherever it is; certificates in `work`."""
    address = f"127.{1 + os.getpid() // 250 % 250}.{1 + os.getpid() % 250}.1"
    (work / "names").write_text(f"subjectAltName=IP:{address}\n")
    for words in (("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=cluster", "-keyout", work / "ca.key", "-out", work / "ca.crt"),
                  ("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=proxy", "-keyout", work / "proxy.key", "-out", work / "request"),
                  ("x509", "-req", "-in", work / "request", "-CA", work / "ca.crt", "-CAkey", work / "ca.key", "-CAcreateserial",
                   "-extfile", work / "names", "-out", work / "proxy.crt")):
        subprocess.run(["openssl", *words], check=True, stderr=subprocess.DEVNULL)
    Cluster.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    Cluster.context.load_cert_chain(work / "proxy.crt", work / "proxy.key")
    with socketserver.ThreadingTCPServer((address, 12250), Cluster) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield address
        server.shutdown()


with tempfile.TemporaryDirectory() as name:
    work = pathlib.Path(name)
    (work / "object").write_bytes(b"an object")
    by_file = endpoint | {"OCI_CLI_CONFIG_FILE": str(config), "HOME": name}
    run("copy", work / "object", f"{base_url}/object", **by_file)

    def fetched(url=f"{base_url}/object", status=0, **variables):
        return tool.fetched(url, work / "fetched", b"an object", status, **variables)

    # The namespace may stand in the URL, a session's profile in place of a user's, variables in place of a profile.
    fetched(base_url.replace("//test", "//test@testns") + "/object", **by_file)
    fetched(**by_file | {"OCI_CLI_CONFIG_FILE": str(config.with_name("session"))})
    (work / ".oci").mkdir()
    (work / ".oci" / "config").write_text(config.read_text())
    fetched(**endpoint | {"HOME": name})
    settings = dict(line.split(" = ") for line in config.read_text().splitlines()[1:4])
    by_variables = endpoint | {"HOME": "/nonexistent", "OCI_CLI_KEY_CONTENT": config.with_name("plain.pem").read_text()} | {
        f"OCI_CLI_{setting.upper()}": value for setting, value in settings.items()}
    fetched(**by_variables)

    # A machine's certificate gets tokens, each good for thirty requests here: the others want another, asked for once.
    endpoint_url = os.environ["OCI_CLI_ENDPOINT"]
    instance = endpoint | {"OCI_CLI_AUTH": "instance_principal", "OCI_METADATA_BASE_URL": f"{endpoint_url}/opc/v2", "HOME": "/nonexistent",
                           "OCI_SDK_AUTH_CLIENT_REGION_URL": endpoint_url}
    fetched(**instance)
    tool.copy_many(work, base_url, **instance)
    said = fetched(status=1, **instance | {"OCI_METADATA_BASE_URL": f"{endpoint_url}/opc/v2/none"})
    assert "the instance principal is not known" in said and "404" in said, said
    said = fetched(status=1, **instance | {"OCI_METADATA_BASE_URL": endpoint_url.replace("//", "//hush:hush@") + "/opc/v2/broken"})
    assert "no certificate in PEM" in said and f"{endpoint_url}/opc/v2/broken/identity/" in said, said
    said = fetched(status=1, **instance | {"OCI_SDK_AUTH_CLIENT_REGION_URL": f"{endpoint_url}/elsewhere"})
    assert "401 NotAuthenticated" in said and "/elsewhere/v1/x509" in said, said

    # A pod's token is exchanged by its cluster, whose own certificates alone are trusted; no proxy is asked.
    (work / "pod").write_text("hush-of-the-pod\n")
    (work / "pod").chmod(0o600)
    with cluster(work) as address:
        pod = endpoint | {"OCI_CLI_AUTH": "oke_workload_identity", "HOME": "/nonexistent", "KUBERNETES_SERVICE_HOST": address,
                          "OCI_KUBERNETES_SERVICE_ACCOUNT_TOKEN_PATH": str(work / "pod"), "https_proxy": "http://127.0.0.1:1",
                          "OCI_KUBERNETES_SERVICE_ACCOUNT_CERT_PATH": str(work / "ca.crt")}
        fetched(**pod)
        (work / "of-pod").mkdir()
        tool.copy_many(work / "of-pod", f"{base_url}/pod", **pod)  # more than one token is good for
        said = fetched(status=1, **pod | {"OCI_KUBERNETES_SERVICE_ACCOUNT_CERT_PATH": str(config.with_name("leaf.pem"))})
        assert "the workload identity of this pod is not known" in said and "certificate" in said, said
        (work / "pod").write_text("hush-of-another\n")
        said = fetched(status=1, **pod)
        assert "answers 403" in said and "enhanced" in said, said
        said = fetched(status=1, **pod | {"OCI_KUBERNETES_SERVICE_ACCOUNT_TOKEN_PATH": "/nonexistent"})
        assert "no token of a service account" in said and "/nonexistent" in said, said
    said = fetched(status=1, **endpoint | {"OCI_CLI_AUTH": "oke_workload_identity", "HOME": "/nonexistent"})
    assert "KUBERNETES_SERVICE_HOST is not set" in said, said

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
    late = base_url + "/late"
    rows = "".join('{"x": "row %d"}\n' % i for i in range(12))
    tool.output("write", "--out", f"{late}/a", "--column", "x=str", "--size-limit", "100", stdin=rows)
    assert len(tool.digests(work, f"{late}/a", "cache")) == 3
    assert "404" in tool.output("copy", f"{late}/a", work / "late", status=1)
    for copied in (14, 0):
        assert f'"copied":{copied},' in tool.output("copy", f"{late}/a", work / "late")
    for copied in (14, 0):  # so few are looked at, and not listed
        assert f'"copied":{copied},' in tool.output("copy", work / "late", f"{late}/b")
    tool.output("verify", f"{late}/b", "--all")

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
