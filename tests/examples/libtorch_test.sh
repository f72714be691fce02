#!/usr/bin/env bash
# libtorch_test.sh PROGRAM WORK: the network learns, and a run that ends in the middle of an epoch and goes on in
# another process has the same losses to the last digit.
set -euo pipefail
program=$1 work=$2

rm -rf "$work"
mkdir -p "$work"
"$program" "$work/whole" >"$work/whole.txt"
grep -q "learnt, on tensors that lie in the batches" "$work/whole.txt"
"$program" "$work/parts" 139 >"$work/parts.txt" || true  # it may not have learnt yet
"$program" "$work/parts" >>"$work/parts.txt"
grep "goes on from step 125" "$work/parts.txt"
# Steps 126 to 139 are done twice.
diff <(grep loss "$work/whole.txt") <(grep loss "$work/parts.txt")
tail -2 "$work/whole.txt"
