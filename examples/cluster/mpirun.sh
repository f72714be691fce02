#!/usr/bin/env bash
# The quickstart's trainer on several machines with mpirun. What you change: the hosts file, WORK, the number of ranks.
#
# WORK holds the object store and the logs here, so it has to be a path that every machine sees. A trainer of
# your own reads from s3:// or another remote store, keeps checkpoints there, and gives each machine a cache
# directory on its own disk (`.local` of the loader): ranks of one machine share it.
set -euo pipefail

WORK=${WORK:-/shared/quickstart}     # the same path on all machines
RANKS=${RANKS:-6}                    # 1, 2, 3, 4, 6 or 12 for sums in canonical order
HOSTFILE=${HOSTFILE:-hosts}          # one line a machine: "node1 slots=3"
PROGRAM=${PROGRAM:-build/quickstart/bin/quickstart}

# A run that was killed goes on from its last checkpoint, also on another number of ranks.
exec mpirun -n "$RANKS" --hostfile "$HOSTFILE" --map-by slot \
  "$PROGRAM" train --work "$WORK" --run cluster
