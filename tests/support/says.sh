#!/usr/bin/env bash
# says.sh [--fails] [--whole] PATTERN COMMAND...: passes where COMMAND succeeds (with --fails: fails) and a line of its output
# matches the extended regular expression PATTERN; with --whole all of its output, from its first line to the end of its last.
# CTest's own PASS_REGULAR_EXPRESSION forgets the exit status.
set -u
wanted=success whole=
if [ "$1" = --fails ]; then wanted=failure && shift; fi
if [ "$1" = --whole ]; then whole=yes && shift; fi
pattern=$1 && shift
output=$(mktemp) && trap 'rm -f "$output"' EXIT
"$@" 2>&1 | tee "$output"  # shown at once, so that a time-out leaves it in the log
status=${PIPESTATUS[0]}
if [ $status -eq 0 ]; then found=success; else found=failure; fi
if [ $found != $wanted ]; then echo "says.sh: exit status $status, expected $wanted" >&2 && exit 1; fi
if [ -n "$whole" ]; then
  [[ $(<"$output") =~ ^($pattern)$ ]] || { echo "says.sh: the output does not match '$pattern'" >&2 && exit 1; }
else
  grep -Eq -- "$pattern" "$output" || { echo "says.sh: no line matches '$pattern'" >&2 && exit 1; }
fi
