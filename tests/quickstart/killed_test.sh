#!/usr/bin/env bash
# killed_test.sh PROGRAM KILLED_SH WORK [SEED]: a run that is killed at random steps, each time resumed on a random number
# of ranks, has to be the run that was never killed. Prints the seed that repeats it.
set -euo pipefail

program=$1 killed=$2 work=$3 seed=${4:-$(date +%s)}
echo "seed $seed"
RANDOM=$((seed % 32768))
worlds=(1 2 3)
steps=150

ranks() { echo "${worlds[RANDOM % ${#worlds[@]}]}"; }

"$program" prepare --work "$work"
"$program" train --work "$work" --run calm --steps "$steps"
phases=()
at=0
for _ in 1 2 3; do
  at=$((at + 1 + RANDOM % 45))
  phases+=("$(ranks) $at")
done
SAVE_EVERY=7 "$killed" "$program" "$work" killed "$steps" "${phases[@]}" "$(ranks)"
"$program" compare --work "$work" --run calm --against killed
