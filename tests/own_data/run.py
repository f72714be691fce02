#!/usr/bin/env python3
"""run.py PAGE SOURCE MDSTREAM: does what docs/own-data.md says, by its files and commands alone, in a new directory.

The page's CMakeLists.txt and trainer.cpp are written as they stand there; its shell blocks run in their order, each by a bash
that ends at the first error, but for those that a comment `not run` stands before. `mdstream` is the folder SOURCE and the
command MDSTREAM, $BUCKET a place of the server that tests/servers/with.sh has started.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

page, source, program = map(pathlib.Path, sys.argv[1:])
text = page.read_text(encoding="utf-8")

with tempfile.TemporaryDirectory() as name:
    work = pathlib.Path(name)
    (work / "mdstream").symlink_to(source)
    (work / "bin").mkdir()
    (work / "bin" / "mdstream").symlink_to(program)
    (work / "CMakeLists.txt").write_text(re.search(r"^```cmake\n(.*?)^```$", text, re.M | re.S)[1], encoding="utf-8")
    (work / "trainer.cpp").write_text(re.search(r"^```cpp\n(.*?)^```$", text, re.M | re.S)[1], encoding="utf-8")
    compiler = work / "bin" / "not-optimising"  # the page's build is an optimised one, which takes minutes
    compiler.write_text('#!/bin/sh\nexec c++ "$@" -O0\n', encoding="utf-8")
    compiler.chmod(0o755)
    around = {"PATH": f"{work / 'bin'}:{os.environ['PATH']}", "BUCKET": "s3://test/own-data", "TRAINER": str(work / "build/trainer"), "CXX": str(compiler)}
    if ccache := shutil.which("ccache"):
        around |= {"CMAKE_CXX_COMPILER_LAUNCHER": ccache}
    # In containers and as root; that the page runs more processes than there are cores it has to say itself.
    mpi = (f"source {source / 'examples/quickstart/local_mpi.sh'}\n"
           "unset OMPI_MCA_rmaps_base_oversubscribe PRTE_MCA_rmaps_default_mapping_policy\n" + """
trains() {
  local each
  for each in $(pgrep -x trainer); do
    if [ "/proc/$each/exe" -ef "$TRAINER" ]; then orphan=$each; return 0; fi
  done
  return 1
}
# Ranks outlive an mpirun that is killed, by a second or more, and go on until then: they are killed, too, also one that is forked just now.
timeout() {
  local status=0 orphan i
  command timeout "$@" || status=$?
  for ((i = 0; i < 15; ++i)); do
    while trains; do kill -KILL "$orphan" 2>/dev/null || true; done
    sleep 0.1
  done
  return $status
}
""")
    said = ""
    blocks = re.findall(r"^(<!-- not run: [^\n]*-->\n)?```sh\n(.*?)^```$", text, re.M | re.S)
    if len(blocks) != len(re.findall(r"^```sh$", text, re.M)):
        sys.exit("the page has a shell block that would be passed over")
    for excuse, block in blocks:
        if not excuse:
            print(block, flush=True)
            said = subprocess.run(["bash", "-euo", "pipefail", "-c", mpi + block], cwd=work, env=os.environ | around, check=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True).stdout
            print(said, flush=True)
    if said != "the same loss\n":
        sys.exit("the last block of the page does not say that the losses are the same")
