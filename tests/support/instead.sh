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
exec "${words[@]}" "${@:2}"
