#!/usr/bin/env python3
"""first_hour.py MDSTREAM [--update]: what users see in an unhappy first hour. Makes each mistake of the table in
docs/troubleshooting.md with the command line, and compares the message with the table's, word for word. --update writes
the messages into the table. Runs in a network of its own, where no name resolves; needs root."""
import argparse
import contextlib
import ctypes
import fcntl
import http.server
import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading

page = pathlib.Path(__file__).resolve().parents[2] / "docs" / "troubleshooting.md"
golden = pathlib.Path(__file__).resolve().parents[1] / "golden" / "mds"
secret = "hushAboutThis"
keys = {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": secret}


def own_network():
    """A network with a loopback and nothing else, and mounts of this test's own."""
    libc = ctypes.CDLL(None, use_errno=True)
    new_net, new_mounts, recursive, private = 0x40000000, 0x00020000, 0x4000, 1 << 18
    if libc.unshare(new_net | new_mounts) != 0 or libc.mount(b"none", b"/", None, recursive | private, None) != 0:
        print("skipped: no network of its own:", os.strerror(ctypes.get_errno()))
        sys.exit(77)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh14x", b"lo", 0x1 | 0x40)  # up, running
        fcntl.ioctl(control, 0x8914, request)


class Setting:
    """Where one mistake is made: a directory, the tool, servers."""

    def __init__(self, program, work):
        self.program, self.work, self.ports = program, work, {}

    def error(self, *words, status=1, before=(), **variables):
        """The error that the command prints with these variables alone, without its first words."""
        env = {"HOME": str(self.work), "AWS_EC2_METADATA_DISABLED": "true", "NO_GCE_CHECK": "true"} | variables
        done = subprocess.run([*before, self.program, *map(str, words)], env=env, text=True, capture_output=True, timeout=120)
        begin = "mdstream: error: "
        assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
        assert secret not in done.stdout + done.stderr, (words, done.stderr)
        lines = [line for line in done.stderr.splitlines() if line.startswith(begin)]
        assert len(lines) == 1, (words, done.stderr)
        return self.plain(lines[0][len(begin):])

    def plain(self, text):
        """The same wherever and whenever it is said."""
        for port, name in self.ports.items():
            text = text.replace(f"127.0.0.1:{port}", name)
        return text.replace(str(self.work), "/data")

    def streamed(self, status=1, before=(), variables=(), **config):
        """The error of a training run with this configuration."""
        (self.work / "run.json").write_text(json.dumps({"batch_size": 4} | config))
        return self.error("stream", "--config", self.work / "run.json", "--patience", 0, status=status, before=before, **dict(variables))

    def dataset(self, name="dataset", of="text_default"):
        shutil.copytree(golden / of / "data", self.work / name)
        return self.work / name

    def file(self, name, text):
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    @contextlib.contextmanager
    def server(self, status, body="", tls=None, name="storage.example:9000", **headers):
        """Answers every request alike. Its address reads `name` in messages."""

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(status)
                for key, value in headers.items():
                    self.send_header(key.replace("_", "-"), value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body.encode())

            do_GET = do_HEAD = do_PUT = do_POST = do_CONNECT = answer

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                pass  # clients that do not trust it go away

        with Server(("127.0.0.1", 0), Handler) as server:
            if tls:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(*tls)
                server.socket = context.wrap_socket(server.socket, server_side=True)
            self.ports[server.server_port] = name
            threading.Thread(target=server.serve_forever, daemon=True).start()
            try:
                yield f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}"
            finally:
                server.shutdown()

    def s3(self, status, code, message, url="s3://bucket/c4/index.json", more="", variables=None, **headers):
        """What `cat` says of an S3 server that answers so."""
        body = f"<Error><Code>{code}</Code><Message>{message}</Message>{more}</Error>"
        with self.server(status, body, **headers) as endpoint:
            return self.error("copy", url, self.work / "out", "--patience", 0,
                             **{"S3_ENDPOINT_URL": endpoint, "AWS_REGION": "eu-west-1"} | (keys if variables is None else variables))

    def certificate(self):
        paths = self.work / "cert.pem", self.work / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                        "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", paths[1], "-out", paths[0]],
                       check=True, capture_output=True)
        return paths

    def mounted(self, name, options):
        directory = self.work / name
        directory.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", directory], check=True)
        return directory


