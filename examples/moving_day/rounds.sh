# shellcheck shell=bash disable=SC2154,SC2034 # variables of legs.sh
# Sourced by legs.sh: the long form of moving day. One more run, of which a process is killed again and again, at a moment and of a
# kind that chance chooses: a rank, all ranks, the launcher, whose ranks may live on, or a store. The next start is under another launcher, with
# other data and checkpoints. MDSTREAM_TEST_SEED repeats the seed that is printed.

orphans=()
kill_orphans() {
  [ ${#orphans[@]} -eq 0 ] || kill -KILL "${orphans[@]}" 2>/dev/null || true
  orphans=()
}

# start_somewhere: the run under the launcher that chance chooses; sets $launcher, $ranks and $alive.
start_somewhere() {
  local words=("${train[@]}")
  if ((RANDOM % 2)); then words+=(--data "$s3"); else words+=(--data "$gs"); fi
  case $((RANDOM % 3)) in  # S3 has all: the newest checkpoint is in one of the stores of the next start
    0) words+=(--checkpoints "$s3" --checkpoints "$azure") ;;
    1) words+=(--checkpoints "$azure" --checkpoints "$s3") ;;
    2) words+=(--checkpoints "$gs" --checkpoints "$s3" --checkpoints "$azure") ;;
  esac
  alive=launcher_lives
  case $((RANDOM % 4)) in
    0)
      launcher="no launcher" ranks=1
      spawn "$said" "${words[@]}" --cache "$work/nodes/a"
      ;;
    1)
      launcher=mpirun ranks=$((2 + RANDOM % 2))
      spawn "$said" mpirun -n "$ranks" "${words[@]}" --cache "$work/nodes/a"
      ;;
    2)
      launcher=torchrun ranks=4
      QUICKSTART_MEETING=127.0.0.1:$(free_port) spawn "$said" torchrun --nproc_per_node 4 --no_python -r 1 -t 1 \
        --log_dir "$state/torchrun" --rdzv_backend c10d --rdzv_endpoint "127.0.0.1:$(free_port)" --rdzv_id "round-$round-$$" \
        "${words[@]}" --cache "$work/nodes/b"
      ;;
    3)
      launcher=Slurm ranks=2 alive=job_lives
      job=$(QUICKSTART_MEETING=127.0.0.1:$(free_port) sbatch --parsable --nodes=2 --no-requeue --output="$said" \
        "$here/job.sh" "$work/nodes" "${words[@]}")
      ;;
  esac
}

# end_launcher: of a start whose ranks are dead.
end_launcher() {
  local _
  for _ in $(seq 200); do
    $alive || break
    sleep 0.05
  done
  if [ "$alive" = job_lives ]; then
    scancel "$job" 2>/dev/null || true
    while job_lives; do sleep 0.1; done
  else
    kill -KILL "$spawned" 2>/dev/null || true
    launcher_ends
  fi
}

# kill_one: sets $victim.
kill_one() {
  local mine store
  mapfile -t mine <"$pids"
  victim="all ranks"
  case $((RANDOM % 4)) in
    0) [ "$ranks" = 1 ] || { victim="a rank" && mine=("${mine[RANDOM % ${#mine[@]}]}"); } ;;
    1)
      if [ "$launcher" = mpirun ] || [ "$launcher" = torchrun ]; then
        victim="the launcher" orphans+=("${mine[@]}")
        kill -KILL "$spawned" 2>/dev/null || true
        launcher_ends
        return
      fi
      ;;
    2)
      victim="a store"
      store=$(printf '%s\n' s3-slurm azure gs | sed -n "$((1 + RANDOM % 3))p")
      kill -KILL "${borders[$store]}"
      ended "${borders[$store]}"
      sleep 0.2
      spawn "$state/$store/log" python3 "$here/cloud.py" "$state/$store" "${servers[$store]}" "$(cat "$state/$store/port")"
      borders["$store"]=$spawned
      spawned=$started
      sleep 0.$((RANDOM % 10))
      mapfile -t mine <"$pids"
      ;;
  esac
  kill -KILL "${mine[@]}" 2>/dev/null || true
  end_launcher
}

# killed_rounds KILLS
killed_rounds() {
  local kills=$1 round seed said=$work/runs/rounds.txt launcher ranks victim started before resumed opening=0 late=0 each
  local -A victims=() launchers=()
  seed=${MDSTREAM_TEST_SEED:-$(date +%N | sed 's/^0*//')}
  say "the run once more, killed $kills times; MDSTREAM_TEST_SEED=$seed"
  RANDOM=$((seed % 32768))
  log=$work/runs/rounds.tsv pids=$work/runs/rounds.pids
  train=("$program" train --work "$work" --steps $((5 * kills)) --save-every 2 --threads 1 --cache-mb 64 --run)
  "${train[@]}" undisturbed --data "$gs" --checkpoints "$work/calm"
  train+=(rounds)
  scontrol update nodename=n1,n2 state=resume 2>/dev/null || true
  for ((round = 1; round <= kills + late; ++round)); do
    rm -f "$pids"
    : >"$said"
    before=$(steps_done)
    start_somewhere
    started=${spawned:-}
    until [ -e "$pids" ] && [ "$(wc -l <"$pids")" -ge "$ranks" ]; do
      $alive || break
      sleep 0.02
    done
    if ((RANDOM % 3)); then
      resumed=$(steps_done)
      each=$((resumed + 1 + RANDOM % 6))
      while [ "$(steps_done)" -lt "$each" ] && $alive; do sleep 0.02; done
    fi
    sleep "$(printf '0.%03d' $((RANDOM % 600)))"
    kill_orphans
    if ! $alive; then
      # Ranks that outlived their launcher may start after those of the next one, which then are the earlier.
      if ! grep -q "of the same run has taken over" "$said"; then
        cat "$said" >&2
        echo "moving day: round $round under $launcher ended by itself, at step $(steps_done) of $((5 * kills))" >&2
        exit 1
      fi
      late=$((late + 1))
      end_launcher
      continue
    fi
    kill_one
    victims[$victim]=$((${victims[$victim]:-0} + 1))
    launchers[$launcher]=$((${launchers[$launcher]:-0} + 1))
    [ "$(steps_done)" -gt "$before" ] || opening=$((opening + 1))
  done
  kill_orphans
  rm -f "$pids"
  "${train[@]}" --data "$gs" --checkpoints "$azure" --checkpoints "$s3" --cache "$work/nodes/b"
  "$program" compare --work "$work" --run undisturbed --against rounds >/dev/null
  echo "killed $kills times, $opening of them before a new step, $late starts overtaken:$(
    for each in "${!victims[@]}"; do printf ' %s %d,' "$each" "${victims[$each]}"; done)$(
    for each in "${!launchers[@]}"; do printf ' under %s %d,' "$each" "${launchers[$each]}"; done) and always the same curve"
}
