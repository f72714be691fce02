#!/usr/bin/env bash
# job.sh NODES COMMAND...: a batch job of Slurm: one rank on each node that the job got, each with a folder of its node in NODES.
# NODES/launcher has the process of srun.
set -euo pipefail
nodes=$1
shift
echo $$ >"$nodes/launcher"
# shellcheck disable=SC2016
exec srun --ntasks-per-node=1 --ntasks="$SLURM_NNODES" --kill-on-bad-exit=1 \
  bash -c 'nodes=$1; shift; exec "$@" --work "$nodes/$SLURMD_NODENAME"' - "$nodes" "$@"
