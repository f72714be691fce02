#!/usr/bin/env python3
"""scripted_hub.py DIRECTORY TOKEN [DATA]: a server that speaks the published API of the Hugging Face Hub for the files of
DATA (DIRECTORY/data), as dataset `test/data`. Prints its port when it listens, which `port` in DIRECTORY has then, too;
`requests` there gets a line for each kind of request that was let in, names of files left out.

The model `test/model` has the same files, by the names that models have.

It says no as the Hub does: without the token 401, for other repositories 404. `test/renamed` is what the dataset was
called before, and leads to it (307), as every name of a file of up to 100 bytes leads to a place of its own of the same port.
Files of more than 100 bytes are redirected to a second port, the servers of content, which fails whoever sends the token there. Listings come in
pages of two. Every fifth request for a shard, or for how a file is to be uploaded, is answered 429 at first, every fourth
for bytes that are sent 503.

Files of more than 100 bytes are taken by Git LFS alone: their bytes by the second port, in parts above 5 MiB. A commit that
names bytes that did not come, or of which nobody asked whether they came, is refused, and one that names a file twice.
Commits are made one at a time: who comes meanwhile is answered 409, and every third finds that another came between (412).
What was there at a commit can be read by its name; what others put into DATA belongs to the first.
"""
import base64
import hashlib
import json
import pathlib
import sys
import threading
import urllib.parse

import scripted

work, token = pathlib.Path(sys.argv[1]), sys.argv[2]
root = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else work / "data"
large = work / "lfs"
large.mkdir()
commits, replaced = ["c0ffee" * 6], [{}]  # what each commit replaced, by names; None where there was nothing
dataset = "/api/datasets/test/data"
tree, files, batch = f"{dataset}/tree/main/", "/datasets/test/data/resolve/", "/datasets/test/data.git/info/lfs/objects/batch"
cached = "/api/resolve-cache/datasets/test/data/"
most_regular, part_bytes, signature = 100, 5 << 20, "signature=hush-of-the-url"
asked, verified, counts = set(), set(), {}
counting, committing = threading.Lock(), threading.Lock()


def nth(what):
    """How many there were of them, with this one."""
    with counting:
        counts[what] = counts.get(what, 0) + 1
        return counts[what]


def hashes(found):
    """Of a file's entry in a listing; those of large files, which the Hub keeps in Git LFS, have two."""
    blob = hashlib.sha1(b"blob %d\0" % len(found) + found).hexdigest()
    in_lfs = {"lfs": {"oid": hashlib.sha256(found).hexdigest(), "size": len(found), "pointerSize": 130}}
    return {"oid": blob, **(in_lfs if len(found) > most_regular else {})}


def is_first(what):
    with counting:
        return what not in asked and not asked.add(what)


def content_at(name, at):
    """Of a file at a commit, by its number."""
    for later in replaced[at + 1:]:
        if name in later:
            return later[name]
    return (root / name).read_bytes() if (root / name).is_file() else None


def form(value):
    """The names in a question."""
    if isinstance(value, dict):
        return "{" + ",".join(sorted(name + (form(each) if isinstance(each, (dict, list)) else "") for name, each in value.items())) + "}"
    return "[" + ",".join(sorted({form(each) for each in value if isinstance(each, dict)})) + "]"


def by_dataset(path):
    """What asks for the model, as what asks for the dataset."""
    for model in "/api/models/test/model/", "/api/resolve-cache/models/test/model/", "/test/model/", "/test/model.git/":
        if path.startswith(model):
            there = model.replace("/models/", "/datasets/") if "/models/" in model else "/datasets" + model
            return there.replace("test/model", "test/data") + path[len(model):]
    return path


class Refused(Exception):
    """With a status and headers."""


