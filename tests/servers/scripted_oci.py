#!/usr/bin/env python3
"""scripted_oci.py DIRECTORY [SECONDS]: a server that speaks the published Object Storage API of Oracle Cloud
Infrastructure, with the bucket `test` of the namespace `testns`. Makes in DIRECTORY an API key with a pass phrase, a
`config` with its profile and with that of a session, and, when it listens, `port`. `requests` there gets a line for
each kind of request that was let in, names of objects and uploads left out. It is the metadata service of a machine,
too, and the service that gives tokens for the machine's certificate, each good for thirty requests; both are too busy
at first.

It says no as the service does: every request has to be signed by the key, within five minutes of the server's clock,
which goes SECONDS ahead of the machine's; buckets that are not there are 404. A part of an upload, and every fifth
shard, is answered 429 at first. Listings come in pages of three, and those of `late/` are behind: they have what was
there when they were asked for last.
"""
import base64
import email.utils
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import threading
import time
import urllib.parse
import uuid

import scripted

work = pathlib.Path(sys.argv[1])
ahead = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
pass_phrase, session_token = "hush of the pass phrase #1", "hush-of-the-session"
who = {"tenancy": "ocid1.tenancy.oc1..test", "user": "ocid1.user.oc1..test", "fingerprint": ":".join(["20"] * 16)}
objects, uploads, refused = {}, {}, set()
known = {}  # by the prefix of a listing that is behind: what the next one has
machine, sessions = {}, {}  # what its metadata service says; of a token: whose key signs with it, how often it may
lock = threading.Lock()
shards = 0


def openssl(*words):
    return subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, text=True).stdout


def make_keys():
    """By the ids that sign, the modulus of the key; its exponent is 65537."""
    plain, key, other = work / "plain.pem", work / "key.pem", work / "other.pem"
    openssl("genrsa", "-out", plain, "2048")
    openssl("rsa", "-aes256", "-passout", f"pass:{pass_phrase}", "-in", plain, "-out", key)
    openssl("genrsa", "-out", other, "2048")
    (work / "token").write_text(session_token + "\n")
    settings = "".join(f"{name} = {value}\n" for name, value in who.items())
    (work / "config").write_text(
        f"[DEFAULT]\n{settings}key_file = {key}\npass_phrase = {pass_phrase}\nregion = phx\n"
        f"[other]\nkey_file = {other}\n[wrong]\npass_phrase = hush that is wrong\n[bad]\nkey_file = {work / 'token'}\n"
        f"[absent]\nkey_file = /nonexistent\n")
    (work / "session").write_text(
        f"[DEFAULT]\ntenancy = {who['tenancy']}\nkey_file = {plain}\nsecurity_token_file = {work / 'token'}\nregion = phx\n")
    for each in (plain, key, other, work / "token", work / "config"):
        each.chmod(0o600)
    for name, subject in (("leaf", f"/OU=opc-tenant:{who['tenancy']}/CN=machine"), ("above", "/CN=above")):
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", subject, "-keyout", work / f"{name}.key",
                "-out", work / f"{name}.pem")
    fingerprint = openssl("x509", "-in", work / "leaf.pem", "-noout", "-fingerprint", "-sha1").strip().partition("=")[2]
    machine.update({"instance/region": "phx\n", "identity/cert.pem": (work / "leaf.pem").read_text(),
                    "identity/key.pem": (work / "leaf.key").read_text(),
                    "identity/intermediate.pem": (work / "above.pem").read_text()})
    machine.update({f"broken/{name}": text for name, text in machine.items()} | {"broken/identity/cert.pem": "no certificate"})
    return {"/".join(who.values()): modulus_of(plain), f"ST${session_token}": modulus_of(plain),
            f"{who['tenancy']}/fed-x509/{fingerprint}": modulus_of(work / "leaf.key")}


def modulus_of(key, *words):
    return int(openssl("rsa", "-in", key, "-noout", "-modulus", *words).strip().removeprefix("Modulus="), 16)


def body_of(pem):
    return "".join(line for line in pem.splitlines() if not line.startswith("-----"))


def verifies(text, signature, modulus):
    """RSASSA-PKCS1-v1_5 with SHA-256, RFC 8017."""
    size = (modulus.bit_length() + 7) // 8
    number = int.from_bytes(signature, "big")
    if len(signature) != size or number >= modulus:
        return False
    digest = bytes.fromhex("3031300d060960864801650304020105000420") + hashlib.sha256(text.encode()).digest()
    padded = b"\0\1" + b"\xff" * (size - len(digest) - 3) + b"\0" + digest
    return pow(number, 65537, modulus) == int.from_bytes(padded, "big")


