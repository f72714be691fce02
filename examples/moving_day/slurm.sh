# shellcheck shell=bash
# Sourced: a cluster of Slurm with two nodes, n1 and n2, both on this machine, which ends when the script does.
# start_slurm DIRECTORY: everything of it lies there. Nothing is changed in /etc, and Slurm's own user is not needed.
slurm_processes=()

stop_slurm() {
  local each
  for each in "${slurm_processes[@]}"; do kill "$each" 2>/dev/null || true; done
  for each in "${slurm_processes[@]}"; do wait "$each" 2>/dev/null || true; done
}

start_slurm() {
  local state=$1 user host controller first second
  user=$(id -un) host=$(hostname -s)
  read -r controller first second < <(python3 -c 'import socket
all = [socket.socket() for _ in range(3)]
for each in all: each.bind(("127.0.0.1", 0))
print(*[each.getsockname()[1] for each in all])')
  mkdir -p "$state"/{munge,controller,n1,n2}
  chmod 700 "$state/munge"
  (umask 077 && head -c 128 /dev/urandom >"$state/munge/key")
  # A job whose node has failed may start again once its old credentials have expired.
  cat >"$state/slurm.conf" <<CONF
ClusterName=moving
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$controller
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
MpiDefault=none
KillWait=1
JobRequeue=1
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$first CPUs=1
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$second CPUs=1
PartitionName=main Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
CONF
  export SLURM_CONF=$state/slurm.conf PATH=$PATH:/usr/sbin
  daemon() {
    setsid setpriv --pdeathsig KILL "$@" </dev/null >>"$state/log" 2>&1 &
    slurm_processes+=($!)
  }
  daemon munged --foreground --force --key-file="$state/munge/key" --socket="$state/munge/socket" \
    --pid-file="$state/munge/pid" --log-file="$state/munge/log" --seed-file="$state/munge/seed"
  local _
  for _ in $(seq 100); do [ ! -S "$state/munge/socket" ] || break; sleep 0.1; done
  daemon slurmctld -D
  daemon slurmd -D -N n1
  daemon slurmd -D -N n2
  for _ in $(seq 200); do
    [ "$(sinfo -h -t idle -o %D 2>/dev/null)" != 2 ] || return 0
    sleep 0.1
  done
  tail -20 "$state/log" >&2
  echo "moving day: Slurm did not start" >&2
  return 1
}
