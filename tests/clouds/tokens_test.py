#!/usr/bin/env python3
"""tokens_test.py MDSTREAM: every way to a token for Google's and Azure's stores, by the command line against a scripted
server that gives out tokens, checks what it is sent for them, and has one object that only the token of the moment reads.

The first token of each way is refused at its first use, as one that was revoked: another has to be asked for, once.
"""
import base64
import email.utils
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from tool import Tool

sys.path.append(str(pathlib.Path(__file__).parents[1] / "servers"))
import scripted

tool = Tool(sys.argv[1], "hush-client", "hush-login", "hush-cached", "hush-workload", "token-")
content = b"the object" * 10


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Service(scripted.Handler):
    given = 0       # tokens of the way that is tried
    asked = []      # what came to the services of tokens
    failures = 0    # 503 to begin with
    ahead = 0       # seconds that its clock is

    def date_time_string(self, timestamp=None):
        return email.utils.formatdate(time.time() + Service.ahead, usegmt=True)

    def token(self, what):
        Service.asked.append(what)
        if Service.failures:
            Service.failures -= 1
            return self.answer(503)
        Service.given += 1
        name = "accessToken" if "generateAccessToken" in self.path else "access_token"
        self.answer(200, {name: f"token-{Service.given}", "expires_in": 3600, "expireTime": "2100-01-01T00:00:00Z"})

    def do_POST(self):
        body = self.read_body().decode()
        if self.headers["Content-Type"] == "application/json":
            return self.token({"bearer": self.headers["Authorization"], **json.loads(body)})
        if self.path == "/az":
            return self.token({"words": json.loads(body)})
        form = dict(urllib.parse.parse_qsl(body))
        assertion = form.get("assertion", form.get("client_assertion", ""))
        if "." in assertion:
            made = json.loads(decoded(assertion.split(".")[1]))["iat"]
            if abs(made - time.time() - Service.ahead) > 300:
                return self.answer(400, {"error": "invalid_grant"})
        if form.get("refresh_token") == "hush-expired":
            return self.answer(400, {"error": "invalid_grant", "error_description": "hush-expired is no good"})
        self.token(form | {"path": self.path})

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        if self.path.startswith(("/metadata/identity", "/computeMetadata")):
            machine = self.headers["Metadata"] == "true" or self.headers["Metadata-Flavor"] == "Google"
            return self.token({"path": self.path}) if machine else self.answer(400)
        if self.path == "/subject":
            return self.answer(200, {"it": "hush-workload"})
        if Service.given < 2 or self.headers["Authorization"] != f"Bearer token-{Service.given}":
            return self.answer(401, {"error": {"message": f"no good: {self.headers['Authorization']}"}})
        if "fields=items" in self.path:
            return self.answer(200, {})
        if "comp=list" in self.path:
            return self.answer(200, b"<EnumerationResults><Blobs/><NextMarker/></EnumerationResults>")
        if "fields=" in self.path:
            return self.answer(200, {"size": str(len(content)), "generation": "1"})
        self.answer_range(content, ETag='"1"')


