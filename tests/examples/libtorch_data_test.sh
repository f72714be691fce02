#!/usr/bin/env bash
# libtorch_data_test.sh PROGRAM WORK: one process, two of torchrun's and two of mpirun's have the same samples in every step and
# learn the same; a run goes on with another number of processes.
set -euo pipefail
program=$1 work=$2
rm -rf "$work"
mkdir -p "$work"
cd "$work"
for each in torchrun mpirun.openmpi; do
  command -v "$each" >/dev/null || { echo "mdstream: SKIPPED: no $each; tools/install-deps.sh launchers installs it" >&2; exit 77; }
done
mpirun=(mpirun.openmpi --allow-run-as-root --oversubscribe -n 2)
# -r and -t: without redirection Debian's torchrun of version 1.13 fails in Python 3.11.
torchrun=(torchrun --nnodes 1 --nproc_per_node 2 --rdzv_backend c10d --rdzv_endpoint 127.0.0.1:0 --max_restarts 0
  -r 1 -t 1 --log_dir "$work/log" --no_python)

"$program" one >one.txt
"${torchrun[@]}" "$program" "$work/torchrun" >torchrun.txt 2>torchrun.err || { cat torchrun.txt torchrun.err >&2; exit 1; }
"${mpirun[@]}" "$program" mpirun >mpirun.txt
"$program" parts 25 >parts.txt
"${mpirun[@]}" "$program" parts >>parts.txt

samples() { grep -oE 'step [0-9]+: samples -?[0-9]+' "$1" | sort -t ' ' -k 2n; }
[ "$(samples one.txt | wc -l)" = 6 ]
for run in torchrun mpirun parts; do
  diff <(samples one.txt) <(samples $run.txt) || { echo "$run had other samples" >&2; exit 1; }
done
for run in one:1 torchrun:2 mpirun:2 parts:2; do
  grep -q "${run#*:} processes have y = 3.00 x0 -2.00 x1 +1.00" "${run%:*}.txt" || { cat "${run%:*}.txt" >&2; exit 1; }
done
cat one.txt
