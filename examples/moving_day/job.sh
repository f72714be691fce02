#!/usr/bin/env bash
# job.sh NODES COMMAND...: a batch job of Slurm: one rank on each node that the job got, each with a cache of its node.
set -euo pipefail
nodes=$1
shift
# shellcheck disable=SC2016
exec srun --ntasks-per-node=1 --ntasks="$SLURM_NNODES" --kill-on-bad-exit=1 \
  bash -c 'nodes=$1; shift; exec "$@" --cache "$nodes/$SLURMD_NODENAME"' - "$nodes" "$@"
