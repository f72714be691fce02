# shellcheck shell=bash disable=SC2034,SC2317 # $launcher and a function for those who source this
# Sourced: Open MPI for several ranks on few cores of one machine, also in containers, also as root.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none  # Open MPI 5
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_btl=self,vader OMPI_MCA_plm=isolated

# launch COMMAND...: in the background; $launcher is the mpirun in which the command ends, not a shell that waits for it.
launch() {
  (
    mpirun() { exec mpirun "$@"; }
    "$@"
  ) &
  launcher=$!
}

# after_kill LAUNCHER: waits for an mpirun whose processes were killed; its exit status. It may hang where they died
# while they connected to it: then it is killed, too.
after_kill() {
  local i
  for ((i = 0; i < 200; ++i)); do
    kill -0 "$1" 2>/dev/null || break
    sleep 0.05
  done
  kill -KILL "$1" 2>/dev/null || true
  wait "$1" 2>/dev/null
}
