# shellcheck shell=bash disable=SC2154,SC2034 # variables of legs.sh and slurm.sh
# Sourced by legs.sh: the long form of moving day. Further runs, of which a process is killed again and again, at a moment and of a kind that
# chance chooses. Killing a rank, all ranks or the launcher, whose ranks may live on, ends a start; the next is under another launcher, with
# other data and checkpoints. A cloud's border, the copy of the data that goes on beside the training and, while the run is under Slurm, its
# daemons are started again, as systemd does at a site, and the training goes on. MDSTREAM_TEST_SEED repeats the seed that is printed.

orphans=()
kill_orphans() {
  [ ${#orphans[@]} -eq 0 ] || kill -KILL "${orphans[@]}" 2>/dev/null || true
  orphans=()
}

# start_somewhere: the run under the launcher that chance chooses; sets $launcher, $ranks and $alive.
start_somewhere() {
  local words=("${train[@]}" --run "$run")
  if ((RANDOM % 2)); then words+=(--data "$s3"); else words+=(--data "$gs"); fi
  case $((RANDOM % 3)) in  # S3 has all: the newest checkpoint is in one of the stores of the next start
    0) words+=(--checkpoints "$s3" --checkpoints "$azure") ;;
    1) words+=(--checkpoints "$azure" --checkpoints "$s3") ;;
    2) words+=(--checkpoints "$gs" --checkpoints "$s3" --checkpoints "$azure") ;;
  esac
  alive=launcher_lives
  forget_processes
  rm -f "$work/nodes/launcher"
  : >"$said"
  case $((RANDOM % 4)) in
    0)
      launcher="no launcher" ranks=1
      spawn "$said" "${words[@]}" --work "$work/nodes/d"
      ;;
    1)
      launcher=mpirun ranks=$((2 + RANDOM % 2))
      spawn "$said" mpirun -n "$ranks" "${words[@]}" --work "$work/nodes/a"
      ;;
    2)
      launcher=torchrun ranks=4
      QUICKSTART_MEETING=127.0.0.1:$(free_ports 1) spawn "$said" torchrun --nproc_per_node 4 --no_python -r 1 -t 1 --monitor_interval 0.1 \
        --log_dir "$state/torchrun" --rdzv_backend c10d --rdzv_endpoint "127.0.0.1:$(free_ports 1)" --rdzv_id "start-$starts-$$" \
        "${words[@]}" --work "$work/nodes/b"
      ;;
    3)
      launcher=Slurm ranks=2 alive=job_lives
      job=$(QUICKSTART_MEETING=127.0.0.1:$(free_ports 1) sbatch --parsable --nodes=2 --no-requeue --output="$said" \
        "$here/job.sh" "$work/nodes" "${words[@]}")
      ;;
  esac
}

# end_start: once its ranks or its launcher are dead.
end_start() {
  local _
  for _ in $(seq 20); do
    $alive || break
    sleep 0.05
  done
  [ "$victim" = "the launcher" ] || { processes_of | xargs -r kill -KILL; } 2>/dev/null || true
  if [ "$alive" = job_lives ]; then
    scancel "$job" 2>/dev/null || true
    while job_lives; do sleep 0.1; done
  else
    kill -KILL "$spawned" 2>/dev/null || true
    launcher_ends
  fi
}

restart_border() {
  local stores=(s3-slurm azure gs) store spawned
  store=${stores[RANDOM % 3]}
  kill -KILL "${borders[$store]}"
  ended "${borders[$store]}"
  sleep 0.2
  spawn "$state/$store/log" python3 "$here/cloud.py" "$state/$store" "${servers[$store]}" "$(cat "$state/$store/port")"
  borders["$store"]=$spawned
}

# The copy that goes on beside the training, one data set after the other, each time to a new place, and again where it was killed.
start_copies() {
  local spawned
  echo slow >"$state/s3-copy/weather"
  # shellcheck disable=SC2016
  spawn "$work/runs/copies.txt" env S3_ENDPOINT_URL=http://127.0.0.1:"$copy_border" bash -c '
    for ((number = 1; ; ++number)); do
      echo "$number" >"$4/copied"
      for each in prose code held-out; do
        until "$1" copy --jobs 2 "$2/$each" "$3/again-$number/$each" & echo $! >"$4/copying"; wait $!; do sleep 0.2; done
      done
    done' - "$mdstream" "$s3" "$gs" "$state"
  copies=$spawned
}
# finish_copies: the last one, which sets $copied.
finish_copies() {
  local each
  kill -KILL -- "-$copies" 2>/dev/null || true
  ended "$copies"
  echo fair >"$state/s3-copy/weather"
  copied=$gs/again-$(cat "$state/copied")
  for each in prose code held-out; do
    S3_ENDPOINT_URL=http://127.0.0.1:$copy_border "$mdstream" copy "$s3/$each" "$copied/$each" >>"$work/runs/copies.txt"
  done
  for each in prose code held-out/prose held-out/code; do "$mdstream" verify "$copied/$each" >/dev/null; done
}

# Slurm writes down which jobs run some seconds after they began: a controller that is killed before forgets them.
job_is_kept() {
  local _
  for _ in $(seq 300); do
    if [ "${SLURM_CONF%/*}/controller/job_state" -nt "$work/nodes/launcher" ]; then return; fi
    sleep 0.05
  done
}

