#!/usr/bin/env bash
# tests/compilers.sh [clang-16] [g++-14]: builds the command line, the examples and the tests by compilers that tests/run.sh does not
# use, with the checks of libstdc++'s containers, without sanitizers and CUDA, and runs the tests; by default by both. clang-16 is
# Debian 12's. g++-14 is in a Debian 13 of its own, in build/debian-13, which debootstrap makes (as root); nothing of Arrow and MosaicML
# Streaming is there. tests/run.sh --long runs it. The builds lie in build/clang-16 and build/g++-14.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tools/tries.sh
. tools/tries.sh
unset MDSTREAM_LONG_TESTS  # more draws and faults would tell nothing of a compiler

# build_and_test NAME LEFT_OUT OPTION...: in build/NAME, with these options of CMake, without the tests whose names match LEFT_OUT ('^$': none).
# clang 16 refuses the headers of libtorch.
build_and_test() {
  local build=build/$1
  tools/install-deps.sh build formats stores test servers cli mpi launchers sound clang
  cmake --preset dev -B "$build" -DCMAKE_CXX_FLAGS_DEBUG=-D_GLIBCXX_ASSERTIONS -DMDSTREAM_BENCH=OFF -DMDSTREAM_CUDA=OFF \
    -DCMAKE_DISABLE_FIND_PACKAGE_Torch=ON -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=mold "${@:3}"
  cmake --build "$build"
  ctest --test-dir "$build" --output-on-failure --no-tests=error -j "$(nproc)" -E "$2"
  echo "mdstream: the tests that $1 builds pass"
}

# on_debian_13 COMMAND...: runs it in the checkout, in a Debian 13 with this system's settings for downloads.
on_debian_13() {
  local system=$PWD/build/debian-13 mirror
  if [ ! -e "$system/complete-1" ]; then
    install_packages debootstrap
    # shellcheck disable=SC2016 # of apt
    mirror=$(apt-get indextargets --format '$(REPO_URI)' | head -1)
    rm -rf "$system"
    tries debootstrap --variant=minbase --include=ca-certificates trixie "$system" "$mirror" >/dev/null
    cp -a /etc/apt/apt.conf.d/. "$system/etc/apt/apt.conf.d/"
    for each in /etc/ssl/certs/ca-certificates.crt /etc/pip.conf /etc/resolv.conf /etc/hosts; do [ ! -e $each ] || cp -L $each "$system$each"; done
    touch "$system/complete-1"
  fi
  mkdir -p "$system/mdstream"
  # Its mounts go with it.
  unshare --mount --pid --fork --kill-child bash -euo pipefail -c '
    system=$1
    shift
    mount --bind "$system" "$system"  # tests with mounts of their own want a root that is one
    mount --bind "$PWD" "$system/mdstream"
    mount -t proc proc "$system/proc"
    for each in dev sys; do mount --rbind /$each "$system/$each"; done
    chroot "$system" env -C /mdstream "$@"' - "$system" "$@"
}

if [ "${1:-}" = --here ]; then  # within that Debian 13
  build_and_test "${@:2}"
  exit
fi
[ $# -gt 0 ] || set -- clang-16 g++-14
for compiler in "$@"; do
  case $compiler in
    clang-16)
      tools/install-deps.sh clang16
      # Debian 12's Asio does not know that clang has coroutines. Of how pages are written g++ is the judge.
      build_and_test clang-16 '^$' -DCMAKE_CXX_COMPILER=clang++-16 -DCMAKE_CXX_FLAGS="-DASIO_HAS_CO_AWAIT -DASIO_HAS_STD_COROUTINE" \
        -DMDSTREAM_WERROR=OFF
      ;;
    # Debian 13's torchrun (2.6) starts no ranks that meet by c10d: it is built without libuv, and asks for it.
    g++-14) on_debian_13 tests/compilers.sh --here g++-14 '^(launch_torchrun|moving_day)$' ;;
    *) echo "tests/compilers.sh: clang-16 or g++-14, not '$compiler'" >&2 && exit 2 ;;
  esac
done
