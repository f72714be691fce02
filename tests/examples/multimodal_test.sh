#!/usr/bin/env bash
# multimodal_test.sh PROGRAM WORK PICTURES: every picture, box and byte of the captions comes.
set -euo pipefail
program=$1 work=$2 pictures=$3
mkdir -p "$work"
"$program" "$work/dataset" "$pictures" | tee "$work/out"
grep -q '^batch 14: pixels {8, 64, 64, 3}' "$work/out"
tail -n 1 "$work/out" | diff - "$pictures/sums"
