#!/usr/bin/env bash
# launchers_test.sh LAUNCHER PROGRAM TEMPLATES: a real launcher starts `launched`, which has to find its place, and to be
# started again after a signal where that is the launcher's work. Status 77 where the launcher is not installed.
set -euo pipefail

scripts=$(cd "$(dirname "$0")" && pwd)
launcher=$1 program=$2 templates=$3
# shellcheck source=examples/moving_day/slurm.sh
. "$templates/../moving_day/slurm.sh"
work=$(mktemp -d)
pids=()
finish() {
  local pid
  for pid in "${pids[@]}"; do
    kill -KILL "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  stop_slurm
  # What a process that was killed just now still writes is no fault of the launcher.
  rm -rf "$work" 2>/dev/null || rm -rf "$work" || true
}
trap finish EXIT
trap 'exit 130' INT TERM
cd "$work"

need() {
  command -v "$1" >/dev/null || { echo "mdstream: SKIPPED: no $1; tools/install-deps.sh launchers installs it" >&2; exit 77; }
}
fail() { echo "mdstream: FAILED: $*" >&2; tail -n 40 "$work"/*.log >&2 || true; exit 1; }
# A file holds so many lines of this kind, within three minutes: launchers take seconds to start, and many on a loaded machine.
await() {
  local file=$1 count=$2 pattern=$3 end=$((SECONDS + 180))
  while [ $SECONDS -lt $end ]; do
    if [ -e "$file" ] && [ "$(grep -cE "$pattern" "$file" || true)" -ge "$count" ]; then return; fi
    sleep 0.1
  done
  fail "$file has no $count lines '$pattern'"
}
# The lines of a world of two ranks on one node.
check_world() {
  local rank
  for rank in 0 1; do
    grep -qE "rank $rank of 2, 2 on a node, token $1" "$2" || fail "no rank $rank of a world of 2, token $1"
  done
}
# check_signal SIGNAL STATUS COMMAND...: a launcher that is sent this signal ends with one of these statuses (an extended regular
# expression), and its ranks have saved and ended with 75.
check_signal() {
  local signal=$1 expected=$2
  shift 2
  "$@" >train.log 2>&1 &
  local pid=$! status=0
  pids+=("$pid")
  await train.log 2 ' trains'
  kill "-$signal" "$pid"
  wait "$pid" || status=$?
  await train.log 2 ' saves, and ends with 75'
  [[ $status =~ ^($expected)$ ]] || fail "$1 ended with status $status, not $expected"
}

# check_writers COUNT COMMAND...: so many ranks of a launcher write one dataset in parallel, and one index has it all.
check_writers() {
  local count=$1
  shift
  rm -rf "$work/parts"
  "$@" "$program" write "$work/parts" >write.log || fail "$1 could not write"
  [ "$(grep -c ' wrote$' write.log)" = "$count" ] || fail "not all of $count ranks wrote"
  [ "$(find "$work/parts" -maxdepth 1 -type d -name 'part-*' | wc -l)" = "$count" ] || fail "$count ranks left no $count parts"
  "$program" read "$work/parts" >read.log || fail "what the ranks of $1 wrote is not one dataset"
}

case $launcher in
  openmpi)
    need mpirun.openmpi
    mpirun=(mpirun.openmpi --allow-run-as-root --oversubscribe -n 2)
    "${mpirun[@]}" "$program" >world.log
    check_world PMIX_NAMESPACE=. world.log
    check_writers 3 mpirun.openmpi --allow-run-as-root --oversubscribe -n 3
    check_signal USR1 75 env "MEETING=$work/first" "${mpirun[@]}" "$program" train
    rm train.log
    echo "localhost slots=2" >hosts
    # The template, which passes SIGTERM on as SIGUSR1.
    check_signal TERM 75 env "MEETING=$work/second" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "PROGRAM=$program" STORE=none RANKS=2 \
      "$templates/mpirun.sh"
    ;;
  hydra)
    need mpiexec.hydra
    mpiexec.hydra -n 2 "$program" >world.log
    check_world '$' world.log
    check_writers 3 mpiexec.hydra -n 3
    # MPICH 4.0's was seen to end with 0 in 10 of 60 runs whose ranks ended at once with 75, also those of a shell script.
    check_signal USR1 '75|0' env "MEETING=$work/first" mpiexec.hydra -n 2 "$program" train
    ;;
  torchrun)
    need torchrun
    # -r and -t: without redirection Debian's torchrun of version 1.13 fails in Python 3.11.
    torchrun=(torchrun --nnodes 1 --nproc_per_node 2 --rdzv_backend c10d --rdzv_endpoint 127.0.0.1:0 --rdzv_id run-7
      --max_restarts 1 -r 1 -t 1 --log_dir "$work/log" --no_python)
    "${torchrun[@]}" "$program" >world.log 2>&1 || fail "torchrun failed"
    check_world 'TORCHELASTIC_RUN_ID=run-7 TORCHELASTIC_RESTART_COUNT=0' world.log
    # One rank is asked to end, torchrun ends the other and starts both again.
    "${torchrun[@]}" "$program" train >train.log 2>&1 &
    torchrun_pid=$!
    pids+=("$torchrun_pid")
    await train.log 2 ' trains'
    kill -USR1 "$(sed -nE 's/.*rank 1 .* trains, process ([0-9]+)$/\1/p' train.log)"
    wait "$torchrun_pid" || fail "torchrun did not start the ranks again"
    await train.log 2 ' goes on'
    # torchrun itself is asked to end: its own status says nothing of the ranks', which have saved.
    rm train.log
    check_signal TERM 1 "${torchrun[@]}" "$program" train
    grep -q 'SignalException' train.log || fail "torchrun does not say that a signal ended it"
    ;;
  ray)
    python=${PEERS:-/opt/peers}/ray/bin/python
    [ -x "$python" ] || { echo "mdstream: SKIPPED: no Ray; tools/install-ray.sh installs it" >&2; exit 77; }
    RAY_DEDUP_LOGS=0 "$python" "$scripts/ray_train.py" "$program" "$work/ray" >world.log 2>&1 || fail "Ray failed"
    check_world '$' world.log
    ;;
  slurm)
    for each in munged slurmctld slurmd; do PATH=$PATH:/usr/sbin need $each; done
    start_slurm "$work/slurm" 1 8 || { echo "mdstream: SKIPPED: Slurm does not start here" >&2; exit 77; }
    srun -n 2 "$program" >world.log
    check_world 'SLURM_JOB_ID=1 SLURM_STEP_ID=0' world.log
    check_writers 4 srun -n 4
    for kind in pmi2 pmix; do
      srun --mpi=$kind -n 2 "$program" >$kind.log
      check_world 'SLURM_JOB_ID=' $kind.log
    done
    # A step of two tasks where the job has three for each node, and the batch script itself, which is no rank.
    cat >small.sbatch <<SCRIPT
#!/usr/bin/env bash
srun -n 2 "$program"
"$program"
SCRIPT
    sbatch -W -n 3 --ntasks-per-node=3 -o "$work/small.log" small.sbatch
    check_world SLURM_JOB_ID= small.log
    grep -q "rank 0 of 1, 1 on a node, token SLURM_JOB_ID" small.log || fail "the batch script took itself for a rank"
    # The template: asked to end, the ranks save and the job is queued again.
    job=$(PROGRAM=$program STORE=none sbatch --parsable --nodes=1 --ntasks-per-node=2 --cpus-per-task=1 \
      -o "$work/train.log" "$templates/slurm.sbatch")
    await train.log 2 ' trains'
    scancel --signal=USR1 "$job"
    await train.log 2 ' saves, '
    # Slurm lets what was queued again wait until its old credentials have expired.
    await train.log 2 ' goes on'
    # Else its processes would outlive the daemons.
    end=$((SECONDS + 180))
    while [ -n "$(squeue -h -j "$job" -o %T)" ]; do
      [ $SECONDS -lt $end ] || fail "the job has not ended after it went on"
      sleep 0.1
    done
    ;;
esac
echo "mdstream: $launcher starts ranks that know their place"
