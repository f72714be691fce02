# shellcheck shell=bash
# Sourced: a cluster of Slurm whose nodes are all on this machine, and which ends when the script does.
# shellcheck source=examples/moving_day/free_ports.sh
. "$(dirname "${BASH_SOURCE[0]}")/free_ports.sh"
declare -A slurm_processes=()

stop_slurm() {
  local each _
  [ ${#slurm_processes[@]} -gt 0 ] || return 0
  # Processes of jobs would outlive the daemons.
  timeout 5 scancel --user="$(id -un)" 2>/dev/null || true
  for _ in $(seq 100); do
    [ -n "$(timeout 5 squeue -h 2>/dev/null || true)" ] || break
    sleep 0.1
  done
  for each in "${slurm_processes[@]}"; do kill "$each" 2>/dev/null || true; done
  for each in "${slurm_processes[@]}"; do wait "$each" 2>/dev/null || true; done
}

# start_daemon NAME: munged, slurmctld, or the slurmd of a node.
start_daemon() {
  local state=${SLURM_CONF%/*} command=("$1")
  case $1 in
    munged)
      command+=(--foreground --force --key-file="$state/munge/key" --socket="$state/munge/socket"
        --pid-file="$state/munge/pid" --log-file="$state/munge/log" --seed-file="$state/munge/seed")
      ;;
    slurmctld) command+=(-D) ;;
    *) command=(slurmd -D -N "$1") ;;
  esac
  setsid setpriv --pdeathsig KILL "${command[@]}" </dev/null >>"$state/log" 2>&1 &
  slurm_processes[$1]=$!
}

# restart_daemon NAME: kills it, and starts it again as a site's systemd does.
restart_daemon() {
  kill -KILL "${slurm_processes[$1]}"
  wait "${slurm_processes[$1]}" 2>/dev/null || true
  sleep 0.2
  start_daemon "$1"
}

# start_slurm DIRECTORY NODES CORES: nodes n1, n2, ..., each of which takes itself to have so many cores. Everything of it lies in
# the directory: nothing is changed in /etc, and Slurm's own user is not needed. Fails where Slurm does not start.
start_slurm() {
  local state=$1 nodes=$2 cores=$3 user host ports node _
  user=$(id -un) host=$(hostname -s)
  read -ra ports < <(free_ports $((nodes + 1)))
  mkdir -p "$state"/{munge,controller}
  chmod 700 "$state/munge"
  (umask 077 && head -c 128 /dev/urandom >"$state/munge/key")
  # A job whose node has failed may start again once its old credentials have expired.
  cat >"$state/slurm.conf" <<CONF
ClusterName=mdstream
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${ports[0]}
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$state/munge/socket,cred_expire=5
StateSaveLocation=$state/controller
SlurmdSpoolDir=$state/%n
SlurmctldPidFile=$state/controller.pid
SlurmdPidFile=$state/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,bf_interval=1
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
KillWait=10
JobRequeue=1
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
  for ((node = 1; node <= nodes; ++node)); do
    mkdir "$state/n$node"
    echo "NodeName=n$node NodeHostname=$host NodeAddr=127.0.0.1 Port=${ports[node]} CPUs=$cores" >>"$state/slurm.conf"
  done
  export SLURM_CONF=$state/slurm.conf PATH=$PATH:/usr/sbin
  start_daemon munged
  for _ in $(seq 600); do [ ! -S "$state/munge/socket" ] || break; sleep 0.1; done
  start_daemon slurmctld
  for ((node = 1; node <= nodes; ++node)); do start_daemon "n$node"; done
  for _ in $(seq 1200); do
    [ "$(sinfo -h -t idle -o %D 2>/dev/null)" != "$nodes" ] || return 0
    sleep 0.1
  done
  tail -20 "$state/log" >&2
  echo "Slurm did not start" >&2
  return 1
}