mistakes = {}


def mistake(title, by_libcurl=False):
    """Adds what makes one. `by_libcurl`: the message ends with words of libcurl's, which differ between its versions."""

    def add(function):
        mistakes[title] = (lambda setting: re.sub(r"\): .*", "): …", function(setting))) if by_libcurl else function
        return function

    return add


# The network.
@mistake("No DNS, or a name with a typing error", by_libcurl=True)
def _(setting):
    return setting.error("copy", "https://data.exmaple.com/c4/index.json", setting.work / "out", "--patience", 0)


@mistake("Nothing listens there: a wrong port, a firewall that refuses", by_libcurl=True)
def _(setting):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        setting.ports[port] = "storage.example:9000"
        return setting.error("copy", f"http://127.0.0.1:{port}/c4/index.json", setting.work / "out", "--patience", 0)


@mistake("A network without a way out, where a proxy is needed", by_libcurl=True)
def _(setting):
    return setting.error("copy", "https://203.0.113.7/c4/index.json", setting.work / "out", "--patience", 0)


@mistake("The proxy's name is wrong", by_libcurl=True)
def _(setting):
    return setting.error("copy", "https://data.example/c4/index.json", setting.work / "out", "--patience", 0,
                     https_proxy="http://proxy.exmaple:3128")


@mistake("The proxy wants a password", by_libcurl=True)
def _(setting):
    with setting.server(407, name="proxy.example:3128", Proxy_Authenticate="Basic realm=x") as proxy:
        return setting.error("copy", "https://data.example/c4/index.json", setting.work / "out", "--patience", 0, https_proxy=proxy)


@mistake("A certificate that nobody here trusts: a proxy that inspects TLS, a private authority", by_libcurl=True)
def _(setting):
    with setting.server(200, tls=setting.certificate()) as url:
        return setting.error("copy", url + "/c4/index.json", setting.work / "out", "--patience", 0)


@mistake("http where the server speaks https", by_libcurl=True)
def _(setting):
    with setting.server(200, tls=setting.certificate()) as url:
        return setting.error("copy", url.replace("https", "http") + "/c4/index.json", setting.work / "out", "--patience", 0)


@mistake("https where the server speaks http", by_libcurl=True)
def _(setting):
    with setting.server(200) as url:
        return setting.error("copy", url.replace("http", "https") + "/c4/index.json", setting.work / "out", "--patience", 0)


@mistake("A file of authorities that is not there", by_libcurl=True)
def _(setting):
    with setting.server(200, tls=setting.certificate()) as url:
        return setting.error("copy", url + "/c4/index.json", setting.work / "out", "--patience", 0, SSL_CERT_FILE="/etc/ca-of-mine.pem")


# Buckets and keys.
@mistake("No such bucket")
def _(setting):
    return setting.s3(404, "NoSuchBucket", "The specified bucket does not exist")


@mistake("No such object, or a dataset in another place")
def _(setting):
    return setting.s3(404, "NoSuchKey", "The specified key does not exist.")


@mistake("A bucket in another region that does not say which")
def _(setting):
    return setting.s3(301, "PermanentRedirect", "The bucket you are attempting to access must be addressed using the specified endpoint.")


@mistake("Credentials without the right to read here")
def _(setting):
    return setting.s3(403, "AccessDenied", "Access Denied")


@mistake("No credentials at all")
def _(setting):
    return setting.s3(403, "AccessDenied", "Access Denied", variables={})


