#!/usr/bin/env bash
# Tunes over four Slurm nodes, all on this machine and on loopback. Usage: slurm.sh EXECUTABLE FAKE_CUDA
# Skipped (77) without Slurm (Debian: slurmctld slurmd slurm-client munge) or without root.
set -u
executable=$(realpath "$1")
fake=$(realpath "$2")
. "$(dirname "$0")/cluster.sh"
set -- tune softmax --size 64 --device host --finish-time 0.02 --launcher slurm

# Within an allocation: a step for each node.
salloc --quiet --nodes=4 --ntasks=4 "$executable" tune softmax --size 64 --device host --evals 12 \
    --finish-time 0.02 --launcher slurm --workers 4 >out.log 2>&1 || fail "tune in salloc: $(cat out.log)"
grep -q '12 configurations in' out.log || fail "not all configurations were tried: $(cat out.log)"
"$executable" history softmax --json | grep -o '"compile_worker":[0-9]*' | sort -u | wc -l | grep -qx '[2-9]\|1[0-2]' ||
    fail "one machine compiled everything"
nothing_left "a run in an allocation"

# Four devices of four nodes share the trials: none has less than a quarter of its share, on however busy a machine.
AUTOKERNEL_LIBCUDA=$fake AUTOKERNEL_LIBNVRTC=$fake AUTOKERNEL_LIBNVML=$fake salloc --quiet --nodes=4 --ntasks=4 "$executable" tune \
    matmul --impl cuda_sm90 --dtype bf16 --size 64 --device cuda:0 --strategy exhaustive --libraries none --evals 48 \
    --finish-time 0.02 --like none --events events.json --launcher slurm --workers 4 >out.log 2>&1 || fail "tune on devices: $(cat out.log)"
grep '"event":"trial"' events.json | grep -o '"measured_on":"[^"]*"' | sort | uniq -c | tee split.txt
awk '$1 >= 3 { good++ } END { exit good != 4 || NR != 4 }' split.txt || fail "a node got hardly any trials"

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

# Who comes, and an array job whose archives become one.
"$executable" fleet status --launcher slurm --workers 2 --device host >out.log 2>&1 || fail "fleet status: $(cat out.log)"
grep -q '^2 of 2 workers are ready' out.log || fail "fleet status: $(cat out.log)"
"$executable" fleet batch softmax --sizes '64;96' --device host --evals 2 --finish-time 0.02 --quiet >tune.sbatch || fail "fleet batch"
sbatch --wait --quiet tune.sbatch || fail "the array job: $(cat autokernel-*.log)"
"$executable" import autokernel-jobs/*.db --archive all.db >out.log || fail "import: $(cat out.log)"
grep -q '^added 4 trials' out.log || fail "import: $(cat out.log)"
nothing_left "an array job"
echo "ok"
