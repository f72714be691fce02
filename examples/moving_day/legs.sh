#!/usr/bin/env bash
# legs.sh PROGRAM MDSTREAM WORK [STEPS]: one training, undisturbed, and once more in four legs on three clouds. To be run where
# servers of S3, Azure and Google Cloud Storage are in the environment, as tests/servers/with.sh starts them. STEPS is
# a multiple of 20. With KILLS, or MDSTREAM_LONG_TESTS (200 kills), in the environment rounds.sh follows.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
program=$1 mdstream=$2 work=$3 steps=${4:-400}
mkdir -p "$work"
work=$(cd "$work" && pwd)
run=moved changes=$work/runs/moved.changes
rm -rf "$work/calm" "$work/nodes"  # of the last time; the rest of it goes in `prepare`
save_every=$((steps / 20))

# shellcheck source=examples/quickstart/local_mpi.sh
. "$here/../quickstart/local_mpi.sh"
# shellcheck source=examples/moving_day/slurm.sh
. "$here/slurm.sh"
# shellcheck source=examples/moving_day/rounds.sh
. "$here/rounds.sh"

state=$(mktemp -d)
declare -A processes
finish() {
  local each
  for each in "${!processes[@]}"; do
    kill -KILL -- "$each" "-$each" 2>/dev/null || true
    ended "$each"
  done
  kill_all "$work"/nodes/*/runs/*.pids
  kill_orphans
  stop_slurm
  # What a process that was killed just now still writes is no fault of the run.
  rm -rf "$state" 2>/dev/null || rm -rf "$state" || true
}
trap finish EXIT
trap 'exit 130' INT TERM

# ended PROCESS: which does, or has.
ended() {
  wait "$1" 2>/dev/null || true
  unset "processes[$1]"
}

# spawn LOG COMMAND...: in the background, in a process group of its own; sets $spawned.
spawn() {
  local out=$1
  shift
  setsid setpriv --pdeathsig KILL "$@" </dev/null >>"$out" 2>&1 &
  spawned=$!
  processes[$spawned]=1
}
now() { date +%s.%N; }

# Each node has a folder of its own, nodes/NAME: its part of the run's log, its cache, its processes.
# steps_done: of the run, on whichever node.
steps_done() { { cat "$work"/nodes/*/runs/"$run".tsv 2>/dev/null || true; } | awk -F '\t' '$1 >= most { most = $1 + 1 } END { print most + 0 }'; }
export -f steps_done
export work run
# processes_of: the run's ranks. forget_processes: they have ended. kill_all LIST...: those of these lists.
processes_of() { cat "$work"/nodes/*/runs/"$run".pids 2>/dev/null || true; }
forget_processes() { rm -f "$work"/nodes/*/runs/"$run".pids; }
kill_all() {
  { cat "$@" | xargs -r kill -KILL; } 2>/dev/null || true
  rm -f "$@"
}
say() { printf '== %s\n' "$*"; }

# until_step N: waits until the moved run has done so many steps, and a new one since the last start, while $alive succeeds.
until_step() {
  local wanted=$(($1 > at_begin ? $1 : at_begin + 1))
  while [ "$(steps_done)" -lt "$wanted" ]; do
    if ! $alive; then
      tail -20 "$work/runs/said.txt" >&2
      echo "moving day: the run ended at step $(steps_done), before step $wanted" >&2
      exit 1
    fi
    sleep 0.02  # less than a step
  done
}
launcher_lives() { kill -0 "$spawned" 2>/dev/null; }
launcher_ends() { ended "$spawned"; }

