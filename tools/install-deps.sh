#!/usr/bin/env bash
# tools/install-deps.sh GROUP...: installs what is missing of the named groups of packages, on
# Debian 12 and Ubuntu 24.04 or newer, without a question. What is there already costs no apt call.
set -euo pipefail

is_debian() { grep -qx ID=debian /etc/os-release 2>/dev/null; }  # whose packages include libtorch
has_cuda_toolkit() { command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; }

packages_of() {
  case $1 in
    build) echo g++ cmake ninja-build ca-certificates libasio-dev libzstd-dev libxxhash-dev ;;
    formats) echo zlib1g-dev libbz2-dev libbrotli-dev libsnappy-dev libssl-dev libjpeg-dev libpng-dev ;;
    stores) echo libcurl4-openssl-dev libssl-dev ;;
    test) echo catch2 nlohmann-json3-dev git pkg-config nginx-light openssl curl python3-venv openssh-server openssh-client ;;
    cli) echo libcli11-dev nlohmann-json3-dev ;;
    mpi) echo openmpi-bin libopenmpi-dev ;;
    gpu) echo libtbb-dev libdlpack-dev; has_cuda_toolkit || echo libthrust-dev ;;
    torch) ! is_debian || echo libtorch-dev ;;
    clang) echo clang-19 clang-format-19 ;;
    bench) echo zstd gzip bzip2 brotli ;;
    *) echo "tools/install-deps.sh: no group '$1'; there are: build formats stores test cli mpi gpu torch clang bench" >&2 && return 2 ;;
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
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "mdstream: these packages (Debian's names) are missing, and there is no apt-get to install them: ${missing[*]}" >&2
  exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "mdstream: as root, please: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "mdstream: installing ${missing[*]}"
# RUNLEVEL=1 keeps servers among the packages from being started.
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -qq -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0)
"${apt[@]}" update
"${apt[@]}" install -y --no-install-recommends "${missing[@]}" >/dev/null
