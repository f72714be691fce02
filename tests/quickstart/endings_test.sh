#!/usr/bin/env bash
# endings_test.sh PROGRAM LOCAL_MPI CLOCK HELD WORK: what ends a run other than SIGKILL, and how it goes on: a signal that asks for the
# end, a rank that stands still, a loss that is no number, a second launcher that starts the same run; ranks that start late, on machines
# whose clocks are hours apart. The run has to be the one that nothing happened to. CLOCK and HELD are libraries to preload: another
# clock, and a run that waits at a step for what this test does.
set -euo pipefail

program=$1 clock=$3 held=$4 work=$5
hold=$work/held
# shellcheck source=examples/quickstart/local_mpi.sh
. "$2"
launcher='' begun=''
finish() {
  [ -n "$begun" ] || return 0
  xargs -r kill -KILL <"$work/runs/$begun.pids" 2>/dev/null || true
  kill -KILL "$launcher" 2>/dev/null || true
  wait "$launcher" 2>/dev/null || true
}
trap finish EXIT
trap 'exit 130' INT TERM

steps=40
train_words() { echo "$program train --work $work --run $1 --steps $steps --save-every 7 --threads 1"; }
# train RANKS RUN WORD...
train() {
  local ranks=$1 run=$2
  shift 2
  # shellcheck disable=SC2046 # words of a command
  mpirun -n "$ranks" env LD_PRELOAD="$held" $(train_words "$run") "$@"
}
said() { echo "$work/runs/$1.txt"; }
log() { echo "$work/runs/$1.tsv"; }
lines() { if [ -e "$1" ]; then wc -l <"$1"; else echo 0; fi; }
fail() { echo "quickstart: $*" >&2; tail -n 60 "$work"/runs/*.txt >&2; exit 1; }
# begin RUN STEPS COMMAND...: in the background, until its first rank has trained so many steps. There it waits for go_on.
begin() {
  local after=$2
  begun=$1
  shift 2
  HOLD=$hold HOLD_AFTER=$after launch "$@" 2>>"$(said "$begun")"
  until [ -e "$hold" ]; do
    kill -0 "$launcher" 2>/dev/null || fail "'$begun' ended before it had trained"
    sleep 0.01
  done
}
go_on() { rm "$hold"; }
manifests() { ls "$work/store/checkpoints/$begun/manifest" 2>/dev/null || true; }
# ends PATTERN: what was begun ends with such a status.
ends() {
  local status=0
  wait "$launcher" || status=$?
  # shellcheck disable=SC2053 # a pattern
  [[ $status == $1 ]] || fail "'$begun' ended with status $status, not $1"
  rm -f "$work/runs/$begun.pids" "$hold"
  begun=
}
says() { grep -qE "$2" "$(said "$1")" || fail "'$1' does not say '$2'"; }
same_as_calm() {
  train "$1" "$2" 2>>"$(said "$2")"
  "$program" compare --work "$work" --run calm --against "$2" >/dev/null || fail "'$2' is another run"
}

"$program" prepare --work "$work" >/dev/null
rm -f "$hold"
train 1 calm 2>/dev/null

echo "== one rank of three is asked to end: all save at the same step, none is done again"
begin asked 10 train 3 asked
kill -TERM "$(sed -n 2p "$work/runs/asked.pids")"
go_on
ends 75
done_before=$(lines "$(log asked)")
[ "$done_before" -lt "$steps" ] || fail "the request was not heard"
same_as_calm 2 asked
says asked "'asked' goes on at step $done_before on 2 ranks"

echo "== one rank of two stands still: the other ends with every thread's stack"
begin hung 10 train 2 hung --step-limit 10
kill -STOP "$(sed -n 1p "$work/runs/hung.pids")"
go_on
ends 70
says hung "the step after [0-9]+ steps has taken"
says hung "the process ends with status 70"
same_as_calm 3 hung

echo "== a batch whose loss is no number is left out, the same on any ranks and after any stop"
# shellcheck disable=SC2046
$(train_words spoilt) --bad-batch 24 2>"$(said spoilt)"
says spoilt "batch 24 is left out: its loss is -?nan"
begin spoilt-moved 10 train 2 spoilt-moved --bad-batch 24
kill -TERM "$(sed -n 1p "$work/runs/spoilt-moved.pids")"
go_on
ends 75
train 3 spoilt-moved --bad-batch 24 2>>"$(said spoilt-moved)"
"$program" compare --work "$work" --run spoilt --against spoilt-moved >/dev/null || fail "the guard's verdicts differ"
samples() { cut -f 5 "$(log "$1")"; }
diff <(samples calm | sed 24d) <(samples spoilt | sed '$d') >/dev/null || fail "not batch 24 alone was left out"

echo "== a checkpoint that has learnt a batch at fault is passed over; what is left out is known to the next start, whatever ends this one"
# shellcheck disable=SC2046
$(train_words gap) --bad-batch 24 --leave-out 5 2>"$(said gap)"
says gap "0021 is passed over: it is not accepted"
diff <(samples calm | sed 20,24d) <(samples gap | head -n -5) >/dev/null || fail "not the batches 20 to 24 alone were left out"
# Killed at the third step behind its return, which is after 23 others, before a save of its own; on another number of ranks nothing
# looks bad.
begin gap-moved 26 train 2 gap-moved --save-every 1000 --bad-batch 24 --leave-out 5
[ "$(manifests | wc -l)" = 1 ] || fail "'gap-moved' has not saved what is left out, and nothing else"
xargs kill -KILL <"$work/runs/gap-moved.pids"
ends '[1-9]*'
train 1 gap-moved 2>>"$(said gap-moved)"
"$program" compare --work "$work" --run gap --against gap-moved >/dev/null || fail "the next start did not know what is left out"

echo "== another launcher starts the same run: the later goes on, the earlier ends with a sentence"
begin twice 10 train 2 twice
mapfile -t earlier <"$work/runs/twice.pids"
kill -STOP "${earlier[@]}"
go_on
same_as_calm 1 twice
kill -CONT "${earlier[@]}"
ends 1
says twice "error: .*of the same run has taken over"
"$program" compare --work "$work" --run calm --against twice >/dev/null || fail "the earlier launch has changed the run"

echo "== ranks that start seconds apart, on clocks that are hours apart"
# hours_ahead: of this machine's clock, the time on stdin.
hours_ahead() { awk -v now="$(date +%s)" '{ printf "%.0f", ($1 - now) / 3600 }'; }
# ahead_in_log NAME WHICH: of the times of this name in what the run's first rank wrote, that which sed picks.
ahead_in_log() { sed -nE "s/.*\"$1\": ([0-9]+)\..*/\1/p" "$work/runs/clocks.timing.jsonl" | sed -n "$2" | hours_ahead; }
[ "$(LD_PRELOAD=$clock CLOCK_AHEAD=93600 date +%s | hours_ahead)" = 26 ] || fail "the preloaded clock is not 26 hours ahead"
# Each rank by itself, in one mpirun's one program: Open MPI 5.0.7 dies of several.
# shellcheck disable=SC2016 # of the ranks
starts='ahead=(-7 0 26) late=(0 3 1) && sleep "${late[OMPI_COMM_WORLD_RANK]}" &&
  exec env LD_PRELOAD="$0" CLOCK_AHEAD="$((ahead[OMPI_COMM_WORLD_RANK] * 3600))" "$@"'
# shellcheck disable=SC2046
begin clocks 10 mpirun -n 3 bash -c "$starts" "$clock:$held" $(train_words clocks)
# The background may take its time to save step 7.
while [ -z "$(manifests)" ]; do
  kill -0 "$launcher" 2>/dev/null || fail "'clocks' ended before it had saved"
  sleep 0.01
done
xargs kill -KILL <"$work/runs/clocks.pids"
ends '[1-9]*'
[ "$(ahead_in_log at 1p)" = -7 ] || fail "the first rank's clock was not 7 hours behind"
env LD_PRELOAD="$clock" CLOCK_AHEAD=-90000 "$program" train --work "$work" --run clocks --steps "$steps" --save-every 7 2>>"$(said clocks)"
says clocks "'clocks' goes on at step 7 on 1 rank"
[ "$(ahead_in_log began "\$p")" = -25 ] || fail "the next start's clock was not 25 hours behind"
"$program" compare --work "$work" --run calm --against clocks >/dev/null || fail "'clocks' is another run"
