#!/usr/bin/env python3
"""inspected_test.py MDSTREAM: every store behind a proxy that inspects TLS, as companies have it: it answers CONNECT, shows
a certificate that it signs for the host itself, and reads what it passes on. Here it answers 404 in place of the services. And
which variables lead to a proxy, from which requests."""
import http.server
import os
import pathlib
import socketserver
import ssl
import subprocess
import sys
import tempfile
import threading

from tool import Tool

tool = Tool(sys.argv[1], "hush")
certificates = threading.Lock()


class Proxy(socketserver.StreamRequestHandler):
    work = pathlib.Path()
    connects, requests = [], []
    plain = []  # URLs that it was asked for without TLS

    def handle(self):
        connects, requests = self.connects, self.requests  # of the command that connected
        head = self.read_head(self.rfile)
        verb, target = head[0].split()[:2]
        if verb != "CONNECT":
            self.plain.append(target)
            return self.wfile.write(b"HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n")
        host = target.rsplit(":", 1)[0]
        connects.append(host)
        self.wfile.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.certificate_of(host))
        try:
            inside = context.wrap_socket(self.connection, server_side=True)
        except OSError:  # the client does not trust it
            return
        with inside, inside.makefile("rb") as lines:
            while head := self.read_head(lines):
                requests.append((host, head))
                inside.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")

    def read_head(self, lines):
        out = []
        try:
            while line := lines.readline().rstrip(b"\r\n"):
                out.append(line.decode())
        except OSError:
            return []
        return out

    def certificate_of(self, host):
        certificate, key = (self.work / f"{host}.{kind}" for kind in ("pem", "key"))
        with certificates:
            if not certificate.exists():
                openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=inspected",
                        "-keyout", key, "-out", self.work / "request")
                (self.work / "names").write_text(f"subjectAltName=DNS:{host}\n")
                openssl("x509", "-req", "-in", self.work / "request", "-CA", self.work / "ca.pem", "-CAkey", self.work / "ca.key",
                        "-CAcreateserial", "-days", "2", "-extfile", self.work / "names", "-out", certificate)
        return certificate, key


def openssl(*words):
    return subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, text=True).stdout


