#!/usr/bin/env bash
# images_test.sh PROGRAM WORK PICTURES: the classifier learns, and what it sees depends on nothing
# but the seed.
set -euo pipefail
program=$1 work=$2 pictures=$3
mkdir -p "$work"
for threads in 1 3; do
  "$program" "$work/dataset" "$pictures" $threads >"$work/$threads"
done
cat "$work/1"
diff "$work/1" "$work/3"
[ "$(awk '{print $NF}' "$work/1" | sort -u | wc -l)" = 5 ] || { echo "epochs saw the same pixels" >&2; exit 1; }
tail -n 1 "$work/1" | grep -Eq '120 pictures of 2 classes, (8[5-9]|9[0-9]|100) % right'
