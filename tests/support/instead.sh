#!/usr/bin/env bash
# instead.sh COMPILER WORD... COMPILER ARGUMENT...: what a build wants of COMPILER, done by the command WORD... (another
# compiler, perhaps behind ccache) with the same arguments. CMake knows one compiler; some targets want a second.
set -euo pipefail
other=$1
shift
words=()
until [ "$1" = "$other" ]; do
  words+=("$1")
  shift
done
# CMake writes a precompiled header by a command that includes it: clang would read the one of the build before. It names files and
# their times, so that ccache would find nothing for who uses it in another clone: those are told a sum of what was parsed.
for word in "$@"; do
  case $word in
    *.gch)
      rm -f "$word"
      export CCACHE_DISABLE=1
      "${words[@]}" "${@:2}" -E -dD -o - | sed "s|${CCACHE_BASEDIR:-$PWD}/||g" | sha256sum >"$word.sum"
      ;;
  esac
done
exec "${words[@]}" "${@:2}"
