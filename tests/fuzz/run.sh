#!/usr/bin/env bash
# tests/fuzz/run.sh [--keep] [SECONDS [NAME...]]: builds the fuzzer with clang, under the address and undefined-behaviour sanitizers, in
# build/fuzz, and runs it for that long (30 s) on each target, as many at a time as there are cores. It begins with the inputs that every
# run of the tests replays (inputs.cpp) and with those in build/fuzz/found/NAME, where it keeps what reaches new code. With
# MDSTREAM_TEST_SEED it draws the same inputs each time.
# A finding is in build/fuzz/findings: mend it, and add it to the corpus, which every run of the tests replays.
# With --keep, the fewest inputs found that reach code which the corpus does not are added to it, those of up to 1 KiB
# (archives, whose blocks have half of one: 10 KiB).
set -euo pipefail
cd "$(dirname "$0")/../.."

keep=
if [ "${1:-}" = --keep ]; then
  keep=yes
  shift
fi
seconds=${1:-30}
shift || true
build=build/fuzz
options=(--preset fuzz -B "$build")
if command -v ccache >/dev/null; then
  export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1  # clones share what they compile
  options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
if [ -e "${PEERS:-/opt/peers}/arrow/complete-1" ]; then export ARROW_ROOT=${ARROW_ROOT:-${PEERS:-/opt/peers}/arrow}; fi
cmake -S . "${options[@]}" >/dev/null
ninja -C "$build" fuzz
export program=$build/tests/fuzz/fuzz
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
  read -ra names < <({ "$program" -runs=0 2>&1 || true; } | sed -n 's/^fuzz: .* these: //p')  # a target that is not chosen
fi

mkdir -p "$build/findings" "$build/logs"
# fuzz NAME: 4 KiB is more than any format here needs to be wrong in each of its parts. libFuzzer cuts longer inputs, and what has its
# table at the end is nothing without it: an input of up to 64 KiB raises the limit, a longer one is left out.
fuzz() {
  local begin=$build/begin/$1 longest
  rm -rf "$begin"
  mkdir -p "$build/found/$1" "$begin"
  MDSTREAM_FUZZ_TARGET=$1 MDSTREAM_FUZZ_INPUTS=$begin "$program" || return 1
  find "$begin" -type f -size +65536c -delete
  longest=$(find "$begin" "$build/found/$1" -type f -printf '%s\n' | sort -n | tail -n 1)
  if MDSTREAM_FUZZ_TARGET=$1 "$program" -seed="${MDSTREAM_TEST_SEED:-0}" -max_total_time="$seconds" -max_len=$((longest > 4096 ? longest : 4096)) -timeout=300 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$build/findings/$1-" "$build/found/$1" "$begin" >"$build/logs/$1.txt" 2>&1; then
    sed -nE "s/^stat::number_of_executed_units: ([0-9]+)/fuzz: $1: \1 inputs, nothing found/p" "$build/logs/$1.txt"
  else
    tail -n 40 "$build/logs/$1.txt" >&2
    echo "fuzz: $1: a finding, see above and $build/findings" >&2
    return 1
  fi
}
# keep NAME: of the inputs that `fuzz` began with the names are numbers, of those that are added here hashes.
keep() {
  local begin=$build/begin/$1 each count=0 most=1
  if [ "$1" = raw_tar ]; then most=10; fi
  MDSTREAM_FUZZ_TARGET=$1 "$program" -set_cover_merge=1 -use_counters=0 -timeout=300 -rss_limit_mb=2048 -artifact_prefix="$build/findings/$1-" "$begin" "$build/found/$1" >"$build/logs/$1-merge.txt" 2>&1
  while read -r each; do
    cp "$begin/$each" "tests/fuzz/corpus/$1/${each:0:8}"
    count=$((count + 1))
  done < <(find "$begin" -type f -size -$((most * 1024 + 1))c -name '????????*' -printf '%f\n')
  echo "fuzz: $1: $count inputs added to the corpus"
}
export -f fuzz keep
export build seconds
for step in fuzz ${keep:+keep}; do
  printf '%s\n' "${names[@]}" | xargs -P "${MDSTREAM_JOBS:-$(nproc)}" -I{} bash -c "set -e; $step {}"
done
