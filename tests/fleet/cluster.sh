#!/usr/bin/env bash
# Starts four Slurm nodes on this machine, on loopback, for the tests that read this file after they have set
# $executable. Skips (77) without Slurm (Debian: slurmctld slurmd slurm-client munge) or without root. Sets
# $folder, which is removed with the daemons at the end.
skip() { echo "skipped: $*"; exit 77; }
fail() { echo "FAILED: $*"; squeue 2>/dev/null; tail -n 5 "$folder"/slurmctld.log 2>/dev/null; exit 1; }
PATH=$PATH:/usr/sbin
for program in munged slurmctld slurmd srun sinfo squeue; do
    command -v $program >/dev/null || skip "no $program (Debian: slurmctld slurmd slurm-client munge)"
done
[ "$(id -u)" = 0 ] || skip "the daemons of Slurm must be started as root"
folder=$(mktemp -d) || exit 1
folder=$(realpath "$folder")
chmod 755 "$folder"
finish() {
    scancel --user=root 2>/dev/null
    for _ in $(seq 50); do [ -z "$(squeue -h 2>/dev/null)" ] && break; sleep 0.1; done # its steps end first
    for file in "$folder"/node?.pid "$folder"/slurmctld.pid "$folder"/munged.pid; do
        if [ -s "$file" ]; then kill "$(cat "$file")"; fi
    done
    sleep 0.2
    rm -rf "$folder"
}
trap finish EXIT
base=$((25000 + $$ % 1400 * 5))
mkdir -p "$folder/state" "$folder"/node{1,2,3,4}
cat >"$folder/slurm.conf" <<END
ClusterName=fake
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=$base
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CredType=cred/munge
SlurmUser=root
StateSaveLocation=$folder/state
SlurmctldPidFile=$folder/slurmctld.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdSpoolDir=$folder/%n
SlurmdPidFile=$folder/%n.pid
SlurmdLogFile=$folder/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmdTimeout=15
KillWait=3
SlurmdParameters=config_overrides
NodeName=node[1-4] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[$((base + 1))-$((base + 4))] CPUs=8 RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=node[1-4] Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
END
(umask 077; dd if=/dev/urandom of="$folder/munge.key" bs=1 count=128 status=none)
export SLURM_CONF=$folder/slurm.conf
munged --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" --pid-file="$folder/munged.pid" \
    --log-file="$folder/munged.log" --seed-file="$folder/munged.seed" || skip "munged does not start"
slurmctld -c -i || skip "slurmctld does not start"
for i in 1 2 3 4; do slurmd -N node$i || skip "slurmd does not start"; done
for _ in $(seq 300); do [ "$(sinfo -h -t idle -o %D 2>/dev/null)" = 4 ] && break; sleep 0.1; done
[ "$(sinfo -h -t idle -o %D)" = 4 ] || skip "the nodes do not become idle: $(sinfo -h)"
export XDG_DATA_HOME=$folder/data TMPDIR=$folder
cd "$folder" || exit 1
ours() { pgrep -f -- "--stdio [0-9]+ $folder" | wc -l; }
# Waits until no job and no worker of ours is left, and says how long that took.
nothing_left() {
    local begin=$SECONDS
    for _ in $(seq 1200); do
        [ -z "$(squeue -h)" ] && [ "$(ours)" = 0 ] && echo "after $1 nothing was left within $((SECONDS - begin)) s" && return
        sleep 0.1
    done
    fail "something is left of $1: $(squeue -h), $(ours) workers"
}
