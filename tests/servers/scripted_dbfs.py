#!/usr/bin/env python3
"""scripted_dbfs.py DIRECTORY: a server that speaks the published APIs of a Databricks workspace: files of the volume
/Volumes/main/test/data and of the file system, both kept in memory, and tokens of a service principal. When it listens
it writes `port`. `requests` gets a line for each kind of request that was let in, names of files left out.

It says no as the service does: without a token that is good 401, with one that was revoked 403; an OAuth token is good for
thirty requests, and then another has to be asked for. Directories have to be made before files are put into volumes,
volumes that are not there are 404, as an empty one is, blocks of more than 1 MiB are refused, files are not moved over files, and a file
`kept` that was deleted is not moved to again. The first move to a file in a directory `unanswered` is carried out, and its
answer lost; where the file has `first` in its path, moves look at the target before the source. A volume's files change a second after each other, for that is what
versions are told by. Listings come in pages of three. Every fifth shard is answered 429 at first.
"""
import base64
import email.utils
import json
import pathlib
import sys
import threading
import time
import urllib.parse

import scripted

work = pathlib.Path(sys.argv[1])
token, client, secret = "dapi-hush-of-the-token", "the-principal", "hush-of-the-principal"
volume = "/Volumes/main/test/data"
lock = threading.RLock()
files, directories, deleted, unanswered = {}, {volume, "/"}, set(), set()
streams, refused, oauth = {}, set(), {}  # of a token: the requests that it is good for
shards, clock = 0, time.time()


def parent(path):
    return path.rpartition("/")[0] or "/"


def make_directories(path):
    while path not in directories:
        directories.add(path)
        path = parent(path)


def store(path, body):
    global clock
    clock = max(clock + 1, time.time())
    files[path] = (body, clock)


def children(path):
    """Names of what lies in a directory; nothing where there is none."""
    inside = path.rstrip("/") + "/"
    every = [each for each in [*files, *directories] if each.startswith(inside) and each != inside]
    found = sorted({inside + each[len(inside):].split("/")[0] for each in every})
    return found if found or path in directories - {volume} else None


