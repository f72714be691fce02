#!/usr/bin/env bash
# tools/install-mosaic.sh [DIRECTORY]: MosaicML Streaming in a Python environment of its own, for tests
# of interoperability and as a peer of benchmarks. Debian's torch and NumPy, the rest from PyPI.
# DIRECTORY defaults to $PEERS/mosaic, or /opt/peers/mosaic. Does nothing where it is complete.
set -euo pipefail
# shellcheck source=tools/tries.sh
. "$(dirname "$0")/tries.sh"

directory=${1:-${PEERS:-/opt/peers}/mosaic}
works() { "$directory/bin/python" -c 'import streaming, torch, numpy, PIL, zstd, brotli, snappy, xxhash, safetensors, transformers' 2>/dev/null; }
if [ -x "$directory/bin/python" ] && works; then exit 0; fi

install_packages python3-venv python3-torch python3-torchvision python3-numpy python3-pil

mkdir -p "$(dirname "$directory")"
/usr/bin/python3 -m venv --system-site-packages "$directory"
# Without dependencies, or gigabytes of another torch would follow. Locks of filelock 3.31 and later do
# not survive the fork of this version's workers.
tries "$directory/bin/pip" install -q --disable-pip-version-check --no-deps \
  mosaicml-streaming==0.13.0 filelock==3.20.0 Brotli==1.2.1 zstd==1.5.7.2 python-snappy==0.7.3 \
  cramjam==2.14.0 xxhash==3.8.2 tqdm==4.70.1 catalogue==2.0.10 sortedcollections==2.1.0 \
  sortedcontainers==2.4.0 boto3==1.44.5 botocore==1.44.5 s3transfer==0.19.3 jmespath==1.1.0 \
  transformers==4.30.2 huggingface_hub==0.19.4 tokenizers==0.13.3 safetensors==0.8.0 \
  regex==2026.11.15 packaging==26.3 fsspec==2026.9.0 python-dateutil six urllib3 requests PyYAML certifi idna charset-normalizer typing_extensions
works