class Hub(scripted.Handler):
    def do_HEAD(self):
        self.do_GET()

    def is_let_in(self):
        if self.headers.get("Authorization") == f"Bearer {token}":
            return True
        self.answer(401, X_Error_Message="Invalid credentials in Authorization header")
        return False

    def do_GET(self):
        if not self.is_let_in():
            return None
        self.path = by_dataset(self.path)
        if self.path.endswith(".mds") and nth("shard") % 5 == 1 and is_first(self.path):
            return self.answer(429, Retry_After=0)
        url = urllib.parse.urlsplit(self.path)
        path = urllib.parse.unquote(url.path)
        query = urllib.parse.parse_qs(url.query)
        range_asked = "Range" if "Range" in self.headers else ""
        if path.startswith(("/api/datasets/test/renamed/", "/datasets/test/renamed/")):
            return self.answer(307, Location=self.path.replace("/test/renamed/", "/test/data/", 1))
        kind = next((each for each in (tree, files, cached) if path.startswith(each)), None)
        if kind is None:
            return self.answer(404, X_Error_Code="RepoNotFound", X_Error_Message="Repository not found")
        said = sorted(name for name, value in query.items() if (name, value) != ("expand", ["false"]))  # which is the default
        scripted.note(work, self.command, kind, "&".join(said), range_asked)
        if kind == tree:
            return self.tree(path[len(tree):], query)
        revision, _, name = path[len(kind):].partition("/")
        if revision not in ("main", *commits):
            return self.answer(404, X_Error_Code="RevisionNotFound", X_Error_Message="Invalid rev id")
        at = len(commits) - 1 if revision == "main" else commits.index(revision)
        found = content_at(name, at)
        if found is None:
            return self.answer(404, X_Error_Code="EntryNotFound", X_Error_Message="Entry not found")
        digests = hashes(found)
        if "lfs" in digests:
            location = f"http://127.0.0.1:{content.server_port}/{at}/{urllib.parse.quote(name)}?{signature}"
            return self.answer(302, Location=location, X_Linked_Size=len(found), X_Repo_Commit=commits[at],
                               X_Linked_ETag=f'"{digests["lfs"]["oid"]}"')
        if kind == files:
            return self.answer(307, Location=f"{cached}{commits[at]}/{urllib.parse.quote(name)}", X_Repo_Commit=commits[at])
        self.answer_range(found, ETag=f'"{digests["oid"]}"', X_Repo_Commit=commits[at])

    def tree(self, directory, query):
        if not (root / directory).is_dir():
            return self.answer(404, X_Error_Code="EntryNotFound", X_Error_Message="Entry not found")
        at = int(query.get("cursor", ["0"])[0])
        paths = sorted((root / directory).rglob("*"))
        entries = [{"path": str(each.relative_to(root)), **self.entry(each)} for each in paths[at:at + 2]]
        more = {}
        if at + 2 < len(paths):
            location = f"http://{self.headers['Host']}{urllib.parse.urlsplit(self.path).path}"
            more = {"Link": f'<{location}?recursive=true&cursor={at + 2}>; rel="next"'}
        self.answer(200, entries, **more)

    def entry(self, path):
        if path.is_dir():
            return {"type": "directory", "size": 0, "oid": hashlib.sha1(b"tree 0\0").hexdigest()}
        return {"type": "file", "size": path.stat().st_size, **hashes(path.read_bytes())}

    def do_POST(self):
        body = self.read_body()
        path, _, query = by_dataset(self.path).partition("?")
        if path == "/api/complete_multipart":  # its URL lets in
            return self.put_together(json.loads(body)) if query == signature else self.answer(403)
        if not self.is_let_in():
            return None
        if path.startswith("/api/datasets/test/renamed/"):
            return self.answer(307, Location=self.path.replace("/test/renamed/", "/test/data/", 1))
        serve = {f"{dataset}/preupload/main": self.how, batch: self.where, "/api/verify": self.verify,
                 f"{dataset}/commit/main": self.commit}.get(path)
        if serve is None:
            other = path.startswith(dataset + "/")
            return self.answer(404, X_Error_Code="RevisionNotFound" if other else "RepoNotFound", X_Error_Message="Not found")
        try:
            asks = [json.loads(line) for line in body.splitlines()]
            said = serve(asks if serve == self.commit else asks[0])
        except Refused as refused:
            return self.answer(refused.args[0], **refused.args[1])
        kind = self.headers["Content-Type"].split(";")[0]
        for each in asks:
            scripted.note(work, "POST", path, kind, each.get("key", "") + form(each.get("value", each)))
        self.answer(200, said)

    def how(self, asks):
        if nth("how") % 5 == 1 and is_first(asks["files"][0]["path"]):
            raise Refused(429, {"Retry_After": 0})
        return {"files": [{"path": each["path"], "uploadMode": "lfs" if each["size"] > most_regular else "regular",
                           "shouldIgnore": each["path"].endswith(".ignored")} for each in asks["files"]]}

    def where(self, asks):
        assert asks["operation"] == "upload" and asks["hash_algo"] == "sha256" and "basic" in asks["transfers"]
        return {"transfer": "basic", "objects": [{**each, **self.upload_of(each["oid"], each["size"])} for each in asks["objects"]]}

    def upload_of(self, oid, size):
        if (large / oid).exists():
            return {}
        there = f"http://127.0.0.1:{content.server_port}/lfs/{oid}"
        upload = {"href": f"{there}?{signature}"}
        if size > part_bytes:
            parts = {str(i + 1): f"{there}/{i + 1}?{signature}" for i in range(-(-size // part_bytes))}
            upload = {"href": f"http://{self.headers['Host']}/api/complete_multipart?{signature}",
                      "header": {"chunk_size": str(part_bytes), **parts}}
        return {"actions": {"upload": upload, "verify": {"href": f"http://{self.headers['Host']}/api/verify"}}}

    def put_together(self, asks):
        parts = [large / f"{asks['oid']}.{each['partNumber']}" for each in asks["parts"]]
        assert [each["etag"] for each in asks["parts"]] == [hashlib.md5(each.read_bytes()).hexdigest() for each in parts]
        (large / asks["oid"]).write_bytes(b"".join(each.read_bytes() for each in parts))
        scripted.note(work, "POST", "/api/complete_multipart", form(asks))
        self.answer(200, {"success": True})

    def verify(self, asks):
        came = large / asks["oid"]
        if not came.exists() or came.stat().st_size != asks["size"] or hashlib.sha256(came.read_bytes()).hexdigest() != asks["oid"]:
            raise Refused(400, {"X_Error_Message": "The bytes are not those of the hash"})
        verified.add(asks["oid"])
        return {"success": True}

    def commit(self, lines):
        if not committing.acquire(blocking=False):
            raise Refused(409, {"X_Error_Message": "Another commit is under way"})
        try:
            number = nth("commit")
            if number % 3 == 2 or (number % 12 == 9 and lines[1]["key"] == "lfsFile"):
                raise Refused(412, {"X_Error_Message": "A commit has happened since. Please refresh and try again."})
            assert lines[0]["key"] == "header" and lines[0]["value"]["summary"]
            changes = [(each["key"], each["value"]) for each in lines[1:]]
            if len({value["path"] for _, value in changes}) != len(changes):
                raise Refused(400, {"X_Error_Message": "A file is there twice"})
            for kind, value in changes:  # all or none
                self.check(kind, value)
            replaced.append({value["path"]: content_at(value["path"], len(commits)) for _, value in changes})
            for kind, value in changes:
                self.change(kind, value)
            commits.append(hashlib.sha1(str(number).encode()).hexdigest())
            url = f"http://{self.headers['Host']}/datasets/test/data/commit/{commits[-1]}"
            return {"success": True, "commitOid": commits[-1], "commitUrl": url, "hookOutput": ""}
        finally:
            committing.release()

    def check(self, kind, value):
        if kind == "deletedFile" and not (root / value["path"]).is_file():
            raise Refused(404, {"X_Error_Code": "EntryNotFound", "X_Error_Message": "Entry not found"})
        if kind == "lfsFile" and value["oid"] not in verified:
            raise Refused(400, {"X_Error_Message": "LFS pointer pointed to a file that does not exist"})
        if kind == "file" and len(base64.b64decode(value["content"])) > most_regular:
            raise Refused(400, {"X_Error_Message": "The file belongs into Git LFS"})

    def change(self, kind, value):
        target = root / value["path"]
        if kind == "deletedFile":
            return target.unlink()
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = work / "new"
        temporary.write_bytes((large / value["oid"]).read_bytes() if kind == "lfsFile" else base64.b64decode(value["content"]))
        temporary.rename(target)


class Content(Hub):
    def is_let_in(self):
        url = urllib.parse.urlsplit(self.path)
        if not self.headers.get("Authorization") and url.query == signature:
            return True
        self.answer(400, X_Error_Message=f"not with {url.query}")
        return False

    def do_GET(self):
        if self.is_let_in():
            at, _, name = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path[1:]).partition("/")
            self.answer_range(content_at(name, int(at)))

    def do_PUT(self):
        body = self.read_body()
        if not self.is_let_in():
            return
        _, _, oid, *part = urllib.parse.urlsplit(self.path).path.split("/")
        if body.startswith(b"refuse me"):
            return self.answer(403, X_Error_Message=f"not with {urllib.parse.urlsplit(self.path).query}")
        if nth("put") % 4 == 2 and is_first(self.path):
            return self.answer(503)
        (large / ".".join([oid, *part])).write_bytes(body)
        scripted.note(work, "PUT", "/lfs/{}" + "/{}" * len(part))
        self.answer(200, ETag=hashlib.md5(body).hexdigest())


content = scripted.Server(("127.0.0.1", 0), Content)
threading.Thread(target=content.serve_forever, daemon=True).start()
scripted.serve(Hub, work)
