#!/usr/bin/env python3
"""Writes tests/golden/signature_v4.json: random S3 requests as botocore's own signer signs them.

    python3 -m venv venv && venv/bin/pip install botocore==1.44.5
    venv/bin/python tests/golden/signature_v4.py > tests/golden/signature_v4.json

Each entry has what goes in (method, host, key, query, headers, payload hash, credentials, region, time) and
what has to come out (canonical request, Authorization, presigned path and query).
"""

import datetime
import hashlib
import json
import random
from unittest import mock

import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.utils import percent_encode, percent_encode_sequence

ALPHABET = "abcXYZ019-._~/+=()!*'@:;,&$?#%[]{}|\\^`\"<> üß€漢字😀"
QUERY_NAMES = ["prefix", "marker", "uploads", "uploadId", "partNumber", "list-type", "max-keys",
               "delimiter", "continuation-token", "acl", "response-content-type", "versionId"]
HEADERS = {"Range": ["bytes=0-9", "bytes=100-"], "x-amz-acl": ["public-read", "bucket-owner-full-control"],
           "x-amz-request-payer": ["requester"], "If-None-Match": ["*"],
           "x-amz-meta-note": ["two  spaces", "  around ", "a\tb", "plain"],
           "Content-Type": ["application/octet-stream", "text/plain; charset=utf-8"],
           "x-amz-storage-class": ["STANDARD_IA"], "Content-MD5": ["1B2M2Y8AsgTpgAmY7PhCfg=="]}


def text(rng, longest):
    return "".join(rng.choice(ALPHABET) for _ in range(rng.randint(0, longest)))


def one(rng):
    credentials = Credentials("TEST" + "".join(rng.choices("ABCDEFGH234567", k=16)),
                              "".join(rng.choices("abcdefXYZ0189/+", k=40)),
                              None if rng.random() < .6 else "Fw" + "".join(rng.choices("abcXYZ019/+=", k=80)))
    region = rng.choice(["us-east-1", "eu-central-1", "auto", "ap-southeast-2"])
    host = rng.choice(["s3.amazonaws.com", "bucket.s3.eu-central-1.amazonaws.com", "127.0.0.1:9000", "[::1]:8333"])
    key = "/" + text(rng, 30)
    query = {name: text(rng, 12) for name in rng.sample(QUERY_NAMES, rng.randint(0, 4))}
    headers = {name: rng.choice(values) for name, values in HEADERS.items() if rng.random() < .25}
    method = rng.choice(["GET", "PUT", "HEAD", "POST", "DELETE"])
    now = datetime.datetime(2013, 1, 1) + datetime.timedelta(seconds=rng.randrange(20 * 366 * 86400))
    body = rng.randbytes(rng.randint(0, 50)) if rng.random() < .5 else None
    lifetime = rng.randint(1, 604800)
    path = percent_encode(key, safe="/~")
    url = "https://" + host + path
    if query:
        url += "?" + percent_encode_sequence(query)

    class unsigned(botocore.auth.S3SigV4Auth):
        def payload(self, request):
            return "UNSIGNED-PAYLOAD"

    with mock.patch("botocore.auth.get_current_datetime", lambda *a, **k: now):
        signer = (unsigned if body is None else botocore.auth.S3SigV4Auth)(credentials, "s3", region)
        request = AWSRequest(method, url, dict(headers), body)
        signer.add_auth(request)
        canonical = signer.canonical_request(AWSRequest(method, url, {
            k: v for k, v in request.headers.items() if k != "Authorization"}, body))
        presigner = botocore.auth.S3SigV4QueryAuth(credentials, "s3", region, lifetime)
        presigned = AWSRequest(method, url, dict(headers))
        presigner.add_auth(presigned)
    return {"method": method, "host": host, "key": key, "query": query, "headers": headers,
            "payload_hash": "UNSIGNED-PAYLOAD" if body is None else hashlib.sha256(body).hexdigest(),
            "access_key_id": credentials.access_key, "secret_access_key": credentials.secret_key,
            "session_token": credentials.token or "", "region": region,
            "time": int(now.replace(tzinfo=datetime.timezone.utc).timestamp()), "lifetime": lifetime,
            "canonical_request": canonical, "authorization": request.headers["Authorization"],
            "presigned": presigned.url}


def main():
    rng = random.Random(20261121)
    print("[")
    print(",\n".join(json.dumps(one(rng), ensure_ascii=False) for _ in range(200)))
    print("]")


main()
