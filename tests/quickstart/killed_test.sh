#!/usr/bin/env bash
# killed_test.sh PROGRAM LOCAL_MPI WORK: a run that is killed again and again, at random moments, also while it opens or
# saves, and goes on on 1, 2, 3 or 6 ranks, has to be the run that was never killed. Where a run reaches its end before its kill, the next one
# begins. 8 kills, 100 with MDSTREAM_LONG_TESTS in the environment, and then until there was one of each kind; MDSTREAM_TEST_SEED repeats
# the seed that it prints.
set -euo pipefail

program=$1 work=$3
# shellcheck source=examples/quickstart/local_mpi.sh
. "$2"
seed=${MDSTREAM_TEST_SEED:-$(date +%N | sed 's/^0*//')}
echo "MDSTREAM_TEST_SEED=$seed"
RANDOM=$((seed % 32768))
kills=${MDSTREAM_LONG_TESTS:+100}
kills=${kills:-8}
steps=$((5 * kills)) worlds=(1 2 3 6)
said=$work/runs/said.txt

# begin_run: the next one, from its beginning.
runs=0
begin_run() {
  name=killed-$((++runs))
  log=$work/runs/$name.tsv pids=$work/runs/$name.pids run=$work/store/checkpoints/$name
}
compare() { "$program" compare --work "$work" --run calm --against "$name"; }
train() { mpirun -n "$1" "$program" train --work "$work" --run "$2" --steps "$steps" --save-every 2 --threads 1; }
lines() { if [ -e "$1" ]; then wc -l <"$1"; else echo 0; fi; }
pause() { sleep "$(printf '0.%03d' $((RANDOM % $1)))"; }  # of random length, below so many milliseconds
# until FILE has COUNT lines, or the launcher has ended.
until_lines() {
  while [ "$(lines "$1")" -lt "$2" ] && kill -0 "$launcher" 2>/dev/null; do sleep 0.005; done
}
# A save of the last start that has no manifest.
was_saving() {
  local start newest
  start=$(printf '%s\n' "$run/data"/* | tail -1)
  newest=$(printf '%s\n' "$start"/* | tail -1)
  [ -d "$newest" ] && [ ! -e "$run/manifest/${start##*/}-${newest##*/}.json" ]
}

"$program" prepare --work "$work"
train 1 calm 2>/dev/null
begin_run
killed=0 opening=0 saving=0
# A few kills come at one of the two moments that matter, a hundred at both.
enough() { [ "$killed" -ge "$kills" ] && [ $((kills < 100 ? opening + saving : opening * saving)) -gt 0 ]; }
# An error, or a crash (SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV). SIGTERM is what mpirun ends the other ranks with.
has_failed() { grep -qE "error:|terminate called|Sanitizer|signal (4|6|7|8|11)\b" "$said"; }
until enough; do
  ranks=${worlds[RANDOM % 4]}
  rm -f "$pids"
  before=$(lines "$log")
  launch train "$ranks" "$name" 2>"$said"
  until_lines "$pids" "$ranks"
  if [ $((RANDOM % 3)) -eq 0 ]; then
    pause 400
  else
    # Rank 0 drops the steps behind its checkpoint, then adds new ones.
    resumed=$(lines "$log")
    until_lines "$log" $((resumed + 1 + RANDOM % 6))
    pause 60
  fi
  xargs kill -KILL <"$pids" 2>/dev/null || true
  status=0
  after_kill "$launcher" || status=$?
  if { [ "$status" = 0 ] && [ "$(lines "$log")" -lt "$steps" ]; } || has_failed; then
    cat "$said" >&2
    echo "a start on $ranks ranks, after $killed kills, has ended: the log has $(lines "$log") of $steps steps" >&2
    exit 1
  fi
  if [ "$status" = 0 ]; then
    compare
    begin_run
    continue
  fi
  killed=$((killed + 1))
  [ "$(lines "$log")" -gt "$before" ] || opening=$((opening + 1))
  if was_saving; then saving=$((saving + 1)); fi
done
echo "killed $killed times: $saving while saving, $opening before a new step; the log of run $runs has $(lines "$log") of $steps steps"
train "${worlds[RANDOM % 4]}" "$name"
compare
