#!/usr/bin/env bash
# bench/run.sh [NAME...]: installs what is missing, builds the benchmarks (all, or those named, as
# `loader`) and runs them: one JSON object a line, and one of ratios for each case. The build lies in
# build/bench, the data that they make in build/bench-data.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/install-deps.sh build >&2
build=build/bench
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DMDSTREAM_BENCH=ON -DMDSTREAM_TESTS=OFF \
  -DMDSTREAM_EXAMPLES=OFF >&2

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
  mapfile -t names < <(sed -nE 's/^mdstream_add_bench\((\w+).*/\1/p' bench/CMakeLists.txt)
fi
for name in "${names[@]}"; do
  if ! grep -q "^mdstream_add_bench($name\b" bench/CMakeLists.txt; then
    echo "bench/run.sh: there is no benchmark '$name'" >&2
    exit 2
  fi
done
cmake --build "$build" --target "${names[@]/#/bench_}" >&2
for name in "${names[@]}"; do
  find "$build" -name "bench_$name" -type f -perm -u+x -exec {} build/bench-data \;
done
