#!/usr/bin/env bash
# tests/aarch64.sh [NAME...]: builds tests for aarch64 with Debian's cross compiler and runs them under qemu: by default of
# the modules whose bytes and order may depend on the processor. Others by their names, but for those that start themselves
# once more (cache): that needs binfmt_misc. Installs the compiler, qemu and arm64's libraries beside the system's own: best
# in a container or chroot of its own. Not part of tests/run.sh. The build lies in build/aarch64.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tools/tries.sh
. tools/tries.sh

names=("$@")
[ ${#names[@]} -gt 0 ] || names=(core order order_fastmath codec hash format collate checkpoint)

libraries=(zlib1g-dev libbz2-dev libbrotli-dev libsnappy-dev libssl-dev libjpeg-dev libpng-dev libcurl4-openssl-dev libzstd-dev libxxhash-dev)
as_root=()
if [ "$(id -u)" -ne 0 ]; then as_root=(sudo); fi
"${as_root[@]}" dpkg --add-architecture arm64
tries "${as_root[@]}" apt-get -qq update
tries "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends g++-aarch64-linux-gnu qemu-user-static \
  cmake ninja-build git libasio-dev catch2 nlohmann-json3-dev "${libraries[@]/%/:arm64}" >/dev/null

build=build/aarch64
cmake -S . -B "$build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/aarch64-linux-gnu.cmake" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DMDSTREAM_TESTS=ON -DMDSTREAM_EXAMPLES=OFF -DMDSTREAM_BENCH=OFF
cmake --build "$build" --target "${names[@]/#/test_}"
ctest --test-dir "$build" --output-on-failure --no-tests=error -j "$(nproc)" -R "^($(IFS='|'; echo "${names[*]}"))\$"
