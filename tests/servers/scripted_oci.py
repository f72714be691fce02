#!/usr/bin/env python3
"""scripted_oci.py DIRECTORY [SECONDS]: a server that speaks the published Object Storage API of Oracle Cloud
Infrastructure, with the bucket `test` of the namespace `testns`. Makes in DIRECTORY an API key with a pass phrase, a
`config` with its profile and with that of a session, and, when it listens, `port`. `requests` there gets a line for
each kind of request that was let in, names of objects and uploads left out.

It says no as the service does: every request has to be signed by the key, within five minutes of the server's clock,
which goes SECONDS ahead of the machine's; buckets that are not there are 404. A part of an upload, and every fifth
shard, is answered 429 at first. Listings come in pages of three.
"""
import base64
import email.utils
import hashlib
import http.server
import json
import pathlib
import re
import subprocess
import sys
import threading
import time
import urllib.parse
import uuid

here = pathlib.Path(sys.argv[1])
ahead = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
pass_phrase, session_token = "hush of the pass phrase #1", "hush-of-the-session"
who = {"tenancy": "ocid1.tenancy.oc1..test", "user": "ocid1.user.oc1..test", "fingerprint": ":".join(["20"] * 16)}
objects, uploads, refused = {}, {}, set()
lock = threading.Lock()
shards = 0


def openssl(*words):
    return subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, text=True).stdout


def make_keys():
    """The modulus of the key; its exponent is 65537."""
    plain, key, other = here / "plain.pem", here / "key.pem", here / "other.pem"
    openssl("genrsa", "-out", plain, "2048")
    openssl("rsa", "-aes256", "-passout", f"pass:{pass_phrase}", "-in", plain, "-out", key)
    openssl("genrsa", "-out", other, "2048")
    (here / "token").write_text(session_token + "\n")
    settings = "".join(f"{name} = {value}\n" for name, value in who.items())
    (here / "config").write_text(
        f"[DEFAULT]\n{settings}key_file = {key}\npass_phrase = {pass_phrase}\nregion = phx\n"
        f"[other]\nkey_file = {other}\n[wrong]\npass_phrase = hush that is wrong\n[bad]\nkey_file = {here / 'token'}\n"
        f"[absent]\nkey_file = /nonexistent\n")
    (here / "session").write_text(
        f"[DEFAULT]\ntenancy = {who['tenancy']}\nkey_file = {plain}\nsecurity_token_file = {here / 'token'}\nregion = phx\n")
    for each in (plain, key, other, here / "token"):
        each.chmod(0o600)
    return int(openssl("rsa", "-in", plain, "-noout", "-modulus").strip().removeprefix("Modulus="), 16)


