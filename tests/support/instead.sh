#!/usr/bin/env bash
# instead.sh COMPILER WORD... COMPILER ARGUMENT...: what a build wants of COMPILER, done by the command WORD... (another
# compiler, perhaps behind ccache) with the same arguments. CMake knows one compiler; some targets want a second.
other=$1
shift
words=()
until [ "$1" = "$other" ]; do
  words+=("$1")
  shift
done
# CMake writes a precompiled header by a command that includes it: clang would read the one of the build before.
# It names files and their times, so that no other clone can have it from ccache.
for word in "$@"; do
  case $word in *.gch) rm -f "$word" && export CCACHE_DISABLE=1 ;; esac
done
exec "${words[@]}" "${@:2}"
