#!/usr/bin/env python3
"""flushes.py RECORDER PROGRAM: nothing gets a name that promises other files before those are on the disk.

Runs each scene of PROGRAM (tests/faults/scenes.cpp) with RECORDER loaded before it (record.cpp), and judges what it did. A file that
promises - an index, a manifest, a plan - has to be flushed before it gets its name, and so have the files that it names, their
directories, and those above them that were new; its own directory at the end. Each scene is judged twice more, as if no file and as if
no directory had been flushed, which has to be seen; so has a scene that breaks the rule."""

import fnmatch
import os
import subprocess
import sys
import tempfile

# What promises (by its path below the scene's directory), and what it promises: files that had their names before.
PROMISES = {
    "write": {"index.json": ["*.mds"]},
    "merge": {"*/index.json": [], "index.json": ["*/*.mds", "*/index.json"]},
    "save": {"manifest/*.json": ["data/*/*"], "latest.json": ["manifest/*.json", "data/*/*"]},
    "cache": {"index.json": [], ".mdstream/origin": ["index.json"], "fact": []},
    "rows": {".mdstream/rows.jsonl": [], "index.json": []},
    "plan": {"py1e-*": []},
    "broken": {"index.json": ["*.mds"]},
}


class Disk:
    """What of a scene's files is on the disk, as far as its calls were read."""

    def __init__(self, root):
        self.root = root
        self.written, self.flushed = {}, {}  # inode: number of the last call
        self.names = {}  # path: inode and the number of the call that gave the name
        self.directories = {}  # path: number of the last flush
        self.now = 0

    def lacks_bytes(self, inode):
        return self.flushed.get(inode, -1) < self.written.get(inode, -1)

    def lacks_name(self, path):
        """Whether the name of a file or directory, or of one above it, would be lost."""
        if path == self.root or path not in self.names:  # it was there before
            return False
        above = os.path.dirname(path)
        return self.directories.get(above, -1) < self.names[path][1] or self.lacks_name(above)

    def take(self, line, ignored):
        """One call; `ignored`: "files" or "directories", whose flushes are taken for not made."""
        self.now += 1
        word, *rest = line.split(" ", 2)
        if word == "write":
            self.written[rest[0]] = self.now
        elif word == "sync":
            is_directory = os.path.isdir(rest[1])
            if is_directory and ignored != "directories":
                self.directories[rest[1]] = self.now
            if not is_directory and ignored != "files":
                self.flushed[rest[0]] = self.now
        elif word in ("made", "named"):
            if word == "made" and not os.path.isdir(rest[1]):  # perhaps with the number of a file that went
                self.written[rest[0]] = self.now
            self.names[rest[1]] = (rest[0], self.now)
        elif word == "gone":
            self.names.pop(" ".join(rest), None)


def judge(scene, root, lines, ignored=""):
    """The promises that were made, and those that were broken, as texts."""
    disk, made, broken, last = Disk(root), [], [], {}
    for line in lines:
        word, *rest = line.split(" ")
        if word == "naming":
            path = " ".join(rest[1:])
            relative = os.path.relpath(path, root)
            for promise, promised in PROMISES[scene].items():
                if not fnmatch.fnmatchcase(relative, promise):
                    continue
                made.append(promise)
                last[path] = promise
                if disk.lacks_bytes(rest[0]):
                    broken.append(f"{relative} got its name before its bytes were flushed")
                for named, (inode, _) in disk.names.items():
                    below = os.path.relpath(named, root)
                    is_promised = any(fnmatch.fnmatchcase(below, each) for each in promised)
                    if named == path or not is_promised or os.path.basename(below).startswith(".mdstream-"):
                        continue
                    if disk.lacks_bytes(inode):
                        broken.append(f"{relative} got its name before the bytes of {below} were flushed")
                    if disk.lacks_name(named):
                        broken.append(f"{relative} got its name before the name of {below} was flushed")
        if word == "fact" and rest[1] == "1":
            made.append("fact")
            shard = os.path.join(root, f"shard.{int(rest[0]):05d}.mds")
            if disk.lacks_bytes(disk.names[shard][0]) or disk.lacks_name(shard):
                broken.append(f"{shard} was recorded as flushed before it was")
        disk.take(line, ignored)
    broken += [f"the name of {path} was not flushed" for path in last if disk.lacks_name(path)]
    missing = set(PROMISES[scene]) - set(made)
    assert not missing, f"{scene}: nothing was done that this test is about: {missing} of {len(lines)} calls"
    return made, broken


def main(recorder, program):
    failed = False
    for scene in PROMISES:
        with tempfile.TemporaryDirectory(prefix="mdstream-test-") as scratch:
            root, record = os.path.join(os.path.realpath(scratch), "root"), os.path.join(scratch, "record")
            os.mkdir(root)
            loaded = {"LD_PRELOAD": recorder, "MDSTREAM_RECORD": record, "MDSTREAM_RECORD_ROOT": root}
            subprocess.run([program, scene, root], env=os.environ | loaded, check=True)
            with open(record, encoding="utf-8") as file:
                lines = file.read().splitlines()
            made, broken = judge(scene, root, lines)
            print(f"{scene}: {len(lines)} calls, {len(made)} promises, {len(broken)} broken")
            for text in broken:
                print("  " + text)
            failed |= bool(broken) != (scene == "broken")
            for ignored in ("files", "directories"):
                if not judge(scene, root, lines, ignored)[1]:
                    print(f"  it was not seen that no {ignored} were flushed")
                    failed = True
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
