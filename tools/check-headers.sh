#!/usr/bin/env bash
# tools/check-headers.sh [HEADER...]: compiles the public headers with clang and every warning: all of the
# library that a compiler can object to without a program. Without arguments all in one translation unit,
# which takes seconds; with `--each`, or with names, each by itself, which alone shows a header that
# leans on what another has included (minutes for all). Each way twice: with the plain code, and with its
# declarations alone. CLANG=clang++-16: with that one.
set -euo pipefail
cd "$(dirname "$0")/.."
export CLANG=${CLANG:-clang++-19}

check() {
  "$CLANG" -std=c++20 -x c++ -fsyntax-only -DASIO_STANDALONE -Iinclude -Wall -Wextra -Wpedantic -Wshadow -Wconversion \
    -Werror "$@"
}
# Included, since the main file's own `#pragma once` does not count.
check_by_itself() { check - "${@:2}" <<<"#include \"$PWD/$1\""; }
export -f check check_by_itself

all_headers() {  # but those that call the CUDA runtime or Arrow
  git ls-files 'include/*.hpp' ':!include/mdstream/src.hpp' ':!include/mdstream/raw/parquet.hpp' ':!include/mdstream/raw/detail/arrow_values.hpp' ':!include/mdstream/stage/cuda*' ':!include/mdstream/stage/pinned.hpp' ':!include/mdstream/image/nvjpeg.hpp'
}

if [ $# -eq 0 ]; then
  unit=$(mktemp)
  trap 'rm -f "$unit"' EXIT
  all_headers | sed 's|^include/\(.*\)|#include <\1>|' >"$unit"
  check "$unit"
  check "$unit" -DMDSTREAM_SEPARATE_COMPILATION
  echo "mdstream: $CLANG takes all $(wc -l <"$unit") headers, in one translation unit"
  exit
fi
[ "$1" != --each ] || set -- $(all_headers)
printf '%s\n' "$@" | xargs -P "$(nproc)" -I{} bash -c 'check_by_itself {} && check_by_itself {} -DMDSTREAM_SEPARATE_COMPILATION'
echo "mdstream: $CLANG takes $# headers, each by itself"
