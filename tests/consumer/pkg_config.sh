#!/usr/bin/env bash
# pkg_config.sh PKG_CONFIG PREFIX COMPILER DIRECTORY: builds the consumer with what the .pc files of PREFIX say.
set -euo pipefail
pkg_config=$1 prefix=$2 compiler=$3 directory=$4
source=$(cd "$(dirname "$0")/source" && pwd)
mkdir -p "$directory"
export PKG_CONFIG_PATH=$prefix/share/pkgconfig
# shellcheck disable=SC2046 # flags are words
"$compiler" $("$pkg_config" --cflags mdstream-zstd) "$source"/one.cpp "$source"/two.cpp \
  -o "$directory"/consumer $("$pkg_config" --libs mdstream-zstd)
"$directory"/consumer