def verifies(text, signature):
    """RSASSA-PKCS1-v1_5 with SHA-256, RFC 8017."""
    size = (modulus.bit_length() + 7) // 8
    number = int.from_bytes(signature, "big")
    if len(signature) != size or number >= modulus:
        return False
    digest = bytes.fromhex("3031300d060960864801650304020105000420") + hashlib.sha256(text.encode()).digest()
    padded = b"\0\1" + b"\xff" * (size - len(digest) - 3) + b"\0" + digest
    return pow(number, 65537, modulus) == int.from_bytes(padded, "big")


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def date_time_string(self, timestamp=None):
        return email.utils.formatdate(time.time() + ahead, usegmt=True)

    def answer(self, status, body=b"", **headers):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def no(self, status, code, message="", **headers):
        self.answer(status, {"code": code, "message": message}, **headers)

    def is_signed(self):
        """Whether the request is signed by the key, and its body where that has to be."""
        said = dict(re.findall(r'(\w+)="([^"]*)"', self.headers.get("Authorization", "")))
        ids = ("/".join(who.values()), f"ST${session_token}")
        if said.get("version") != "1" or said.get("algorithm") != "rsa-sha256" or said.get("keyId") not in ids:
            return False
        names = said.get("headers", "").split(" ")
        self.signed = " ".join(sorted(names))
        needed = {"date", "(request-target)", "host"}
        if self.command == "POST":
            needed |= {"content-length", "content-type", "x-content-sha256"}
            digest = base64.b64encode(hashlib.sha256(self.body).digest()).decode()
            if self.headers.get("x-content-sha256") != digest:
                return False
        if not needed <= set(names):
            return False
        values = {"(request-target)": f"{self.command.lower()} {self.path}"}
        text = "\n".join(f"{name}: {values.get(name, self.headers.get(name))}" for name in names)
        return verifies(text, base64.b64decode(said.get("signature", "")))

    def handle_one(self):
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not self.is_signed():
            said = f"The required information is missing or wrong: {self.headers.get('Authorization')}"
            return self.no(401, "NotAuthenticated", said)
        date = email.utils.parsedate_to_datetime(self.headers["Date"]).timestamp()
        if abs(date - time.time() - ahead) > 300:
            return self.no(401, "NotAuthenticated", "Date is outside of the permitted clock skew")
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        if url.path.rstrip("/") == "/n":
            self.note("/n", {})
            return self.answer(200, "testns")
        found = re.fullmatch(r"/n/([^/]+)/b/([^/]+)/([ou])(?:/([^/]+))?", url.path)
        if not found:
            return self.no(404, "NotFound")
        space, bucket, kind, name = found.groups()
        self.note(f"/n/{{}}/b/{{}}/{kind}" + ("/{}" if name else ""), query)
        if (space, bucket) != ("testns", "test"):
            return self.no(404, "BucketNotFound", f"no bucket {bucket} in {space}")
        name = urllib.parse.unquote(name or "")
        with lock:
            return self.upload(name, query) if kind == "u" else self.object(name, query)

    def note(self, path, query):
        for each in query:
            if each in ("prefix", "start", "uploadId", "uploadPartNum"):
                query = query | {each: "{}"}
        conditions = [name for name in ("If-Match", "If-None-Match", "Range") if name in self.headers]
        words = [self.command, path, "&".join(f"{k}={query[k]}" for k in sorted(query)), ",".join(conditions), "signs", self.signed]
        line = " ".join(filter(None, words))
        with lock, open(here / "requests", "a") as out:
            out.write(line + "\n")

    def busy(self, what):
        """Once for each thing that is asked for."""
        if what in refused:
            return False
        refused.add(what)
        self.no(429, "TooManyRequests", "slow down", Retry_After=0)
        return True

    def forbidden(self, name):
        there = objects.get(name)
        if self.headers.get("If-None-Match") == "*" and there:
            return self.no(412, "IfNoneMatchFailed") or True
        if (tag := self.headers.get("If-Match")) and there and there[1] != tag:
            return self.no(412, "IfMatchFailed") or True
        return False

    def object(self, name, query):
        global shards
        if not name:
            return self.listing(query)
        if self.command == "PUT":
            if not self.forbidden(name):
                objects[name] = (self.body, str(uuid.uuid4()))
                self.answer(200, ETag=objects[name][1])
            return
        if name not in objects:
            return self.no(404, "ObjectNotFound", f"no object {name}")
        if self.forbidden(name):
            return
        if self.command == "DELETE":
            del objects[name]
            return self.answer(204)
        shards += name.endswith(".mds")
        if self.command == "GET" and name.endswith(".mds") and shards % 5 == 1 and self.busy(name):
            return
        body, tag = objects[name]
        wanted = self.headers.get("Range")
        if not wanted or self.command == "HEAD":
            return self.answer(200, body, ETag=tag, Content_Length=len(body))
        first, last = wanted.removeprefix("bytes=").split("-")
        if int(first) >= len(body):
            return self.no(416, "InvalidRange", Content_Range=f"bytes */{len(body)}")
        last = min(int(last), len(body) - 1)
        self.answer(206, body[int(first):last + 1], ETag=tag, Content_Range=f"bytes {first}-{last}/{len(body)}")

    def listing(self, query):
        keys = [key for key in sorted(objects) if key.startswith(query.get("prefix", "")) and key >= query.get("start", "")]
        limit = min(int(query.get("limit", 1000)), 3)
        fields = query.get("fields", "name").split(",")
        shown = [{k: v for k, v in {"name": key, "size": len(objects[key][0])}.items() if k in fields} for key in keys[:limit]]
        self.answer(200, {"objects": shown, "prefixes": []} | ({"nextStartWith": keys[limit]} if keys[limit:] else {}))

    def upload(self, name, query):
        if not name:
            name = json.loads(self.body)["object"]
            if self.forbidden(name):
                return
            upload = f"{uuid.uuid4()}/+="
            uploads[upload] = (name, {})
            return self.answer(200, {"namespace": "testns", "bucket": "test", "object": name, "uploadId": upload})
        kept = uploads.get(query.get("uploadId"))
        if not kept or kept[0] != name:
            return self.no(404, "NoSuchUpload")
        if self.command == "PUT":
            part = int(query["uploadPartNum"])
            if part % 3 == 2 and self.busy((query["uploadId"], part)):
                return
            kept[1][part] = (self.body, str(uuid.uuid4()))
            return self.answer(200, ETag=kept[1][part][1])
        if self.command == "POST":
            if self.forbidden(name):
                return
            parts = json.loads(self.body)["partsToCommit"]
            if any(kept[1].get(each["partNum"], (b"", ""))[1] != each["etag"] for each in parts):
                return self.no(400, "InvalidUploadPart")
            objects[name] = (b"".join(kept[1][each["partNum"]][0] for each in parts), str(uuid.uuid4()))
        del uploads[query["uploadId"]]
        self.answer(200 if self.command == "POST" else 204, **({"ETag": objects[name][1]} if self.command == "POST" else {}))

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_one


modulus = make_keys()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
(here / "port.new").write_text(str(server.server_port))
(here / "port.new").rename(here / "port")
server.serve_forever()