@mistake("Credentials that the service does not know")
def _(setting):
    return setting.s3(403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.")


@mistake("A wrong secret")
def _(setting):
    return setting.s3(403, "SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided.")


@mistake("An expired token")
def _(setting):
    return setting.s3(400, "ExpiredToken", "The provided token has expired.", variables=keys | {"AWS_SESSION_TOKEN": secret})


@mistake("This machine's clock is off, and the server's date does not help")
def _(setting):
    return setting.s3(403, "RequestTimeTooSkewed", "The difference between the request time and the current time is too large.")


@mistake("A profile that is not in ~/.aws")
def _(setting):
    setting.file(".aws/credentials", f"[default]\naws_access_key_id = a\naws_secret_access_key = {secret}\n")
    return setting.error("copy", "s3://bucket/c4/index.json", setting.work / "out", "--patience", 0, AWS_PROFILE="trainnig")


@mistake("A file of Google credentials that is something else")
def _(setting):
    key = setting.file("key.json", f"private_key: {secret}\n")
    return setting.error("copy", "gs://bucket/c4/index.json", setting.work / "out", "--patience", 0, GOOGLE_APPLICATION_CREDENTIALS=str(key))


@mistake("A file of Google credentials that is not there")
def _(setting):
    return setting.error("copy", "gs://bucket/c4/index.json", setting.work / "out", "--patience", 0,
                     GOOGLE_APPLICATION_CREDENTIALS="/etc/google/key.json")


@mistake("An Azure account key that was cut off when it was copied")
def _(setting):
    return setting.error("copy", "azure://account.blob.core.windows.net/box/c4/index.json", setting.work / "out", "--patience", 0,
                     AZURE_ACCOUNT_NAME="account", AZURE_ACCOUNT_ACCESS_KEY=secret + "!")


@mistake("An Azure signed query that has expired")
def _(setting):
    body = "<Error><Code>AuthenticationFailed</Code><Message>Server failed to authenticate the request.</Message></Error>"
    with setting.server(403, body) as endpoint:
        text = f"AccountName=account;BlobEndpoint={endpoint};SharedAccessSignature=sv=2020-08-04&se=2021-01-01&sig={secret}"
        return setting.error("copy", "azure://box/c4/index.json", setting.work / "out", "--patience", 0, AZURE_STORAGE_CONNECTION_STRING=text)


@mistake("A private dataset of the Hub without a token")
def _(setting):
    with setting.server(401, '{"error":"Repository Not Found"}', X_Error_Code="RepoNotFound",
                     X_Error_Message="Repository Not Found") as endpoint:
        return setting.error("copy", "hf://datasets/org/name/c4/index.json", setting.work / "out", "--patience", 0, HF_ENDPOINT=endpoint)


@mistake("Databricks without a workspace")
def _(setting):
    return setting.error("copy", "dbfs:/Volumes/main/a/b/index.json", setting.work / "out", "--patience", 0, DATABRICKS_TOKEN=secret)


@mistake("OCI without a region")
def _(setting):
    return setting.error("copy", "oci://bucket@namespace/c4/index.json", setting.work / "out", "--patience", 0)


@mistake("A scheme that is not known")
def _(setting):
    return setting.error("copy", "gcs://bucket/c4/index.json", setting.work / "out", "--patience", 0)


# The dataset.
@mistake("No such split")
def _(setting):
    return setting.streamed(local=str(setting.work / "cache"), remote=str(setting.dataset()), split="vaildation")


@mistake("A directory that is no dataset")
def _(setting):
    (setting.work / "papers").mkdir()
    return setting.streamed(local=str(setting.work / "papers"))


@mistake("A shard that was damaged on its way or on the disk")
def _(setting):
    data = setting.dataset(of="all_hashes")
    shard = sorted(data.glob("shard.*"))[0]
    bytes_ = bytearray(shard.read_bytes())
    bytes_[len(bytes_) // 2] ^= 1
    shard.write_bytes(bytes_)
    return setting.streamed(local=str(setting.work / "cache"), remote=str(data))


# The cache.
@mistake("A cache on a disk that may not be written")
def _(setting):
    directory = setting.mounted("nvme", "size=1m,mode=755,ro")
    return setting.streamed(local=str(directory / "cache"), remote=str(setting.dataset()))


@mistake("A cache that holds another dataset")
def _(setting):
    first, second = setting.dataset("first"), setting.dataset("second", "encodings_all")
    config = {"local": str(setting.work / "cache"), "remote": str(first), "batch_size": 4}
    setting.file("first.json", json.dumps(config))
    subprocess.run([setting.program, "stream", "--config", setting.work / "first.json"], check=True, capture_output=True)
    return setting.streamed(local=str(setting.work / "cache"), remote=str(second))


@mistake("A full disk")
def _(setting):
    directory = setting.mounted("nvme", "size=16k,mode=755")
    return setting.streamed(local=str(directory / "cache"), remote=str(setting.dataset()))


@mistake("A cache limit below the largest shard")
def _(setting):
    return setting.streamed(local=str(setting.work / "cache"), remote=str(setting.dataset()), cache_limit=100)


# The run.
@mistake("A launcher that names a rank and no world")
def _(setting):
    return setting.streamed(local=str(setting.dataset()), variables={"SLURM_PROCID": "3"})


@mistake("A world of nobody")
def _(setting):
    return setting.streamed(local=str(setting.dataset()), variables={"WORLD_SIZE": "0", "RANK": "0"})


@mistake("A rank beyond the world")
def _(setting):
    return setting.streamed(local=str(setting.dataset()), variables={"WORLD_SIZE": "4", "RANK": "4", "LOCAL_WORLD_SIZE": "4"})


@mistake("A global batch that the ranks cannot share")
def _(setting):
    return setting.streamed(local=str(setting.dataset()), batch_size=None, global_batch_size=6,
                         variables={"WORLD_SIZE": "4", "RANK": "0", "LOCAL_WORLD_SIZE": "4", "LOCAL_RANK": "0"})


@mistake("A batch larger than memory")
def _(setting):
    return setting.streamed(local=str(setting.dataset()), batch_size=10**15)


@mistake("An option with a typing error")
def _(setting):
    return setting.streamed(status=2, local=str(setting.dataset()), bach_size=8)


@mistake("A state of another run")
def _(setting):
    data = setting.dataset()
    config = {"local": str(data), "batch_size": 4, "shuffle": True}
    setting.file("first.json", json.dumps(config))
    subprocess.run([setting.program, "stream", "--config", setting.work / "first.json", "--batches", "1", "--save-state", setting.work / "state"],
                   check=True, capture_output=True)
    setting.file("second.json", json.dumps(config | {"shuffle_seed": 1, "batch_size": 8}))
    return setting.error("stream", "--config", setting.work / "second.json", "--state", setting.work / "state")


def rows():
    """title -> message, of the page."""
    out = {}
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.replace("\\|", "\0").split("|")]
        if len(cells) == 5 and cells[2].startswith("`"):
            out[cells[1]] = cells[2].strip("`").strip().replace("\0", "|")
    return out


def written(messages):
    """The page with these messages in its table; rows that are new lack what to do."""
    lines, seen = [], set()
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.replace("\\|", "\0").split("|")]
        if len(cells) == 5 and cells[1] in messages:
            seen.add(cells[1])
            line = f"| {cells[1]} | {quoted(messages[cells[1]])} | {cells[3]} |".replace("\0", "\\|")
        lines.append(line)
    lines += [f"| {title} | {quoted(text)} |  |" for title, text in messages.items() if title not in seen]
    return "\n".join(lines) + "\n"