stores = {
    "https://data.example/x": ("data.example", {}),
    "s3://box/x": ("box.s3.eu-west-1.amazonaws.com",
                   {"AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "hush", "AWS_REGION": "eu-west-1"}),
    "azure://acct.blob.core.windows.net/box/x": ("acct.blob.core.windows.net", {"AZURE_STORAGE_SAS_TOKEN": "sig=hush"}),
    "gs://box/x": ("storage.googleapis.com", {"NO_GCE_CHECK": "true"}),
    "hf://datasets/o/n/x": ("huggingface.co", {"HF_TOKEN": "hush"}),
    "dbfs:/Volumes/a/b/c/x": ("dbc.cloud.databricks.com",
                              {"DATABRICKS_HOST": "https://dbc.cloud.databricks.com", "DATABRICKS_TOKEN": "hush"}),
    "oci://box@ns/x": ("objectstorage.eu-frankfurt-1.oraclecloud.com", {"OCI_CLI_REGION": "eu-frankfurt-1"}),
}


class Direct(http.server.BaseHTTPRequestHandler):
    """A server that is reached without a proxy: a host's, and the metadata services of clouds."""
    asked = []

    def do_GET(self):
        self.asked.append(self.path)
        self.send_error(404)

    do_HEAD = do_PUT = do_POST = do_GET

    def log_message(self, *words):
        pass


def look(work, url, variables, **trust):
    """What is said of the copy of an object, the hosts that were asked for, and the requests that came."""
    Proxy.connects, Proxy.requests = [], []
    Proxy.plain.clear()
    Direct.asked.clear()
    said = tool.said("copy", url, work / "copied", status=1, PATH=os.environ["PATH"], HOME=str(work), **variables, **trust)
    return said, set(Proxy.connects), Proxy.requests


def check_which(work, proxy, direct):
    """Which of the variables count for which URL."""
    host = direct.removeprefix("http://").rsplit(":", 1)[0]
    dead = "http://127.0.0.1:1"
    for variables in ({"http_proxy": proxy}, {"all_proxy": proxy}, {"http_proxy": proxy, "https_proxy": dead},
                      {"http_proxy": proxy, "all_proxy": dead}, {"all_proxy": proxy, "no_proxy": "data.example"}):
        look(work, f"{direct}/x", variables)
        assert set(Proxy.plain) == {f"{direct}/x"} and not Direct.asked, (variables, Proxy.plain, Direct.asked)
    for variables in ({"https_proxy": proxy}, {"http_proxy": proxy, "all_proxy": proxy, "no_proxy": f"data.example,{host}"},
                      {"http_proxy": proxy, "no_proxy": "*"}):
        look(work, f"{direct}/x", variables)
        assert set(Direct.asked) == {"/x"} and not Proxy.plain, (variables, Proxy.plain, Direct.asked)
    for variables in ({"all_proxy": proxy}, {"all_proxy": proxy, "http_proxy": dead}, {"https_proxy": proxy, "all_proxy": dead},
                      {"https_proxy": proxy, "no_proxy": "other.example"}):
        look(work, "https://data.example/x", variables)
        assert set(Proxy.connects) == {"data.example"}, (variables, Proxy.connects)


def check_metadata(work, proxy, direct):
    """The metadata services of clouds are asked without a proxy, whatever is set."""
    for url, path, variables in (
            ("s3://box/x", "/latest/", {"AWS_EC2_METADATA_SERVICE_ENDPOINT": direct, "AWS_REGION": "eu-west-1"}),
            ("gs://box/x", "/computeMetadata/", {"GCE_METADATA_HOST": direct.removeprefix("http://")}),
            ("azure://acct.blob.core.windows.net/box/x", "/metadata/identity", {"AZURE_POD_IDENTITY_AUTHORITY_HOST": direct}),
            ("oci://box@ns/x", "/opc/v2", {"OCI_CLI_AUTH": "instance_principal", "OCI_METADATA_BASE_URL": f"{direct}/opc/v2",
                                           "OCI_CLI_REGION": "eu-frankfurt-1"})):
        look(work, url, {"http_proxy": proxy, "https_proxy": proxy, "all_proxy": proxy} | variables)
        assert any(each.startswith(path) for each in Direct.asked) and not Proxy.plain, (url, Direct.asked, Proxy.plain)


with tempfile.TemporaryDirectory() as name, socketserver.ThreadingTCPServer(("127.0.0.1", 0), Proxy) as server, \
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), Direct) as direct:
    server.daemon_threads = True
    work = Proxy.work = pathlib.Path(name)
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-subj", "/CN=the company", "-keyout", work / "ca.key", "-out", work / "ca.pem")
    (work / "trusted").mkdir()
    (work / "trusted" / (openssl("x509", "-hash", "-noout", "-in", work / "ca.pem").strip() + ".0")).symlink_to(work / "ca.pem")
    for each in (server, direct):
        threading.Thread(target=each.serve_forever, daemon=True).start()
    proxy_url = f"http://127.0.0.1:{server.server_address[1]}"
    for url, (host, variables) in stores.items():
        variables = {"https_proxy": proxy_url, **variables}
        said, connects, requests = look(work, url, variables)
        assert "certificate is not trusted" in said and "SSL_CERT_FILE" in said, (url, said)
        assert connects == {host} and not requests, (url, connects, requests)
        for trust in ({"SSL_CERT_FILE": work / "ca.pem"}, {"CURL_CA_BUNDLE": work / "ca.pem", "SSL_CERT_FILE": "/nonexistent"},
                      {"REQUESTS_CA_BUNDLE": work / "ca.pem"}, {"SSL_CERT_DIR": work / "trusted"}):
            said, connects, requests = look(work, url, variables, **{each: str(at) for each, at in trust.items()})
            assert "404" in said and connects == {host}, (url, trust, said, connects)
            assert {at for at, _ in requests} == {host}, (url, requests)
        if "HF_TOKEN" in variables:
            assert any("Authorization: Bearer hush" in head for _, head in requests), requests
    said = look(work, "s3://box/x", {"https_proxy": proxy_url, **stores["s3://box/x"][1]}, AWS_CA_BUNDLE=str(work / "ca.pem"))[0]
    assert "404" in said, said
    direct_url = f"http://127.0.0.1:{direct.server_address[1]}"
    check_which(work, proxy_url, direct_url)
    check_metadata(work, proxy_url, direct_url)
    server.shutdown()
    direct.shutdown()
