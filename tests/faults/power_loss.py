#!/usr/bin/env python3
"""power_loss.py RECORDER PROGRAM: what a loss of power leaves at any moment is whole or absent.

Runs each scene of PROGRAM (tests/faults/scenes.cpp) with RECORDER loaded before it (record.cpp), and builds, for each moment between two
of its calls, two of the directories that a loss of power may leave then: what was flushed, and nothing else; and all names, with empty
files where bytes were not flushed. PROGRAM opens each as the next run does. What the scene had promised by then has to be there. A
scene that flushes in the wrong order has to be seen."""

import collections
import os
import shutil
import subprocess
import sys
import tempfile

SCENES = ["write", "merge", "save", "rows", "plan", "broken"]


class Disk:
    """What was given and flushed, as far as a scene's calls were read."""

    def __init__(self, root, directories):
        self.root, self.directories = root, directories
        self.files = {}  # inode: the file that has this number now, as one of its own
        self.names, self.bytes = {}, {}  # path: file; file: number of the copy of what was flushed last
        self.flushed = {}  # directory: its names and their files at its last flush
        self.promises = self.made = 0

    def take(self, line):
        word, *rest = line.split(" ", 2)
        if word == "made":
            self.made += 1
            self.files[rest[0]] = self.made  # perhaps with the number of a file that went
            self.names[rest[1]] = self.made
        elif word == "named":
            self.names[rest[1]] = self.files[rest[0]]
        elif word == "gone":
            self.names.pop(" ".join(rest), None)
        elif word == "copy":
            self.bytes[self.files[rest[0]]] = rest[1]
        elif word == "sync" and rest[1] in self.directories:
            self.flushed[rest[1]] = {path: file for path, file in self.names.items() if os.path.dirname(path) == rest[1]}
        elif word == "promised":
            self.promises += 1

    def left(self, all_names):
        """What is left: the path of each file and directory, and the copy of its bytes. What one thread makes in a directory of another may
        be written down before that directory is: it is not there yet."""
        within = self.flushed
        if all_names:
            within = collections.defaultdict(dict)
            for path, file in self.names.items():
                within[os.path.dirname(path)][path] = file
        names, directories = {}, [self.root]
        for each in directories:  # which grow meanwhile
            names |= within.get(each, {})
            directories += within.get(each, {})
        return {path: self.bytes.get(file) for path, file in names.items()}


def build(left, disk, record):
    """Makes the scene's directory hold what is left of it."""
    shutil.rmtree(disk.root)
    os.mkdir(disk.root)
    for path in sorted(left):
        if path in disk.directories:
            os.mkdir(path)
        elif left[path] is None:
            open(path, "wb").close()
        else:
            shutil.copyfile(f"{record}.{left[path]}", path)


def play(scene, recorder, program, scratch):
    """Directories that were judged, and what is wrong in them, as texts."""
    root, record = os.path.join(scratch, "root"), os.path.join(scratch, "record")
    os.mkdir(root)
    loaded = {"LD_PRELOAD": recorder, "MDSTREAM_RECORD": record, "MDSTREAM_RECORD_ROOT": root}
    subprocess.run([program, scene, root], env=os.environ | loaded, check=True)
    with open(record, encoding="utf-8") as file:
        lines = file.read().splitlines()
    directories, files = {root}, set()
    for above, below, names in os.walk(root):
        directories |= {os.path.join(above, each) for each in below}
        files |= {os.path.join(above, each) for each in names}
    disk, judged, wrong = Disk(root, directories), set(), []
    with subprocess.Popen([program, "check", scene], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as judge:
        for number, line in enumerate(lines, 1):
            disk.take(line)
            for all_names in (False, True):
                left = disk.left(all_names)
                state = (disk.promises, *sorted(left.items(), key=str))
                if state in judged:
                    continue
                judged.add(state)
                build(left, disk, record)
                judge.stdin.write(f"{disk.promises} {root}\n")
                judge.stdin.flush()
                answer = judge.stdout.readline().strip()
                if answer != "whole":
                    wrong.append(f"after call {number}, {'names' if all_names else 'nothing'} kept: {answer or 'it ended'}")
    there = directories | files
    assert there == {root, *disk.names}, f"{scene}: calls were not recorded: {there ^ {root, *disk.names}}"
    return len(judged), wrong


def main(recorder, program):
    failed = False
    for scene in SCENES:
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # where flushes are free
        with tempfile.TemporaryDirectory(prefix="mdstream-test-", dir=memory) as scratch:
            judged, wrong = play(scene, recorder, program, os.path.realpath(scratch))
        print(f"{scene}: {judged} directories, {len(wrong)} wrong")
        for text in wrong[:20]:
            print("  " + text)
        failed |= bool(wrong) != (scene == "broken")
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