# begin NAME [TIME]: a start of the run, now or since then, for the picture. change CAUSE COMMAND...: ends what runs; the command returns
# when the launcher has noticed.
begin() {
  at_begin=$(steps_done)
  printf '{"what": "leg", "name": "%s", "at": %s}\n' "$1" "${2:-$(now)}" >>"$changes"
}
change() {
  local cause=$1 began
  shift
  began=$(now)
  "$@"
  printf '{"what": "change", "cause": "%s", "begin": %s, "noticed": %s}\n' "$cause" "$began" "$(now)" >>"$changes"
}
kill_ranks() {
  kill_all "$work"/nodes/*/runs/"$run".pids
  launcher_ends
}

# border NAME SERVER: a cloud's border before the port of its server, on a port of its own; sets $port.
declare -A borders servers
border() {
  mkdir -p "$state/$1"
  spawn "$state/$1/log" python3 "$here/cloud.py" "$state/$1" "$2"
  borders[$1]=$spawned servers[$1]=$2
  while [ ! -s "$state/$1/port" ]; do sleep 0.05; done
  port=$(cat "$state/$1/port")
}
count_of() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$state/$1/counts" "$2"; }
port_of() { sed -E 's/.*:([0-9]+)(\/.*)?$/\1/' <<<"$1"; }

# A node's cache holds all data.
train=("$program" train --run "$run" --steps "$steps" --save-every "$save_every" --cache-mb 64)
s3=s3://test/moving azure=azure://test/moving gs=gs://test/moving

say "two datasets in S3, and the undisturbed run on one process"
export QUICKSTART_STORE=$s3
"$program" prepare --work "$work"
"$program" train --work "$work" --run calm --steps "$steps" --save-every "$save_every" --checkpoints "$work/calm"
mkdir -p "$work/runs"
data_bytes=0
for each in prose code held-out/prose held-out/code; do
  data_bytes=$((data_bytes + $("$mdstream" inspect --json "$s3/$each" | python3 -c 'import json, sys; print((lambda each: each["zip_bytes"] or each["raw_bytes"])(json.load(sys.stdin)))')))
done

# From here on what leaves a cloud is counted.
border s3 "$(port_of "$S3_ENDPOINT_URL")"
s3_border=$port
border s3-slurm "$(port_of "$S3_ENDPOINT_URL")"
slurm_border=$port
border s3-copy "$(port_of "$S3_ENDPOINT_URL")"
copy_border=$port
border azure "$(port_of "$AZURE_STORAGE_CONNECTION_STRING")"
azure_border=$port
border gs "$(port_of "$STORAGE_EMULATOR_HOST")"
gs_border=$port
export S3_ENDPOINT_URL=http://127.0.0.1:$s3_border STORAGE_EMULATOR_HOST=http://127.0.0.1:$gs_border
AZURE_STORAGE_CONNECTION_STRING=${AZURE_STORAGE_CONNECTION_STRING%%;BlobEndpoint=*}";BlobEndpoint=http://127.0.0.1:$azure_border/devstoreaccount1"
export AZURE_STORAGE_CONNECTION_STRING

say "leg 1: three ranks under mpirun, data and checkpoints in S3"
begin "mpirun, 3 ranks"
spawn "$work/runs/said.txt" mpirun -n 3 "${train[@]}" --data $s3 --checkpoints $s3 --work "$work/nodes/a"
alive=launcher_lives
until_step $((steps * 3 / 10 - 3))
sleep 0.03
change "SIGKILL in the middle of a step" kill_ranks

say "leg 2: two ranks under Slurm, checkpoints in S3 and Azure; the data are copied to Google meanwhile"
export S3_ENDPOINT_URL=http://127.0.0.1:$slurm_border
start_slurm "$state/slurm" 2 1
begin "Slurm, 2 ranks"
job=$(QUICKSTART_MEETING=127.0.0.1:$(free_ports 1) sbatch --parsable --nodes=1-2 --requeue --open-mode=append \
  --output="$work/runs/said.txt" "$here/job.sh" "$work/nodes" "${train[@]}" --data $s3 --checkpoints $s3 --checkpoints $azure)
# Nothing once the job has ended. A controller that has just been killed does not answer.
job_state() {
  local jobs
  until jobs=$(squeue -h -o "%i %T" 2>/dev/null); do sleep 0.1; done
  sed -n "s/^$job //p" <<<"$jobs"
}
job_lives() { [ -n "$(job_state)" ]; }
alive=job_lives
until_step $(($(steps_done) + 1))  # so that the copy has training beside it
# shellcheck disable=SC2016
spawn "$work/runs/copy.txt" env S3_ENDPOINT_URL=http://127.0.0.1:"$copy_border" bash -ec '
  begin=$(date +%s.%N) first=$(steps_done)
  for each in prose code held-out; do "$1" copy "$2/$each" "$3/$each"; done
  printf "{\"what\": \"copy\", \"begin\": %s, \"end\": %s, \"steps\": %d}\n" "$begin" "$(date +%s.%N)" $(($(steps_done) - first)) >>"$4"
' - "$mdstream" $s3 $gs "$changes"
copy=$spawned
until_step $((steps * 9 / 20 - 2))
lose_node() {
  scontrol update nodename=n2 state=drain reason="maintenance"
  scontrol update nodename=n2 state=down reason="taken away"
  while [ "$(job_state)" = RUNNING ]; do sleep 0.05; done
}
forget_processes
lost=$(now)
change "a node is drained and taken away" lose_node
begin "Slurm, 1 rank" "$lost"  # which starts by itself
until_step $((steps * 11 / 20 - 2))
end_job() {
  scancel "$job"
  while job_lives; do sleep 0.05; done
}
change "the job is asked to end" end_job
forget_processes
wait "$copy" || { cat "$work/runs/copy.txt" >&2; exit 1; }
ended "$copy"

say "leg 3: four ranks under torchrun, data in Google Cloud Storage, which throttles and is then gone for ${OUTAGE:=20} s"
begin "torchrun, 4 ranks"
# -r and -t: without them the torchrun of PyTorch 1.13 fails under Python 3.11.
QUICKSTART_MEETING=127.0.0.1:$(free_ports 1) spawn "$work/runs/said.txt" torchrun --nproc_per_node 4 --no_python -r 1 -t 1 --monitor_interval 0.1 \
  --log_dir "$state/torchrun" --rdzv_backend c10d --rdzv_endpoint "127.0.0.1:$(free_ports 1)" --rdzv_id "moving-$$" \
  "${train[@]}" --data $gs --checkpoints $azure --checkpoints $s3 --work "$work/nodes/b" --predownload 24
alive=launcher_lives
# So little is fetched ahead that the training meets whatever the store does.
until_step $(($(steps_done) + 1))
throttled=$(now)
echo "storm $((1 + steps / 200))" >"$state/gs/weather"
refused() { [ "$(count_of gs refused)" -ge 1 ]; }
gone=$SECONDS still=0
until refused && [ "$still" -ge 30 ] && [ $((SECONDS - gone)) -ge "$OUTAGE" ]; do
  before=$(steps_done)
  sleep 0.1
  if [ "$before" = "$(steps_done)" ]; then still=$((still + 1)); else still=0; fi
  if [ "$before" -ge $((steps * 18 / 20)) ]; then
    echo "moving day: the training reached step $before while its store was gone: it met no outage" >&2
    exit 1
  fi
done
printf '{"what": "outage", "begin": %s, "end": %s}\n' "$throttled" "$(now)" >>"$changes"
echo fair >"$state/gs/weather"
until_step $(($(steps_done) + steps / 20))
change "the ranks are killed" kill_ranks

say "leg 4: one process, to the end"
begin "one process"
"${train[@]}" --data $gs --checkpoints $azure --checkpoints $gs --work "$work/nodes/b"
forget_processes
# The borders write their sums now and then.
for _ in 1 2; do  # the first may have been under way
  touch "$state/done"
  for each in s3 s3-slurm s3-copy azure gs; do
    until [ "$state/$each/counts" -nt "$state/done" ]; do sleep 0.05; done
  done
done

python3 "$here/join_logs.py" "$work" "$run" >"$work/runs/$run.tsv"
python3 "$here/picture.py" "$work" "$data_bytes" "$state"/{s3,s3-slurm,s3-copy,azure,gs}/counts
kills=${KILLS:-${MDSTREAM_LONG_TESTS:+200}}
[ -z "$kills" ] || killed_rounds "$kills"
