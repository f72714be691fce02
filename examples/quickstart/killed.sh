#!/usr/bin/env bash
# killed.sh PROGRAM WORK RUN STEPS "RANKS KILL_AFTER"... RANKS: trains RUN on so many ranks (real processes
# under mpirun), kills all of them with SIGKILL once the log has KILL_AFTER steps, resumes on the next number of
# ranks from the last save in the object store, and lets the last number of ranks finish. SAVE_EVERY is the
# number of steps between saves.
set -euo pipefail

program=$1 work=$2 run=$3 steps=$4
shift 4
log=$work/runs/$run.tsv pids=$work/runs/$run.pids

if ! command -v mpirun >/dev/null; then
  echo "quickstart: mpirun was not found; Debian's package openmpi-bin brings it" >&2
  exit 1
fi

# shellcheck source=examples/quickstart/local_mpi.sh
. "$(dirname "$0")/local_mpi.sh"

steps_done() { if [ -e "$log" ]; then wc -l <"$log"; else echo 0; fi; }

train_on() {
  mpirun -n "$1" "$program" train --work "$work" --run "$run" --steps "$steps" --save-every "${SAVE_EVERY:-50}"
}

while [ $# -gt 1 ]; do
  read -r ranks kill_after <<<"$1"
  shift
  rm -f "$pids"
  echo "== on $ranks rank(s), to be killed after step $kill_after"
  launch train_on "$ranks" 2>"$work/runs/$run.killed.txt"
  while [ "$(steps_done)" -lt "$kill_after" ]; do
    if ! kill -0 "$launcher" 2>/dev/null; then
      cat "$work/runs/$run.killed.txt" >&2
      echo "quickstart: the run ended before step $kill_after" >&2
      exit 1
    fi
    sleep 0.02
  done
  xargs kill -KILL <"$pids"
  after_kill "$launcher" || true
  echo "   killed: the log has $(steps_done) steps"
done

rm -f "$pids"
echo "== on $1 rank(s), to the end"
train_on "$1"
