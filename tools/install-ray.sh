#!/usr/bin/env bash
# tools/install-ray.sh [DIRECTORY]: Ray Train in a Python environment of its own, for the long form of the launchers' tests, with
# Debian's torch. DIRECTORY defaults to $PEERS/ray, or /opt/peers/ray. Does nothing where it is complete.
set -euo pipefail
# shellcheck source=tools/tries.sh
. "$(dirname "$0")/tries.sh"

directory=${1:-${PEERS:-/opt/peers}/ray}
works() { "$directory/bin/python" -c 'import ray.train.torch, torch' 2>/dev/null; }
if [ -x "$directory/bin/python" ] && works; then exit 0; fi

"$(dirname "$0")/install-deps.sh" launchers
mkdir -p "$(dirname "$directory")"
/usr/bin/python3 -m venv --system-site-packages "$directory"
# Debian's torch is compiled for NumPy 1, which later versions of pyarrow refuse.
tries "$directory/bin/pip" install -q --disable-pip-version-check 'ray[train]==2.60.0' 'numpy<2' pyarrow==21.0.0
works
