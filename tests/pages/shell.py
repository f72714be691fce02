#!/usr/bin/env python3
"""shell.py MDSTREAM PAGE...: runs the shell lines of pages, as they stand there, by a bash that ends at the first error.

Each page has a new directory. In it `mdstream` is the command MDSTREAM, for which the places of PLACES are folders there. A
comment before a block says what has to be there, or why the block is not run:

    <!-- run after
    echo '{"text": "one"}' > lines.jsonl
    -->

    <!-- not run: installs packages -->
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PLACES = ("s3://bucket", "gs://bucket", "hf://org/name", "/nvme", "/models")
BLOCK = re.compile(r"^(?:<!-- run after\n(?P<before>.*?)^-->\n|<!-- not run: (?P<excuse>[^\n]+) -->\n)?```sh\n(?P<lines>.*?)^```$", re.M | re.S)

SHIM = """#!{python}
import os, sys
words = sys.argv[1:]
for place, folder in {folders}.items():
    words = [folder + word[len(place):] if word.startswith(place) else word for word in words]
os.execv({program!r}, [{program!r}, *words])
"""


def run(program, page):
    """How many blocks ran."""
    ran = 0
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        (work / "bin").mkdir()
        command = work / "bin" / "mdstream"
        folders = {path: str(work / re.sub(r"\W+", "_", path)) for path in PLACES}
        command.write_text(SHIM.format(python=sys.executable, folders=folders, program=program), encoding="utf-8")
        command.chmod(0o755)
        around = os.environ | {"PATH": f"{command.parent}:{os.environ['PATH']}"}
        for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
            if block["excuse"]:
                continue
            lines = (block["before"] or "") + block["lines"]
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", lines], cwd=work, env=around, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=300)
            if done.returncode != 0:
                sys.exit(f"{page}: the lines\n{lines}failed:\n{done.stdout}{done.stderr}")
            ran += 1
    return ran


counts = {page: run(sys.argv[1], page) for page in map(pathlib.Path, sys.argv[2:])}
print(f"mdstream: ran {sum(counts.values())} blocks of {sum(bool(count) for count in counts.values())} pages")
