#!/usr/bin/env python3
"""recorder.py DIRECTORY PORT: stands before the emulator on PORT and passes on what comes, as it is. When it listens, `port`
is in DIRECTORY, and `requests` there gets a line for each kind of request that was let in: method, path, query, headers
that are signed or change what the request means, the form of a body. Names, tokens and numbers are left out as {}.

What says nothing about an object is left out as well: how a client names itself and its requests, how long an answer may
be and how it is set.
"""
import http.client
import json
import pathlib
import re
import sys
import threading
import urllib.parse
import xml.etree.ElementTree

import scripted

work, emulator = pathlib.Path(sys.argv[1]), int(sys.argv[2])
local = threading.local()
hop_by_hop = {"connection", "keep-alive", "transfer-encoding", "content-length"}
# Names of logs; the time, and the version of the API, whatever they are; how many a page of a listing has.
left_out_headers = {"x-ms-client-request-id", "x-ms-return-client-request-id", "x-ms-date", "x-ms-version", "x-goog-api-client",
                    "x-goog-gcs-idempotency-token"}
left_out_parameters = {"maxresults", "maxResults", "prettyPrint"}
told_values = {"restype", "comp", "uploadType", "alt", "fields", "projection", "x-ms-blob-type", "content-type",
               "x-upload-content-type", "if-none-match"}


def path_form(path):
    google = re.fullmatch(r"((?:/upload|/download)?/storage/v1/b/)[^/]+/o(/.+)?", path)
    if google:
        return google[1] + "{}/o" + ("/{}" if google[2] else "")
    if re.fullmatch(r"/storage/v1/b/[^/]+", path):
        return "/storage/v1/b/{}"
    azure = re.fullmatch(r"/[^/]+/[^/]+(/.+)?", path)
    return "/{}/{}" + ("/{}" if azure and azure[1] else "")


def pair(name, value):
    return f"{name}={value if name in told_values else '{}'}"


def body_form(method, body, kind):
    if method not in ("PUT", "POST"):
        return ""
    if kind.startswith("application/xml") or body.startswith(b"<?xml"):
        root = xml.etree.ElementTree.fromstring(body)
        return f"{root.tag}({','.join(sorted({each.tag for each in root}))})"
    if kind.startswith("application/json"):
        return f"{{{','.join(sorted(json.loads(body)))}}}"
    if kind.startswith("multipart/related"):
        return "metadata and bytes"
    return "bytes"


class Recorder(scripted.Handler):
    def request_form(self, body):
        url = urllib.parse.urlsplit(self.path)
        query = sorted(pair(name, value) for name, value in urllib.parse.parse_qsl(url.query, keep_blank_values=True)
                       if name not in left_out_parameters)
        headers = []
        for name, value in sorted((name.lower(), value) for name, value in self.headers.items()):
            means = name.startswith(("x-ms-", "x-goog-", "if-")) or name == "range"
            of_body = name.startswith(("content-", "x-upload-")) and self.command in ("PUT", "POST")
            if (means or of_body) and name not in left_out_headers | hop_by_hop:
                headers.append(pair(name, value.split(";")[0]))
        return [self.command, path_form(url.path), "&".join(query), ",".join(headers),
                body_form(self.command, body, self.headers.get("Content-Type", ""))]

    def pass_on(self, body, again):
        if not hasattr(local, "way"):
            local.way = http.client.HTTPConnection("127.0.0.1", emulator, timeout=60)
        try:
            local.way.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in hop_by_hop - {"content-length"}:
                    local.way.putheader(name, value)
            local.way.endheaders(body)
            answer = local.way.getresponse()
            return answer, answer.read()
        except (http.client.HTTPException, ConnectionError):
            local.way.close()
            if not again:
                raise
            return self.pass_on(body, False)

    def handle_one(self):
        body = self.read_body()
        answer, text = self.pass_on(body, True)
        if answer.status < 400:
            scripted.note(work, *self.request_form(body))
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in hop_by_hop:
                self.send_header(name, value)
        length = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(text))  # HEAD's is the object's
        if length is not None and answer.status not in (204, 304):
            self.send_header("Content-Length", length)
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_one


scripted.serve(Recorder, work)
