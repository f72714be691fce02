#!/usr/bin/env bash
# examples/quickstart.sh [--prose FOLDER]... [--code FOLDER]...: installs what is missing, builds, and
# trains a small byte-level language model from a weighted mix of two datasets that it makes of texts
# on this machine: prose (/usr/share) and code (/usr/include), or the folders given.
# Everything lies in build/quickstart.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/install-deps.sh build
build=build/quickstart
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DMDSTREAM_TESTS=OFF -DMDSTREAM_EXAMPLES=ON >/dev/null
cmake --build "$build" --target quickstart
quickstart=$build/bin/quickstart

echo "== two datasets, in a directory that plays the object store"
"$quickstart" prepare --work "$build/work" "$@"
echo "== training on one rank, through a cache that is smaller than the data"
"$quickstart" train --work "$build/work" --run calm
"$quickstart" report --work "$build/work" --run calm
