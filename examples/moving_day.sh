#!/usr/bin/env bash
# examples/moving_day.sh: one training that moves through three clouds and four launchers, and is the same to the bit as the one that
# stayed where it was. Installs what is missing, builds, starts real servers on this machine (SeaweedFS for S3,
# Azurite, Google's testbench, Slurm) and trains the quickstart's model: three ranks under mpirun, killed; two under Slurm, whose
# node is taken away; four under torchrun, whose store throttles and is gone for up to 20 s; one process to the end.
# Nothing but the object stores is common to the legs. build/moving/work/moving.svg shows it; docs/moving.md explains.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/install-deps.sh build formats stores cli mpi test servers launchers
for each in mpirun slurmctld slurmd munged torchrun; do
  PATH=$PATH:/usr/sbin command -v "$each" >/dev/null || {
    echo "moving day: $each is needed, and not among this system's packages (Debian has python3-torch, which brings torchrun)" >&2
    exit 1
  }
done
build=build/moving
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DMDSTREAM_TESTS=OFF -DMDSTREAM_EXAMPLES=ON >/dev/null
cmake --build "$build" --target quickstart mdstream_cli

with=tests/servers/with.sh
$with seaweedfs $with azurite $with testbench \
  examples/moving_day/legs.sh "$build/bin/quickstart" "$build/bin/mdstream" "$build/work"
