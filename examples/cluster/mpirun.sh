#!/usr/bin/env bash
# The quickstart's trainer on several machines with Open MPI. What you change: the hosts file, STORE, the number of ranks.
#
# Datasets and checkpoints lie in an object store; nothing has to be a path that machines share. Each machine has a
# cache on its own disk, which its ranks share. A run that was killed goes on from its last checkpoint, also on another
# number of ranks.
#
# SIGTERM to this script asks the ranks to save and end (mpirun passes SIGUSR1 on, while SIGTERM would kill them); the
# status is then 75, on which its caller starts this script again: a batch system, or systemd with
# RestartForceExitStatus=75. Failures are tried again here.
#
# Once, before the first start: QUICKSTART_STORE=s3://YOUR_BUCKET/quickstart build/quickstart/bin/quickstart prepare --work /tmp/quickstart
set -euo pipefail

export QUICKSTART_STORE=${STORE:-s3://YOUR_BUCKET/quickstart}
RANKS=${RANKS:-6}                    # 1, 2, 3, 4, 6 or 12 for sums in canonical order
HOSTFILE=${HOSTFILE:-hosts}          # one line a machine: "node1 slots=3"
PROGRAM=${PROGRAM:-build/quickstart/bin/quickstart}
MOST_RESTARTS=${MOST_RESTARTS:-10}   # after failures

asked='' mpirun=''
trap 'asked=yes; [ -z "$mpirun" ] || kill -USR1 "$mpirun" 2>/dev/null || true' TERM USR1
for ((restarts = 0; ; ++restarts)); do
  [ -z "$asked" ] || exit 75  # asked for between two starts
  mpirun -n "$RANKS" --hostfile "$HOSTFILE" --map-by slot -x QUICKSTART_STORE \
    "$PROGRAM" train --work "/tmp/quickstart-$(id -un)" --run cluster &
  mpirun=$!
  [ -z "$asked" ] || kill -USR1 "$mpirun" 2>/dev/null || true
  status=0
  wait "$mpirun" || status=$?
  while kill -0 "$mpirun" 2>/dev/null; do  # a signal has ended the waiting
    status=0
    wait "$mpirun" || status=$?
  done
  if [ -n "$asked" ] && [ "$status" -ne 0 ]; then exit 75; fi  # also where mpirun was asked before it had started the ranks
  if [ "$status" -eq 0 ] || [ "$status" -eq 75 ] || [ "$restarts" -ge "$MOST_RESTARTS" ]; then
    exit "$status"
  fi
done