# kill_one: sets $victim; fails where the start goes on.
kill_one() {
  local mine daemons=(slurmctld n1 n2 munged) daemon kinds
  mapfile -t mine < <(processes_of)
  kinds=6
  [ "$alive" != job_lives ] || kinds=8  # only then do Slurm's daemons matter
  case $((RANDOM % kinds)) in
    0 | 1)
      victim="a rank"
      mine=("${mine[RANDOM % ${#mine[@]}]}")
      ;;
    2) victim="all ranks" ;;
    3)
      victim="the launcher" orphans+=("${mine[@]}")
      if [ "$alive" = job_lives ]; then mine=("$(cat "$work/nodes/launcher")"); else mine=("$spawned"); fi
      ;;
    4)
      victim="a cloud's border"
      restart_border
      return 1
      ;;
    5)
      victim="the copy"
      until kill -KILL "$(cat "$state/copying")" 2>/dev/null; do sleep 0.05; done
      return 1
      ;;
    *)
      daemon=${daemons[RANDOM % 4]} victim=${daemon/n[12]/slurmd}
      [ "$victim" != slurmctld ] || job_is_kept
      restart_daemon "$daemon"
      return 1
      ;;
  esac
  [ "$launcher" != "no launcher" ] || victim="all ranks"
  kill -KILL "${mine[@]}" 2>/dev/null || true
  end_start
}

# wait_for COMMAND...: until it succeeds, or the start has ended.
wait_for() {
  local tries=0
  until "$@"; do
    sleep 0.05
    ((++tries % 10)) || $alive || return 0
    [ "$tries" -lt 3000 ] || stuck "has stood still for minutes"
  done
}
stuck() {
  cat "$said" >&2
  if [ "$alive" = job_lives ]; then
    timeout 10 squeue --long >&2 || true
    timeout 10 sinfo --long --Node >&2 || true
    tail -n 40 "${SLURM_CONF%/*}/log" >&2
  fi
  echo "moving day: a start under $launcher $1, at step $(steps_done) of $steps, after $made kills" >&2
  exit 1
}
ranks_run() { [ "$(processes_of | wc -l)" -ge "$ranks" ]; }
steps_reach() { [ "$(steps_done)" -ge "$1" ]; }

# begin_run: the next one, from the beginning.
begin_run() {
  run=rounds-$((++runs))
}
compare_run() {
  python3 "$here/join_logs.py" "$work" "$run" >"$work/runs/$run.tsv"
  "$program" compare --work "$work" --run undisturbed --against "$run" >/dev/null
}

# see_end: why a start has ended that nobody killed.
see_end() {
  if [ "$(steps_done)" = "$steps" ]; then
    compare_run
    begin_run
  elif grep -q "of the same run has taken over" "$said"; then
    # Ranks that outlived their launcher may start after those of the next one, which then are the earlier.
    late=$((late + 1))
  else
    stuck "ended by itself"
  fi
}

# killed_rounds KILLS
killed_rounds() {
  local kills=$1 seed said=$work/runs/rounds.txt steps=100 made=0 starts=0 runs=0 opening=0 late=0 before pause each
  local run launcher ranks victim='' copies copied lasts
  local -A victims=() launchers=()
  seed=${MDSTREAM_TEST_SEED:-$(date +%N | sed 's/^0*//')}
  say "a run once more, and again, killed $kills times; MDSTREAM_TEST_SEED=$seed"
  RANDOM=$((seed % 32768))
  train=("$program" train --steps "$steps" --save-every 2 --threads 1 --cache-mb 64)
  "${train[@]}" --work "$work" --run undisturbed --data "$gs" --checkpoints "$work/calm"
  scontrol update nodename=n1,n2 state=resume 2>/dev/null || true
  start_copies
  rm -f "$work/runs/kills.txt"
  begin_run
  while [ "$made" -lt "$kills" ]; do
    starts=$((starts + 1)) before=$(steps_done) lasts=yes
    start_somewhere
    wait_for ranks_run
    while [ -n "$lasts" ] && [ "$made" -lt "$kills" ]; do
      if ((RANDOM % 3)); then wait_for steps_reach $(($(steps_done) + 1 + RANDOM % 4)); fi
      printf -v pause '0.%03d' $((RANDOM % 400))  # not in a subshell, which would draw other numbers
      sleep "$pause"
      kill_orphans
      if ! $alive; then
        end_start
        see_end
        break
      fi
      if kill_one; then lasts=''; fi
      made=$((made + 1))
      victims[$victim]=$((${victims[$victim]:-0} + 1))
      launchers[$launcher]=$((${launchers[$launcher]:-0} + 1))
      [ "$(steps_done)" -gt "$before" ] || opening=$((opening + 1))
      echo "$made: $victim, under $launcher, at step $(steps_done) of run $runs" >>"$work/runs/kills.txt"
    done
  done
  victim="all ranks"
  end_start
  kill_orphans
  forget_processes
  finish_copies
  "${train[@]}" --run "$run" --data "$copied" --checkpoints "$azure" --checkpoints "$s3" --work "$work/nodes/c"
  compare_run
  echo "killed $kills times in $starts starts of $runs runs, $opening of them before a new step, $late starts overtaken:$(
    for each in "${!victims[@]}"; do printf ' %s %d,' "$each" "${victims[$each]}"; done)$(
    for each in "${!launchers[@]}"; do printf ' under %s %d,' "$each" "${launchers[$each]}"; done) and always the same curve"
}
