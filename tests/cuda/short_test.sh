#!/usr/bin/env bash
# short_test.sh WRITE CUDA WORK: the short example of batches on a device. Says so where there is no device.
set -euo pipefail
rm -rf "$3"
mkdir -p "$3/temporary"
cd "$3"
export TMPDIR=$3/temporary
"$1"
if ! said=$("$2" 2>&1); then
  printf '%s\n' "$said"
  if grep -Eq 'cudaError(NoDevice|InsufficientDriver)' <<<"$said"; then
    echo "skipped: there is no CUDA device"
    exit 77
  fi
  exit 1
fi
grep -qx "2500 labels are positive" <<<"$said"
