#!/usr/bin/env python3
"""same_requests.py KNOWN COMMAND...: runs the command and compares the kinds of requests that it sent to the scripted
server with those of the provider's own SDK, which lie in KNOWN, a line each. What follows a `?` there may be missing."""
import os
import pathlib
import subprocess
import sys

known = pathlib.Path(sys.argv[1]).read_text().splitlines()
status = subprocess.run(sys.argv[2:]).returncode
if status:
    sys.exit(status)
sent = set(pathlib.Path(os.environ["MDSTREAM_TEST_REQUESTS"]).read_text().splitlines())
needed = {line for line in known if line and not line.startswith(("#", "?"))}
allowed = needed | {line.removeprefix("?") for line in known if line.startswith("?")}
for line in sorted(sent - allowed):
    print("not as the SDK sends it:", line)
for line in sorted(needed - sent):
    print("never sent:", line)
sys.exit(sent - allowed != set() or needed - sent != set())
