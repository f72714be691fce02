#!/usr/bin/env bash
# tests/aarch64.sh [NAME...]: builds tests for aarch64 with Debian's cross compiler and runs them under qemu: by default
# those of the modules whose bytes and order may depend on the processor, the cache's, and `loader`, the consumer's program, which
# writes a dataset and reads it through a loader. Others by their names. Installs the compiler and qemu; arm64's libraries are
# unpacked in build/aarch64-system, so that the packages of this system stay as they are. tests/run.sh --long runs it. The build
# lies in build/aarch64.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tools/tries.sh
. tools/tries.sh

names=("$@")
[ ${#names[@]} -gt 0 ] || names=(loader core order order_fastmath codec hash format collate checkpoint cache)

install_packages g++-aarch64-linux-gnu qemu-user-static cmake ninja-build git

# What apt would install on an empty system of the other architecture.
system=$PWD/build/aarch64-system
if [ ! -e "$system/complete-1" ]; then
  rm -rf "$system"
  mkdir -p "$system"/apt/state/lists/partial "$system"/apt/cache/archives/partial
  : >"$system/apt/state/status"
  apt=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$system/apt/state"
       -o Dir::State::status="$system/apt/state/status" -o Dir::Cache="$system/apt/cache" -o APT::Sandbox::User="$(id -un)")
  tries "${apt[@]}" update
  tries "${apt[@]}" install -y --no-install-recommends --download-only libc6-dev zlib1g-dev libbz2-dev libbrotli-dev libsnappy-dev \
    libssl-dev libjpeg-dev libpng-dev libcurl4-openssl-dev libzstd-dev libxxhash-dev libasio-dev catch2 nlohmann-json3-dev >/dev/null
  for package in "$system"/apt/cache/archives/*.deb; do dpkg-deb -x "$package" "$system"; done
  rm -rf "$system/apt"
  touch "$system/complete-1"
fi

build=build/aarch64
tests=()
for name in "${names[@]}"; do
  [ "$name" = loader ] || { tests+=("$name") && continue; }
  mkdir -p "$build"
  aarch64-linux-gnu-g++ --sysroot="$system" -std=c++20 -O1 -DASIO_STANDALONE -DCONSUMER_READS -Iinclude tests/consumer/source/*.cpp \
    -o "$build/loader" -pthread -lzstd
  qemu-aarch64-static -L "$system" "$build/loader"
done
[ ${#tests[@]} -gt 0 ] || exit 0

cmake -S . -B "$build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/aarch64-linux-gnu.cmake" -DCMAKE_SYSROOT="$system" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DMDSTREAM_TESTS=ON -DMDSTREAM_EXAMPLES=OFF -DMDSTREAM_BENCH=OFF -DMDSTREAM_CUDA=OFF
cmake --build "$build" --target "${tests[@]/#/test_}"
for name in "${tests[@]}"; do
  echo "mdstream: $name"
  # qemu passes on neither filters of system calls nor advice about memory.
  qemu-aarch64-static -L "$system" "$(find "$build/tests" -type f -name "test_$name")" "~[kernel]"
done
