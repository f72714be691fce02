#!/usr/bin/env bash
# tests/run.sh [--long] [--repeat N] [NAME...]: installs what is missing, builds the tests, under the sanitizers where they can be,
# and runs them through ctest. With names (modules such as `order`, or `negative`, `consumer`, `headers`) only those, and installs the
# packages they need; what tools/install-mosaic.sh, -nvidia.sh and -arrow.sh put in $PEERS (/opt/peers) is installed without names, and
# with names the tests that lack it are left out. Asks nothing. --long: tests that draw by chance go on for longer, the soak for 100,000
# faults (hours), and without names tests/aarch64.sh and tests/compilers.sh run too. --repeat: each test N times, on a machine that is
# busy with something else; the first failure ends its test. The build lies in build/tests; MDSTREAM_JOBS is the number of compilers
# and tests at a time, by default that of the cores.
set -euo pipefail
cd "$(dirname "$0")/.."

repeat=()
while :; do
  case ${1:-} in
    --long) export MDSTREAM_LONG_TESTS=1 ;;
    --repeat)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || { echo "tests/run.sh: --repeat needs a number" >&2 && exit 2; }
      repeat=(--repeat "until-fail:$2")
      shift ;;
    *) break ;;
  esac
  shift
done
for word in "$@"; do
  case $word in -*) echo "tests/run.sh: there is no option '$word'" >&2 && exit 2 ;; esac
done

# A test whose name is given gets what it needs and no more.
needed=(build test)
for name in "${@:-all}"; do
  case $name in
    order*) needed+=(clang) && continue ;;
    async* | collate* | core* | json* | schedule*) continue ;;  # no component, no server
    format* | hash*) needed+=(formats) && continue ;;
    all) needed+=(mpi launchers torch sound) ;;
    launch* | moving_day | own_data | quickstart*) needed+=(mpi launchers) ;;
    example*) needed+=(torch sound mpi launchers) ;;
  esac
  needed+=(formats stores servers cli gpu clang)
done
tools/install-deps.sh "${needed[@]}"
if [ $# -eq 0 ]; then
  for peer in mosaic nvidia arrow; do
    tools/install-$peer.sh || echo "mdstream: tools/install-$peer.sh has failed, the tests that need it cannot run" >&2
  done
fi
jobs=${MDSTREAM_JOBS:-$(nproc)}
build=build/tests

# -O1 halves the time of the build; what depends on optimisation has flags of its own.
options=(-DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DMDSTREAM_TESTS=ON -DMDSTREAM_SANITIZERS=ON -DMDSTREAM_EXAMPLES=ON -DMDSTREAM_BENCH="${MDSTREAM_TESTS_BENCH:-OFF}"
         -DMDSTREAM_WERROR="${MDSTREAM_WERROR:-OFF}")
if command -v ccache >/dev/null; then
  export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1  # clones share what they compile
  export CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1  # also what has a precompiled header (support/instead.sh)
  options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
fi
if command -v mold >/dev/null; then  # a fourth of the time of binutils' linker
  options+=(-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=mold)
fi
if [ -e "${PEERS:-/opt/peers}/nvidia/complete-1" ]; then  # tools/install-nvidia.sh
  export NVJPEG_ROOT=${NVJPEG_ROOT:-${PEERS:-/opt/peers}/nvidia}
fi
if [ -e "${PEERS:-/opt/peers}/arrow/complete-1" ]; then  # tools/install-arrow.sh
  export ARROW_ROOT=${ARROW_ROOT:-${PEERS:-/opt/peers}/arrow}
fi
cmake -S . -B "$build" -G Ninja "${options[@]}"

# run_tests CHECK [PATTERN]: ctest of all or of these; then whether all that has to run did (tests/check_run.py).
run_tests() {
  local status=0 busy=() i room temporary=
  rm -f "$build/results.xml"
  # What tests write lies in memory where there is room: many would wait for flushes most of their time. What needs a disk finds one
  # (support/disk_files.hpp), and what is interrupted (mdstream_interrupted) writes to that of the build.
  room=$(df --output=avail /dev/shm 2>/dev/null | tail -1) || room=0
  if [ -w /dev/shm ] && [ "$room" -ge $((8 << 20)) ]; then
    temporary=$(mktemp -d /dev/shm/mdstream-tests-XXXXXX)
    chmod 1777 "$temporary"  # as /tmp: some tests are other users
    export TMPDIR=$temporary
  fi
  if [ ${#repeat[@]} -gt 0 ]; then
    for ((i = 0; i < $(nproc); ++i)); do
      (while :; do :; done) &
      busy+=($!)
    done
  fi
  # shellcheck disable=SC2064 # what there is now
  trap "${busy[*]:+kill ${busy[*]};} rm -rf $temporary" EXIT
  ctest --test-dir "$build" --output-on-failure --no-tests=error --output-junit results.xml --test-output-size-passed 1000000 -j $((jobs + 1)) "${repeat[@]}" ${2:+-R "$2"} || status=$?
  [ -e "$build/results.xml" ] || exit $((status ? status : 1))
  tests/check_run.py "$build" --times
  tests/check_run.py "$build" "$@" || status=1
  exit $status
}

if [ $# -eq 0 ]; then
  tests/check_run.py "$build" --configured "${MDSTREAM_TESTS_CHECK:---whole}"  # said now, not after an hour
  cmake --build "$build" -j "$jobs"
  if [ -n "${MDSTREAM_LONG_TESTS:-}" ]; then
    tests/aarch64.sh
    tests/compilers.sh
  fi
  run_tests "${MDSTREAM_TESTS_CHECK:---whole}"
fi

names=$(IFS='|'; echo "$*")
pattern="^($names)(_|\$)"
# The programs of these modules, and those that their tests start.
started() {
  ctest --test-dir "$build" --show-only=json-v1 -R "$pattern" | python3 -c '
import json, os, sys
build = os.path.realpath(sys.argv[1]) + "/"
words = {word for test in json.load(sys.stdin)["tests"] for word in test.get("command", [])}
print("\n".join(word.removeprefix(build) for word in words if word.startswith(build)))' "$build"
}
known=$(ninja -C "$build" -t targets all)
targets=$(sed -nE "s/^(test_($names)(_[a-z]+)*): phony\$/\1/p" <<<"$known" && comm -12 <(started | sort -u) <(sed 's/: .*//' <<<"$known" | sort -u))
if [ -n "$targets" ]; then
  # shellcheck disable=SC2086 # one word for each target
  cmake --build "$build" -j "$jobs" --target $targets
fi
run_tests --part "$pattern"
