#!/usr/bin/env bash
# quickstart_test.sh QUICKSTART CUDA_QUICKSTART WORK: prepares the quickstart's data and trains on the device. The
# loss has to come below what a model reaches whose products are wrong. Says so where there is no device.
set -euo pipefail
prepare=$1 train=$2 work=$3
steps=400 bound=2.9

rm -rf "$work"
"$prepare" prepare --work "$work"
if ! said=$("$train" "$work" $steps 2>&1); then
  printf '%s\n' "$said"
  if grep -Eq 'cudaError(NoDevice|InsufficientDriver)' <<<"$said"; then
    echo "skipped: there is no CUDA device"
    exit 77
  fi
  exit 1
fi
printf '%s\n' "$said"
loss=$(sed -nE "s/^step $steps: ([0-9]+\.[0-9]+) nats a byte\$/\1/p" <<<"$said")
if ! awk -v loss="$loss" -v bound=$bound 'BEGIN { exit !(loss != "" && loss + 0 < bound) }'; then
  echo "the loss after $steps steps is '$loss', it has to be below $bound nats a byte" >&2
  exit 1
fi

# From the last checkpoint, in another process: 50 steps more.
"$train" "$work" $((steps + 50)) | tee "$work/again.txt"
grep -q "^goes on from step $steps\$" "$work/again.txt"
