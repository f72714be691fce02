#!/usr/bin/env python3
"""same_requests.py [--of-sdk] KNOWN COMMAND...: runs the command and compares the kinds of requests that it sent to the
server with those of the provider's own SDK, which lie in KNOWN, a line each. What follows a `?` there may be missing. Where
a store does otherwise for a reason, which stands above, the SDK's line follows a `-` and the store's a `+`. With --of-sdk
the command is that SDK, and its requests have to be all that KNOWN has of them."""
import os
import pathlib
import subprocess
import sys

words = sys.argv[1:]
of_sdk = words[0] == "--of-sdk"
known = pathlib.Path(words[of_sdk]).read_text().splitlines()
status = subprocess.run(words[of_sdk + 1:]).returncode
if status:
    sys.exit(status)
sent = set(pathlib.Path(os.environ["MDSTREAM_TEST_REQUESTS"]).read_text().splitlines())
mine, others = ("-", "+") if of_sdk else ("+", "-")
lines = {line for line in known if line and not line.startswith(("#", others))}
needed = {line.removeprefix(mine).removeprefix("?" if of_sdk else "") for line in lines if of_sdk or not line.startswith("?")}
allowed = needed | {line.removeprefix("?") for line in lines if line.startswith("?")}
for line in sorted(sent - allowed):
    print("not as the SDK sends it:", line)
for line in sorted(needed - sent):
    print("never sent:", line)
sys.exit(sent - allowed != set() or needed - sent != set())
