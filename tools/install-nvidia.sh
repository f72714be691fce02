#!/usr/bin/env bash
# tools/install-nvidia.sh [DIRECTORY]: headers and libraries of NVIDIA's that a CUDA toolkit may lack or
# has no part in, from PyPI, to build tests with: nvJPEG, RMM and the logger that it needs. DIRECTORY
# defaults to $PEERS/nvidia, or /opt/peers/nvidia. Does nothing where it is complete or there is no nvcc; where
# something fails, the directory is not there.
set -euo pipefail
# shellcheck source=tools/tries.sh
. "$(dirname "$0")/tries.sh"

directory=${1:-${PEERS:-/opt/peers}/nvidia}
complete=$directory/complete-1
[ ! -e "$complete" ] || exit 0
if ! command -v nvcc >/dev/null && [ ! -x /usr/local/cuda/bin/nvcc ]; then
  echo "mdstream: tools/install-nvidia.sh installs nothing: there is no nvcc to build with it"
  exit 0
fi
if [ -n "$(ls -A "$directory" 2>/dev/null)" ]; then
  echo "mdstream: tools/install-nvidia.sh: $directory has other contents, remove it or name another" >&2
  exit 1
fi

wheels=$(mktemp -d)
partial=
trap 'rm -rf "$wheels" ${partial:+"$partial"}' EXIT
/usr/bin/python3 -m venv "$wheels/venv"
tries "$wheels/venv/bin/pip" download -q --disable-pip-version-check --no-deps --only-binary=:all: -d "$wheels" \
  nvidia-nvjpeg==13.0.4.44 librmm-cu13==26.10.0 rapids-logger==0.3.0
for wheel in "$wheels"/*.whl; do
  /usr/bin/python3 -m zipfile -e "$wheel" "$wheels/all"
done
mkdir -p "$(dirname "$directory")"
partial=$(mktemp -d "$directory.XXXXXX")  # beside it, for a move at once
chmod 755 "$partial"
mkdir "$partial/include" "$partial/lib"
for part in nvidia/cu13 librmm rapids_logger; do
  cp -r "$wheels/all/$part/include/." "$partial/include"
  cp "$wheels/all/$part"/lib*/*.so* "$partial/lib"
done
touch "$partial/${complete##*/}"
mv -T "$partial" "$directory"