class Service(scripted.Handler):
    out_of_range = {"code": "InvalidRange", "message": ""}

    def date_time_string(self, timestamp=None):
        return email.utils.formatdate(time.time() + ahead, usegmt=True)

    def no(self, status, code, message="", **headers):
        self.answer(status, {"code": code, "message": message}, **headers)

    def is_signed(self):
        """Whether the request is signed by a key that it names, and its body where that has to be."""
        said = dict(re.findall(r'(\w+)="([^"]*)"', self.headers.get("Authorization", "")))
        self.signer = said.get("keyId")
        if said.get("version") != "1" or said.get("algorithm") != "rsa-sha256" or self.signer not in keys:
            return False
        names = said.get("headers", "").split(" ")
        self.signed = " ".join(sorted(names))
        needed = {"date", "(request-target)"} if self.is_federation() else {"date", "(request-target)", "host"}
        if self.command == "POST":
            needed |= {"content-length", "content-type", "x-content-sha256"}
            digest = base64.b64encode(hashlib.sha256(self.body).digest()).decode()
            if self.headers.get("x-content-sha256") != digest:
                return False
        if not needed <= set(names) or (self.is_federation() and needed != set(names)):
            return False
        values = {"(request-target)": f"{self.command.lower()} {self.path}"}
        text = "\n".join(f"{name}: {values.get(name, self.headers.get(name))}" for name in names)
        return verifies(text, base64.b64decode(said.get("signature", "")), keys[self.signer])

    def is_federation(self):
        """Certificates let in where tokens are given, and nowhere else."""
        return self.path == "/v1/x509"

    def metadata(self):
        if self.headers.get("Authorization") != "Bearer Oracle":
            return self.no(401, "NotAuthenticated")
        with lock:
            if self.busy(("metadata", self.path)):
                return
        name = self.path.removeprefix("/opc/v2/")
        self.answer(200, machine[name].encode()) if name in machine else self.no(404, "NotFound")

    def federation(self):
        with lock:
            if self.busy("federation"):
                return
        said = json.loads(self.body)
        chain = body_of(machine["identity/cert.pem"]), [body_of(machine["identity/intermediate.pem"])]
        if (said["certificate"], said["intermediateCertificates"]) != chain or set(said) != {
                "certificate", "intermediateCertificates", "publicKey"}:
            return self.no(400, "InvalidParameter", "not the machine's certificates")
        self.answer(200, {"token": self.new_token(said["publicKey"])})

    def pod(self):
        """What a cluster's proxy gives for the token of a pod's service account."""
        if self.command != "POST" or self.headers.get("Authorization") != "Bearer hush-of-the-pod":
            return self.no(403, "NotAuthorized")
        said = json.loads(self.body)
        assert set(said) == {"podKey"}, said
        inner = json.dumps({"token": f"ST${self.new_token(said['podKey'])}"})
        self.answer(200, json.dumps(base64.b64encode(inner.encode()).decode()).encode())

    @staticmethod
    def new_token(public_key):
        """For who signs by the other half of this key: good for thirty requests."""
        public = work / "session.der"
        with lock:
            public.write_bytes(base64.b64decode(public_key, validate=True))
            claims = {"exp": int(time.time() + ahead) + 3600, "number": len(keys)}
            token = ".".join(base64.urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=")
                             for each in ({"alg": "RS256"}, claims, "hush"))
            keys[f"ST${token}"] = modulus_of(public, "-pubin", "-inform", "DER")
            sessions[f"ST${token}"] = 30
        return token

    def is_spent(self):
        """Of a token that was given for a certificate or a pod."""
        with lock:
            if self.signer in sessions:
                sessions[self.signer] -= 1
                return sessions[self.signer] < 0
        return False

    def handle_one(self):
        self.body = self.read_body()
        if self.path.startswith("/opc/v2/"):
            return self.metadata()
        if self.path == "/resourcePrincipalSessionTokens":
            return self.pod()
        if not self.is_signed() or ("fed-x509" in self.signer) != self.is_federation() or self.is_spent():
            said = f"The required information is missing or wrong: {self.headers.get('Authorization')}"
            return self.no(401, "NotAuthenticated", said)
        date = email.utils.parsedate_to_datetime(self.headers["Date"]).timestamp()
        if abs(date - time.time() - ahead) > 300:
            return self.no(401, "NotAuthenticated", "Date is outside of the permitted clock skew")
        if self.is_federation():
            return self.federation()
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
        if self.command == "PUT" and base64.b64encode(hashlib.md5(self.body).digest()).decode() != self.headers["Content-MD5"]:
            return self.no(400, "UnmatchedContentMD5", "every part and object comes with the MD5 of its bytes here")
        with lock:
            return self.upload(name, query) if kind == "u" else self.object(name, query)

    def note(self, path, query):
        for each in query:
            if each in ("prefix", "start", "uploadId", "uploadPartNum"):
                query = query | {each: "{}"}
        conditions = [name for name in ("If-Match", "If-None-Match", "Range") if name in self.headers]
        scripted.note(work, self.command, path, "&".join(f"{k}={query[k]}" for k in sorted(query)), ",".join(conditions), "signs",
                      self.signed)

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
        self.answer_range(body, ETag=tag)

    def listing(self, query):
        prefix = query.get("prefix", "")
        now = [key for key in sorted(objects) if key.startswith(prefix)]
        if "/late/" in prefix and "start" not in query:
            known[prefix], now = now, known.get(prefix, [])
        keys = [key for key in now if key >= query.get("start", "")]
        limit = min(int(query.get("limit", 1000)), 3)
        fields = query.get("fields", "name").split(",")
        shown = [{k: v for k, v in {"name": key, "size": len(objects[key][0]) if key in objects else 0, "etag": objects[key][1] if key in objects else ""}.items() if k in fields} for key in keys[:limit]]
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


keys = make_keys()
scripted.serve(Service, work)
