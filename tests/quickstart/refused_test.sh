#!/usr/bin/env bash
# refused_test.sh PROGRAM KILLED_SH WORK: what a run has to refuse at its start, and in which words: ranks that do not
# agree with each other or with their launcher, another dataset than the saved state's, a missing mpirun. What was there before
# stays as it was.
set -euo pipefail

program=$1 killed=$2 work=$3
# shellcheck source=examples/quickstart/local_mpi.sh
. "$(dirname "$killed")/local_mpi.sh"

# refused TEXT COMMAND...: the command fails and says TEXT.
refused() {
  local text=$1 said
  shift
  if said=$("$@" 2>&1); then
    echo "was not refused: $*" >&2
    exit 1
  fi
  if ! grep -qF -- "$text" <<<"$said"; then
    printf 'refused without the words "%s":\n%s\n' "$text" "$said" >&2
    exit 1
  fi
}

rm -rf "$work"
"$program" prepare --work "$work/a" >/dev/null
echo mine >"$work/a/notes.txt"
train() { echo "$program train --work $work/a --run one --save-every 5"; }
# shellcheck disable=SC2046 # words of a command
$(train) --steps 6 2>/dev/null

# One program for both: Open MPI 5.0.7 dies of several.
# shellcheck disable=SC2016,SC2046
refused "ranks 0 and 1 differ in data, options or the step" mpirun -n 2 bash -c '"$@" --steps $((8 + OMPI_COMM_WORLD_RANK))' - $(train)
# shellcheck disable=SC2046
refused "WORLD_SIZE=3 contradicts OMPI_COMM_WORLD_SIZE=2" \
  mpirun -n 2 env RANK=0 WORLD_SIZE=3 LOCAL_RANK=0 LOCAL_WORLD_SIZE=3 $(train) --steps 8
# shellcheck disable=SC2046
refused "the environment says rank 1 of 2, but this process can exchange gradients as rank 0 of 1" \
  env RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 $(train) --steps 8

"$program" prepare --work "$work/b" --code /usr/include/c++ >/dev/null
cp -r "$work/a/store/checkpoints" "$work/b/store/"
refused "this run has another dataset than the one that saved the state" "$program" train --work "$work/b" --run one --steps 8

before=$(cd "$work/a" && find . -type f | sort | xargs cksum)
mkdir "$work/empty"
refused "is too small" "$program" prepare --work "$work/a" --prose "$work/empty"
[ "$before" = "$(cd "$work/a" && find . -type f | sort | xargs cksum)" ]
"$program" prepare --work "$work/a" >/dev/null
[ "$(cat "$work/a/notes.txt")" = mine ]

mkdir "$work/bin"
ln -s "$(command -v bash)" "$work/bin/bash"
refused "openmpi-bin" env PATH="$work/bin" "$killed" "$program" "$work/a" two 8 "2 3" 1