def quoted(text):
    marks = "``" if "`" in text else "`"
    return f"{marks}{' ' if len(marks) > 1 else ''}{text}{' ' if len(marks) > 1 else ''}{marks}".replace("|", "\\|")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mdstream")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    own_network()
    messages, failures = {}, 0
    for title, make in mistakes.items():
        if given.only.lower() not in title.lower():
            continue
        with tempfile.TemporaryDirectory() as work:
            try:
                messages[title] = make(Setting(given.mdstream, pathlib.Path(work)))
            except AssertionError as e:
                print(f"{title}:\n  {e}", file=sys.stderr)
                failures += 1
            finally:
                subprocess.run(["umount", "-q", f"{work}/nvme"], capture_output=True)
    if given.update:
        page.write_text(written(messages), encoding="utf-8")
        return failures
    if given.only:
        for title, text in messages.items():
            print(f"{title}\n    {text}")
        return failures
    expected = rows()
    for title in expected.keys() ^ messages.keys():
        print(f"only in the {'page' if title in expected else 'test'}: {title}", file=sys.stderr)
        failures += 1
    for title, text in messages.items():
        if title in expected and expected[title] != text:
            print(f"{title}:\n  the page says  {expected[title]}\n  the program    {text}", file=sys.stderr)
            failures += 1
    print(f"{len(messages) - failures} of {len(mistakes)} messages are those of docs/troubleshooting.md")
    return failures


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
