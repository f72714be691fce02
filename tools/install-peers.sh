#!/usr/bin/env bash
# tools/install-peers.sh [DIRECTORY]: libraries that do what mdstream does, as peers of benchmarks, in a
# Python environment of its own: Debian's torch and NumPy, the rest from PyPI without its dependencies'
# gigabytes. DIRECTORY defaults to $PEERS/others, or /opt/peers/others. Does nothing where it is complete.
# Hugging Face's datasets want a newer NumPy than Debian's torch: DIRECTORY/datasets is their own environment.
# MosaicML Streaming has an environment of its own: tools/install-mosaic.sh.
set -euo pipefail
# shellcheck source=tools/tries.sh
. "$(dirname "$0")/tries.sh"

directory=${1:-${PEERS:-/opt/peers}/others}
works() { "$directory/bin/python" -c 'import mlx.data, numpy, torch, webdataset, lightning_utilities, boto3' 2>/dev/null; }
streams() { "$directory/datasets/bin/python" -c 'import datasets' 2>/dev/null; }
if [ -x "$directory/bin/python" ] && works && streams; then exit 0; fi

install_packages python3-venv python3-torch python3-numpy

mkdir -p "$(dirname "$directory")"
/usr/bin/python3 -m venv --system-site-packages "$directory"
tries "$directory/bin/pip" install -q --disable-pip-version-check --no-deps \
  litdata==0.2.61 lightning-utilities tifffile filelock obstore fsspec tqdm boto3 botocore s3transfer jmespath \
  python-dateutil six urllib3 requests PyYAML certifi idna charset-normalizer typing_extensions packaging \
  webdataset==1.0.2 braceexpand mlx-data==0.1.0
/usr/bin/python3 -m venv "$directory/datasets"
tries "$directory/datasets/bin/pip" install -q --disable-pip-version-check --only-binary=:all: datasets==5.2.0
works
streams
