#!/usr/bin/env bash
# examples/quickstart.sh [--prose FOLDER]... [--code FOLDER]...: installs what is missing, builds, and
# trains a small byte-level language model from a weighted mix of two datasets that it makes of texts
# on this machine: prose (/usr/share) and code (/usr/include), or the folders given. Then the same training once
# more: on three ranks, killed, resumed on one, killed, resumed on two; it has to be the same run.
# Everything lies in build/quickstart; with QUICKSTART_STORE=s3://bucket/prefix the datasets and checkpoints
# in that bucket (credentials and endpoint as docs/stores/s3.md has them).
set -euo pipefail
cd "$(dirname "$0")/.."

tools/install-deps.sh build stores mpi
build=build/quickstart
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DMDSTREAM_TESTS=OFF -DMDSTREAM_EXAMPLES=ON >/dev/null
cmake --build "$build" --target quickstart
quickstart=$build/bin/quickstart work=$build/work

echo "== two datasets, in ${QUICKSTART_STORE:-a directory that plays the object store}"
"$quickstart" prepare --work "$work" "$@"
echo "== training on one rank, through a cache that is smaller than the data"
"$quickstart" train --work "$work" --run calm
"$quickstart" report --work "$work" --run calm

echo "== the same training, killed with SIGKILL and moved to other numbers of ranks"
examples/quickstart/killed.sh "$quickstart" "$work" killed 1600 "3 530" "1 1070" 2
"$quickstart" report --work "$work" --run calm --against killed