class Tokens:
    def __init__(self, work, port):
        self.work, self.url = work, f"http://127.0.0.1:{port}"
        self.number = 0

    def copy(self, url, status=0, **variables):
        """Copies the object by these variables alone; what the services of tokens were asked."""
        self.number += 1
        Service.given, Service.asked = 0, []
        into = self.work / f"copied{self.number}"
        usual = {"PATH": os.environ["PATH"], "HOME": str(self.work), "GCE_METADATA_HOST": "127.0.0.1:1",
                 "AZURE_POD_IDENTITY_AUTHORITY_HOST": "http://127.0.0.1:1", "AZURE_ACCOUNT_NAME": "acct",
                 "AZURE_STORAGE_CONNECTION_STRING": f"AccountName=acct;BlobEndpoint={self.url}/acct",
                 "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE": f"{self.url}/storage/v1/"}
        said = tool.fetched(url, into, content, status=status, **usual | variables)
        if status == 0:
            assert 2 <= Service.given <= 6, (Service.given, Service.asked)  # the command opens three stores
        return said if status else Service.asked

    def google(self):
        url = "gs://box/x"
        key = self.work / "key.pem"
        subprocess.run(["openssl", "genpkey", "-quiet", "-algorithm", "RSA", "-out", key], check=True)
        account = self.work / "account.json"
        account.write_text(json.dumps({"type": "service_account", "client_email": "me@project", "private_key_id": "k1",
                                       "private_key": key.read_text(), "token_uri": f"{self.url}/token"}))
        account.chmod(0o600)
        Service.failures = 1
        asked = self.copy(url, GOOGLE_APPLICATION_CREDENTIALS=str(account))
        self.check_web_token(asked[-1]["assertion"], key)
        Service.ahead = 3600
        assert len(self.copy(url, GOOGLE_APPLICATION_CREDENTIALS=str(account))) >= 2  # the service's clock counts
        Service.ahead = 0

        user = self.work / ".config/gcloud/application_default_credentials.json"
        user.parent.mkdir(parents=True)
        login = {"type": "authorized_user", "client_id": "c", "client_secret": "hush-client", "refresh_token": "hush-login",
                 "token_uri": f"{self.url}/token"}
        user.write_text(json.dumps(login))
        assert self.copy(url)[0]["refresh_token"] == "hush-login"
        user.write_text(json.dumps(login | {"refresh_token": "hush-expired"}))
        assert "invalid_grant" in self.copy(url, status=1)
        user.write_text('{"type": "authorized_user",\n"client_secret": "hush-client",')
        said = self.copy(url, status=1)
        assert "line 2" in said and str(user) in said, said
        user.unlink()

        broken = json.loads(account.read_text()) | {"private_key": key.read_text().replace("M", "hush-client", 3)}
        bad = self.work / "bad.json"
        bad.write_text(json.dumps(broken))
        said = self.copy(url, status=1, GOOGLE_APPLICATION_CREDENTIALS=str(bad))
        assert f'"private_key" of {bad}' in said and "PEM" in said and "may be read by everybody" in said, said

        federated = self.work / "federated.json"
        config = {"type": "external_account", "audience": "//iam/pool", "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
                  "token_url": f"{self.url}/sts", "credential_source": {
                      "url": f"{self.url}/subject", "format": {"type": "json", "subject_token_field_name": "it"}}}
        federated.write_text(json.dumps(config))
        assert self.copy(url, GOOGLE_APPLICATION_CREDENTIALS=str(federated))[0]["subject_token"] == "hush-workload"
        workload = self.work / "workload"
        workload.write_text("hush-workload\n")
        federated.write_text(json.dumps(config | {"credential_source": {"file": str(workload)},
                                                  "service_account_impersonation_url": f"{self.url}/me:generateAccessToken"}))
        asked = self.copy(url, GOOGLE_APPLICATION_CREDENTIALS=str(federated))
        assert asked[0]["subject_token"] == "hush-workload" and asked[1]["bearer"] == "Bearer token-1", asked

        program = self.work / "program"
        program.write_text("#!/bin/sh\nprintf '{\"version\": 1, \"success\": true, \"id_token\": \"hush-workload\", \"token_type\": "
                           "\"urn:ietf:params:oauth:token-type:jwt\"}'\n")
        program.chmod(0o700)
        federated.write_text(json.dumps(config | {"credential_source": {"executable": {"command": str(program)}}}))
        by_program = {"GOOGLE_APPLICATION_CREDENTIALS": str(federated)}
        assert "ALLOW_EXECUTABLES=1" in self.copy(url, status=1, **by_program)
        asked = self.copy(url, **by_program, GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES="1")
        assert asked[0]["subject_token"] == "hush-workload", asked

        machine = {"GCE_METADATA_HOST": self.url.removeprefix("http://")}
        Service.failures = 1
        assert "/default/token" in self.copy(url, **machine)[0]["path"]
        assert "nobody" not in self.copy(url, status=1, NO_GCE_CHECK="true", GOOGLE_APPLICATION_CREDENTIALS="/nonexistent")

    def check_web_token(self, token, key):
        head, claims, signature = token.split(".")
        assert json.loads(decoded(head)) == {"alg": "RS256", "typ": "JWT", "kid": "k1"}
        said = json.loads(decoded(claims))
        assert said["iss"] == "me@project" and said["aud"] == f"{self.url}/token" and abs(said["iat"] - time.time()) < 60, said
        (self.work / "signature").write_bytes(decoded(signature))
        (self.work / "signed").write_text(f"{head}.{claims}")
        subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", self.work / "public.pem"], check=True)
        subprocess.run(["openssl", "dgst", "-sha256", "-verify", self.work / "public.pem", "-signature", self.work / "signature",
                        self.work / "signed"], check=True, stdout=subprocess.DEVNULL)

    def check_assertion(self, token, certificate):
        head, claims, signature = token.split(".")
        der = subprocess.run(["openssl", "x509", "-in", certificate, "-outform", "DER"], check=True, capture_output=True).stdout
        print_of = base64.urlsafe_b64encode(hashlib.sha256(der).digest()).rstrip(b"=").decode()
        assert json.loads(decoded(head)) == {"alg": "PS256", "typ": "JWT", "x5t#S256": print_of}
        said = json.loads(decoded(claims))
        assert said["aud"] == f"{self.url}/t/oauth2/v2.0/token" and said["iss"] == said["sub"] == "c", said
        assert abs(said["nbf"] - time.time() - 3600) < 60 and said["exp"] == said["nbf"] + 600, said  # the service's clock
        (self.work / "signature").write_bytes(decoded(signature))
        (self.work / "signed").write_text(f"{head}.{claims}")
        subprocess.run(["openssl", "x509", "-in", certificate, "-pubkey", "-noout", "-out", self.work / "public.pem"], check=True)
        subprocess.run(["openssl", "dgst", "-sha256", "-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:digest",
                        "-verify", self.work / "public.pem", "-signature", self.work / "signature", self.work / "signed"],
                       check=True, stdout=subprocess.DEVNULL)

    def azure(self):
        url = "azure://box/x"
        tenant = {"AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c", "AZURE_AUTHORITY_HOST": self.url}
        asked = self.copy(url, **tenant, AZURE_CLIENT_SECRET="hush-client")[0]
        assert asked["client_secret"] == "hush-client" and asked["path"] == "/t/oauth2/v2.0/token", asked
        workload = self.work / "workload"
        asked = self.copy(url, **tenant, AZURE_FEDERATED_TOKEN_FILE=str(workload))[0]
        assert asked["client_assertion"] == "hush-workload" and asked["scope"] == "https://storage.azure.com/.default", asked

        pem, certificate = self.work / "client.pem", self.work / "client.crt"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=client", "-keyout", pem, "-out",
                        certificate], check=True, stderr=subprocess.DEVNULL)
        pem.write_text(pem.read_text() + certificate.read_text())
        pem.chmod(0o600)
        Service.ahead = 3600
        asked = self.copy(url, **tenant, AZURE_CLIENT_CERTIFICATE_PATH=str(pem))
        Service.ahead = 0
        self.check_assertion(asked[-1]["client_assertion"], certificate)
        bundle = self.work / "client.pfx"
        subprocess.run(["openssl", "pkcs12", "-export", "-in", pem, "-out", bundle, "-passout", "pass:"], check=True)
        said = self.copy(url, status=1, **tenant, AZURE_CLIENT_CERTIFICATE_PATH=str(bundle))
        assert "PKCS#12" in said and str(bundle) in said, said

        # Who has logged in with Azure's command line: it is asked, and its files are not read.
        (self.work / ".azure").mkdir()
        (self.work / ".azure/msal_token_cache.json").write_text("hush-cached")
        az = self.work / "az"
        path = {"PATH": f"{self.work}:{os.environ['PATH']}"}
        az.write_text(f"#!{sys.executable}\nimport json, sys, time, urllib.request\n"
                      f"answer = urllib.request.urlopen('{self.url}/az', data=json.dumps(sys.argv[1:]).encode())\n"
                      "print(json.dumps({'accessToken': json.load(answer)['access_token'], 'expires_on': int(time.time()) + 3600}))\n")
        az.chmod(0o700)
        asked = self.copy(url, **path)[0]
        assert asked["words"] == "account get-access-token --resource https://storage.azure.com --output json".split(), asked
        az.write_text("#!/bin/sh\necho 'AADSTS50173: hush-cached; az login' >&2\nexit 1\n")
        said = self.copy(url, status=1, **path)
        assert "the login of Azure's command line" in said and "az account get-access-token" in said, said
        az.unlink()
        (self.work / "workload").write_text("hush-workload\nhush-workload")
        said = self.copy(url, status=1, **tenant, AZURE_FEDERATED_TOKEN_FILE=str(self.work / "workload"))
        assert "line 2" in said and "workload" in said, said

        asked = self.copy(url, AZURE_POD_IDENTITY_AUTHORITY_HOST=self.url)[0]
        assert "resource=https%3A%2F%2Fstorage.azure.com" in asked["path"], asked


server = scripted.Server(("127.0.0.1", 0), Service)
threading.Thread(target=server.serve_forever, daemon=True).start()
with tempfile.TemporaryDirectory() as name:
    tokens = Tokens(pathlib.Path(name), server.server_port)
    tokens.google()
    tokens.azure()
