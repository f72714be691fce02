#!/usr/bin/env bash
# tools/install-deps.sh GROUP...: installs what is missing of the named groups of packages, on
# Debian 12 and Ubuntu 24.04 or newer, without a question. What is there already costs no apt call.
# Group `gpu` adds cuobjdump from PyPI, in $PEERS/cuobjdump or /opt/peers/cuobjdump, to a CUDA toolkit without it.
set -euo pipefail
# shellcheck source=tools/tries.sh
. "$(dirname "$0")/tries.sh"

is_debian() { grep -qx ID=debian /etc/os-release 2>/dev/null; }  # whose packages include libtorch
has_cuda_toolkit() { command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; }
cuobjdump_directory=${PEERS:-/opt/peers}/cuobjdump
lacks_cuobjdump() {
  has_cuda_toolkit && ! command -v cuobjdump >/dev/null && [ ! -x /usr/local/cuda/bin/cuobjdump ] &&
    [ ! -x "$cuobjdump_directory/bin/cuobjdump" ]
}

packages_of() {
  case $1 in
    build) echo g++ cmake ninja-build ca-certificates libasio-dev libzstd-dev libxxhash-dev ;;
    formats) echo zlib1g-dev libbz2-dev libbrotli-dev libsnappy-dev libssl-dev libjpeg-dev libpng-dev ;;
    stores) echo libcurl4-openssl-dev libssl-dev ;;
    test) echo make mold catch2 nlohmann-json3-dev libdlpack-dev git pkg-config python3 ;;
    servers) echo nginx-light openssl curl python3-venv openssh-server openssh-client ;;
    cli) echo libcli11-dev nlohmann-json3-dev ;;
    mpi) echo openmpi-bin libopenmpi-dev ;;
    launchers) echo openmpi-bin mpich slurm-wlm munge $(! is_debian || echo python3-torch) ;;
    gpu)
      echo libtbb-dev
      has_cuda_toolkit || echo libthrust-dev
      ! lacks_cuobjdump || echo python3-venv
      ;;
    torch) ! is_debian || echo libtorch-dev libgloo-dev ;;
    sound) echo libsndfile1-dev ;;
    clang16) echo clang-16 ;;
    clang) echo clang-19 clang-format-19 libclang-rt-19-dev llvm-19 ;;
    bench) echo zstd gzip bzip2 brotli ;;
    docs) echo doxygen python3-venv chromium ;;
    *) echo "tools/install-deps.sh: no group '$1'; there are: build formats stores test servers cli mpi launchers gpu torch sound clang clang16 bench docs" >&2 && return 2 ;;
  esac
}

is_installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

missing=()
for group in "$@"; do
  names=$(packages_of "$group")
  for name in $names; do
    [[ " ${missing[*]} " == *" $name "* ]] || is_installed "$name" || missing+=("$name")
  done
done

if [ ${#missing[@]} -ne 0 ]; then
  if ! command -v apt-get >/dev/null; then
    echo "mdstream: these packages (Debian's names) are missing, and there is no apt-get to install them: ${missing[*]}" >&2
    exit 1
  fi
  echo "mdstream: installing ${missing[*]}"
  install_packages "${missing[@]}"
fi

as_root=()
if [ "$(id -u)" -ne 0 ] && command -v sudo >/dev/null; then as_root=(sudo); fi

# This version reads what nvcc of CUDA 12 and 13 makes; PyPI has none of 13.0.
install_cuobjdump() (
  wheels=$(mktemp -d)
  trap 'rm -rf "$wheels"' EXIT
  place() { "$@" install -D -m 755 "$wheels/all/nvidia/cu13/bin/cuobjdump" "$cuobjdump_directory/bin/cuobjdump"; }
  /usr/bin/python3 -m venv "$wheels/venv" &&
    tries "$wheels/venv/bin/pip" download -q --disable-pip-version-check --no-deps --only-binary=:all: -d "$wheels" \
      nvidia-cuda-cuobjdump==13.5.37 &&
    /usr/bin/python3 -m zipfile -e "$wheels"/*.whl "$wheels/all" &&
    { place 2>/dev/null || place "${as_root[@]}"; }
)

if [[ " $* " == *" gpu "* ]] && lacks_cuobjdump; then
  echo "mdstream: installing cuobjdump in $cuobjdump_directory"
  install_cuobjdump || echo "mdstream: cuobjdump was not installed, the test that needs it does not run" >&2
fi
