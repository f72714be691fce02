#!/usr/bin/env python3
"""scripted_hub.py DIRECTORY TOKEN: a server that speaks the published API of the Hugging Face Hub for the files of
DIRECTORY, as dataset `test/data`. Prints its port.

It says no as the Hub does: without the token 401, for other repositories 404. Files of more than 100 bytes are
redirected to a second port, the servers of content, which fails whoever sends the token there. Listings come in
pages of two. Every fifth request for a shard is answered 429 at first.
"""
import http.server
import json
import pathlib
import sys
import threading
import urllib.parse

root, token = pathlib.Path(sys.argv[1]), sys.argv[2]
commit = "c0ffee" * 6
api, files = "/api/datasets/test/data/tree/main/", "/datasets/test/data/resolve/"
asked = set()
count = 0


class Hub(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        global count
        if self.headers.get("Authorization") != f"Bearer {token}":
            return self.answer(401, X_Error_Message="Invalid credentials in Authorization header")
        count += self.path.endswith(".mds")
        if count % 5 == 1 and self.path.endswith(".mds") and self.path not in asked:
            asked.add(self.path)
            return self.answer(429, Retry_After=0)
        url = urllib.parse.urlsplit(self.path)
        path = urllib.parse.unquote(url.path)
        if path.startswith(api):
            return self.tree(path[len(api):], urllib.parse.parse_qs(url.query))
        if not path.startswith(files):
            return self.answer(404, X_Error_Code="RepoNotFound", X_Error_Message="Repository not found")
        revision, _, name = path[len(files):].partition("/")
        if revision not in ("main", commit):
            return self.answer(404, X_Error_Code="RevisionNotFound", X_Error_Message="Invalid rev id")
        if not (root / name).is_file():
            return self.answer(404, X_Error_Code="EntryNotFound", X_Error_Message="Entry not found")
        size = (root / name).stat().st_size
        if size > 100:
            place = f"http://127.0.0.1:{content.server_port}/{urllib.parse.quote(name)}?signature=hush-of-the-url"
            return self.answer(302, Location=place, X_Linked_Size=size, X_Repo_Commit=commit)
        body, headers = part(root / name, self.headers.get("Range"))
        self.answer(206 if "Content_Range" in headers else 200, body, X_Repo_Commit=commit, **headers)

    def tree(self, directory, query):
        if not (root / directory).is_dir():
            return self.answer(404, X_Error_Code="EntryNotFound", X_Error_Message="Entry not found")
        at = int(query.get("cursor", ["0"])[0])
        paths = sorted((root / directory).rglob("*"))
        entries = [{"type": "directory" if each.is_dir() else "file", "path": str(each.relative_to(root)),
                    "size": 0 if each.is_dir() else each.stat().st_size} for each in paths]
        more = {}
        if at + 2 < len(entries):
            here = f"http://{self.headers['Host']}{urllib.parse.urlsplit(self.path).path}"
            more = {"Link": f'<{here}?recursive=true&cursor={at + 2}>; rel="next"'}
        self.answer(200, json.dumps(entries[at:at + 2]).encode(), **more)


class Content(Hub):
    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        if self.headers.get("Authorization") or url.query != "signature=hush-of-the-url":
            return self.answer(400)
        body, headers = part(root / urllib.parse.unquote(url.path[1:]), self.headers.get("Range"))
        self.answer(206 if "Content_Range" in headers else 200, body, **headers)


def part(path, asked_range):
    """The bytes that a Range header asks for, and the headers that say so."""
    body = path.read_bytes()
    if not asked_range or not body:
        return body, {}
    first, last = asked_range.removeprefix("bytes=").split("-")
    last = min(int(last), len(body) - 1)
    return body[int(first):last + 1], {"Content_Range": f"bytes {first}-{last}/{len(body)}"}


content = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Content)
threading.Thread(target=content.serve_forever, daemon=True).start()
hub = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
print(hub.server_port, flush=True)
hub.serve_forever()
