#!/usr/bin/env bash
# Tunes over four Slurm nodes, all on this machine and on loopback. Usage: slurm.sh EXECUTABLE
# Skipped (77) without Slurm (Debian: slurmctld slurmd slurm-client munge) or without root.
set -u
executable=$(realpath "$1")
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
nothing_left() {
    for _ in $(seq 600); do [ -z "$(squeue -h)" ] && [ "$(ours)" = 0 ] && return; sleep 0.05; done
    fail "something is left of $1: $(squeue -h), $(ours) workers"
}
set -- tune softmax --size 64 --device host --finish-time 0.02 --launcher slurm

# Within an allocation: a step for each node.
salloc --quiet --nodes=4 --ntasks=4 "$executable" tune softmax --size 64 --device host --evals 12 \
    --finish-time 0.02 --launcher slurm --workers 4 >out.log 2>&1 || fail "tune in salloc: $(cat out.log)"
grep -q '12 configurations in' out.log || fail "not all configurations were tried: $(cat out.log)"
nothing_left "a run in an allocation"

# Outside: a job for each worker.
"$executable" "$@" --evals 6 --workers 1-2 >out.log 2>&1 || fail "tune: $(cat out.log)"
grep -q '6 configurations in' out.log || fail "not all configurations were tried: $(cat out.log)"
nothing_left "a run outside of one"

# A worker that is cancelled, and a tuner that is killed.
"$executable" "$@" --time 60 --workers 2 >out.log 2>&1 &
tuner=$!
disown
for _ in $(seq 600); do [ "$(squeue -h -t R | wc -l)" -ge 2 ] && [ "$(ours)" -ge 2 ] && break; sleep 0.05; done
[ "$(ours)" -ge 2 ] || fail "no workers: $(cat out.log)"
first=$(squeue -h -o %i | sort -n | head -n 1)
scancel "$first"
for _ in $(seq 600); do
    [ "$(squeue -h -t R -o %i | grep -vxc "$first")" -ge 2 ] && break
    sleep 0.05
done
[ "$(squeue -h -t R -o %i | grep -vxc "$first")" -ge 2 ] || fail "the cancelled worker did not come back: $(cat out.log)"
kill -9 $tuner
nothing_left "a tuner that was killed"
echo "ok"