class Workspace(scripted.Handler):
    out_of_range = {"error_code": "RANGE_NOT_SATISFIABLE"}

    def no(self, status, code, message="", **headers):
        self.answer(status, {"error_code": code, "message": message}, **headers)

    def handle_one(self):
        self.body = self.read_body()
        url = urllib.parse.urlsplit(self.path)
        self.query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        with lock:
            if url.path.startswith("/oidc/"):
                return self.oidc(url.path)
            said = self.headers.get("Authorization", "")
            if oauth.get(said, 0) > 0:
                oauth[said] -= 1
            elif said == "Bearer dapi-hush-revoked":
                return self.no(403, "403", f"Invalid access token: {said}")
            elif said != f"Bearer {token}":
                return self.no(401, "401", f"Credential was not sent or was of an unsupported type: {said}")
            path = urllib.parse.unquote(url.path)
            for prefix, answer in (("/api/2.0/fs/files", self.file), ("/api/2.0/fs/directories", self.directory),
                                   ("/api/2.0/dbfs/", self.dbfs), ("/api/2.1/unity-catalog/volumes", self.catalog)):
                if path.startswith(prefix):
                    self.note(prefix, path[len(prefix):] if prefix.endswith("/") else "")
                    return answer(path[len(prefix):])
            self.no(404, "ENDPOINT_NOT_FOUND")

    def note(self, prefix, action):
        values = {k: v if k == "overwrite" else "{}" for k, v in self.query.items()}
        body = json.loads(self.body) if self.command == "POST" else {}
        conditions = [name for name in ("If-Unmodified-Since", "Range") if name in self.headers]
        scripted.note(work, self.command, prefix + action, "&".join(f"{k}={values[k].lower()}" for k in sorted(values)),
                      ",".join(sorted(body)), ",".join(conditions))

    def oidc(self, path):
        if path == "/oidc/.well-known/oauth-authorization-server":
            base = f"http://{self.headers['Host']}/oidc/v1"
            return self.answer(200, {"token_endpoint": f"{base}/token", "authorization_endpoint": f"{base}/authorize"})
        form = dict(urllib.parse.parse_qsl(self.body.decode()))
        basic = "Basic " + base64.b64encode(f"{client}:{secret}".encode()).decode()
        good = form.get("grant_type") == "client_credentials" and form.get("scope") == "all-apis"
        if self.headers.get("Authorization") != basic or not good:
            return self.answer(401, {"error": "invalid_client", "error_description": f"not {form}"})
        given = f"oauth-hush-{len(oauth)}"
        oauth[f"Bearer {given}"] = 30
        self.answer(200, {"access_token": given, "token_type": "Bearer", "expires_in": 3600})

    def busy(self, path):
        """Once for each that is asked for."""
        global shards
        shards += path.endswith(".mds")
        if not path.endswith(".mds") or shards % 5 != 1 or path in refused:
            return False
        refused.add(path)
        self.no(429, "REQUEST_LIMIT_EXCEEDED", "slow down", Retry_After=0)
        return True

    def file(self, path):
        if not path.startswith(volume + "/"):
            return self.no(404, "NOT_FOUND", "no such volume")
        if self.command == "PUT":
            if parent(path) not in directories:
                return self.no(404, "NOT_FOUND", "The directory being accessed is not found")
            if self.query.get("overwrite", "").lower() == "false" and path in files:
                return self.no(409, "ALREADY_EXISTS")
            store(path, self.body)
            return self.answer(204)
        if path not in files:
            return self.no(404, "NOT_FOUND", "The file being accessed is not found")
        if self.command == "DELETE":
            del files[path]
            return self.answer(204)
        if self.command == "GET" and self.busy(path):
            return
        body, changed = files[path]
        changed = email.utils.formatdate(changed, usegmt=True)
        if self.headers.get("If-Unmodified-Since", changed) != changed:
            return self.no(412, "FAILED_PRECONDITION")
        self.answer_range(body, Last_Modified=changed, Content_Type="application/octet-stream")

    def directory(self, path):
        if not (path + "/").startswith(volume + "/"):
            return self.no(404, "NOT_FOUND", "no such volume")
        if self.command == "PUT":
            make_directories(path)
            return self.answer(204)
        found = children(path)
        if found is None:
            return self.no(404, "NOT_FOUND", "The directory being accessed is not found")
        at = int(self.query.get("page_token", 0))
        contents = [{"path": each, "name": each.rpartition("/")[2], "is_directory": each not in files,
                     **({"file_size": len(files[each][0]), "last_modified": int(files[each][1] * 1000)} if each in files else {})}
                    for each in found[at:at + 3]]
        self.answer(200, {"contents": contents} | ({"next_page_token": str(at + 3)} if found[at + 3:] else {}))

    def catalog(self, name):
        if name != "/" + volume.removeprefix("/Volumes/").replace("/", "."):
            return self.no(404, "VOLUME_DOES_NOT_EXIST", f"Volume '{name[1:]}' does not exist.")
        self.answer(200, {"full_name": name[1:], "volume_type": "MANAGED"})

    def dbfs(self, action):
        said = self.query if self.command == "GET" else json.loads(self.body)
        path = said.get("path", "/")
        if not path.startswith("/") or path.startswith("/Volumes"):
            return self.no(400, "INVALID_PARAMETER_VALUE", "no path of the file system")
        {"get-status": self.status, "list": self.list, "read": self.read, "put": self.put, "create": self.create,
         "add-block": self.add_block, "close": self.close, "move": self.move, "delete": self.delete,
         "mkdirs": self.mkdirs}[action](said, path)

    def about(self, path):
        body, changed = files.get(path, (b"", 0))
        return {"path": path, "is_dir": path not in files, "file_size": len(body), "modification_time": int(changed * 1000)}

    def absent(self, path):
        self.no(404, "RESOURCE_DOES_NOT_EXIST", f"No file or directory exists on path {path}.")

    def status(self, _, path):
        there = path in files or path in directories
        self.answer(200, self.about(path)) if there else self.absent(path)

    def list(self, _, path):
        if path in files:
            return self.answer(200, {"files": [self.about(path)]})
        found = children(path)
        self.absent(path) if found is None else self.answer(200, {"files": [self.about(each) for each in found]} if found else {})

    def read(self, said, path):
        if path not in files:
            return self.absent(path)
        if self.busy(path):
            return
        if int(said["length"]) > 1 << 20:
            return self.no(400, "MAX_READ_SIZE_EXCEEDED")
        part = files[path][0][int(said["offset"]):][:int(said["length"])]
        self.answer(200, {"bytes_read": len(part), "data": base64.b64encode(part).decode()})

    def put(self, said, path):
        body = base64.b64decode(said.get("contents", ""), validate=True)
        if len(body) > 1 << 20:
            return self.no(400, "MAX_BLOCK_SIZE_EXCEEDED")
        if path in files and not said.get("overwrite"):
            return self.no(400, "RESOURCE_ALREADY_EXISTS")
        make_directories(parent(path))
        store(path, body)
        self.answer(200, {})

    def create(self, said, path):
        if path in files and not said.get("overwrite"):
            return self.no(400, "RESOURCE_ALREADY_EXISTS")
        make_directories(parent(path))
        store(path, b"")
        handle = 7_000_000_000_000 + len(streams)
        streams[handle] = path
        self.answer(200, {"handle": handle})

    def add_block(self, said, _):
        path = streams.get(said["handle"])
        body = base64.b64decode(said["data"], validate=True)
        if path is None or path not in files:
            return self.no(404, "RESOURCE_DOES_NOT_EXIST", "no such stream")
        if len(body) > 1 << 20:
            return self.no(400, "MAX_BLOCK_SIZE_EXCEEDED")
        store(path, files[path][0] + body)
        self.answer(200, {})

    def close(self, said, _):
        if streams.pop(said["handle"], None) is None:
            return self.no(404, "RESOURCE_DOES_NOT_EXIST", "no such stream")
        streams[said["handle"]] = None
        self.answer(200, {})

    def move(self, said, _):
        source, target = said["source_path"], said["destination_path"]
        taken = target in files or target in directories
        if source not in files and not (taken and "/first/" in target):
            return self.absent(source)
        if taken:
            return self.no(400, "RESOURCE_ALREADY_EXISTS", f"A file or directory already exists at {target}.")
        if target.endswith("/kept") and target in deleted:
            return self.no(403, "PERMISSION_DENIED", "no longer allowed")
        files[target] = files.pop(source)
        if "/unanswered/" in target and target not in unanswered:
            unanswered.add(target)
            self.close_connection = True
            return
        self.answer(200, {})

    def delete(self, said, path):
        if path in directories and children(path) and not said.get("recursive"):
            return self.no(400, "IO_ERROR", "the directory is not empty")
        if path not in files and path not in directories:
            return self.absent(path)
        files.pop(path, None)
        deleted.add(path)
        self.answer(200, {})

    def mkdirs(self, _, path):
        make_directories(path)
        self.answer(200, {})

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_one


scripted.serve(Workspace, work)
