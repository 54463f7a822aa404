#!/usr/bin/env bash
# Injects faults into searches over Slurm nodes: compile workers and a device worker are killed, a node is lost, a
# launcher, a tuner and the controller are killed, Ctrl-C. Each costs nothing that was archived, and leaves nothing
# behind. Usage: faults.sh EXECUTABLE FAKE_CUDA. Skipped (77) without Slurm or without root.
set -u
executable=$(realpath "$1")
fake=$(realpath "$2")
. "$(dirname "$0")/cluster.sh"
export AUTOKERNEL_LIBCUDA=$fake AUTOKERNEL_LIBNVRTC=$fake AUTOKERNEL_LIBCUBLASLT=$fake AUTOKERNEL_LIBCUDNN=$fake \
    AUTOKERNEL_LIBNVML=$fake AUTOKERNEL_BEAT_MS=2000
wanted=100 # enough that a fault comes before the end, and that one that costs trials shows

trials() { grep -c '"event":"trial"' events.json 2>/dev/null || true; }

# Starts a search in the background and, unless it goes on with an earlier one, waits until it has some trials.
begin() {
    rm -f events.json
    "$executable" tune matmul --impl cuda_sm90 --dtype bf16 --size 64 --device cuda:0 --strategy exhaustive --libraries none \
        --finish-time 0.02 --like none --evals $wanted --archive run.db --events events.json --launcher slurm --workers 2 "$@" \
        >out.log 2>&1 &
    tuner=$!
    [ $# = 0 ] || return
    for _ in $(seq 6000); do
        [ "$(trials | grep .)" -ge 4 ] 2>/dev/null && return
        kill -0 $tuner 2>/dev/null || break
        sleep 0.05
    done
    fail "no trials: $(cat out.log)"
}
# All configurations were tried, each once, and none is said to have failed (or at most $allowed).
complete() {
    "$executable" history matmul --archive run.db --limit 1000 --json >history.json || fail "no history"
    local all distinct good
    all=$(grep -o '"strategy":"[a-z]*"' history.json | wc -l)
    distinct=$(grep -o '"config":"[^"]*"' history.json | sort -u | wc -l)
    good=$(grep -o '"status":"ok"' history.json | wc -l)
    [ "$all/$distinct" = $wanted/$wanted ] && [ "$good" -ge $((wanted - ${allowed:-0})) ] || fail "after $1: $all trials of $distinct configurations, $good good: $(cat out.log)"
    grep -o '"config":"[^"]*"' history.json | sort -u >configs.txt
    if [ -e same.txt ]; then cmp -s same.txt configs.txt || fail "after $1: other configurations"; else cp configs.txt same.txt; fi
    nothing_left "$1"
    rm -f run.db*
}
relays() { pgrep -f -- "^$executable worker --stdio [0-9]+ $folder"; }
job() { squeue -h -t R -o %i | sort -n | head -n 1; }

begin
wait $tuner || fail "tune: $(cat out.log)"
grep -o '"measured_on":"[^"]*"' events.json | sort | uniq -c
complete "a search without faults"

# Compile workers are killed and stopped on their nodes: their units are compiled again.
begin
killed=0
while kill -0 $tuner 2>/dev/null; do
    for far in $(relays); do
        for process in $(pgrep -P "$far" -f -- '--compile'); do
            [ $((killed % 2)) = 0 ] && kill -9 "$process" || kill -STOP "$process"
            killed=$((killed + 1))
        done 2>/dev/null
    done
    sleep 0.3
done
wait $tuner || fail "after lost compile workers: $(cat out.log)"
[ $killed -ge 2 ] || fail "no compile worker stood on a node"
complete "lost compile workers"

# A device worker is killed: one trial at most, and its job stays in the queue.
begin
before=$(squeue -h -t R -o %i | sort)
process=$(pgrep -P "$(relays | head -n 1)" -f -- '--device') || fail "no device worker"
kill -9 "$process"
wanted_trials=$(($(trials) + 10))
for _ in $(seq 600); do [ "$(trials)" -ge $wanted_trials ] && break; sleep 0.05; done
[ "$(squeue -h -t R -o %i | sort)" = "$before" ] || fail "a job went with its device worker: $before"
wait $tuner || fail "after a killed device worker: $(cat out.log)"
allowed=1 complete "a killed device worker"

# A node is lost: its daemon and all that runs on it die at once.
begin
lost=$(job)
node=$(squeue -h -j "$lost" -o %N)
far=
for process in $(relays); do # another cluster on this machine may have a step of the same number
    step=$(ps -o ppid= -p "$process" | tr -d ' ')
    ps -o args= -p "$step" | grep -q "slurmstepd: \[$lost\.0\]" && far=$process && break
done
[ -n "$far" ] || fail "no worker in the step of job $lost"
for process in "$(cat "$folder/$node.pid")" $step $far $(pgrep -P "$far"); do kill -9 "$process" 2>/dev/null; done
wait $tuner || fail "after a lost node: $(cat out.log)"
complete "a lost node"
slurmd -N "$node" || fail "slurmd of $node does not start again"
for _ in $(seq 600); do [ "$(sinfo -h -t idle -o %D)" = 4 ] && break; sleep 0.1; done

# A launcher is killed, which srun cannot notice: the silence ends its worker.
begin
launchers() { pgrep -f "^srun --nodes=1 --ntasks=1 --job-name=autokernel.* $folder"; } # the relay's line goes on like it
kill -9 "$(launchers | head -n 1)" || fail "no launcher"
wait $tuner || fail "after a killed launcher: $(cat out.log)"
complete "a killed launcher"

# Everything on the tuner's machine is killed at once: the workers hear nothing and cancel their own jobs.
begin
disown $tuner
kill -9 $tuner $(pgrep -P $tuner -f -- 'worker --link') $(launchers)
nothing_left "a killed machine of the tuner"
begin --resume
wait $tuner || fail "after a killed machine: $(cat out.log)"
complete "a killed machine of the tuner and --resume"

# A launcher is stopped, and a relay beside the tuner, which is silent from then on.
begin
kill -STOP "$(launchers | head -n 1)" || fail "no launcher"
wait $tuner || fail "after a stopped launcher: $(cat out.log)"
complete "a stopped launcher"
begin
kill -STOP "$(pgrep -P $tuner -f -- 'worker --link' | head -n 1)" || fail "no relay"
wait $tuner || fail "after a stopped relay: $(cat out.log)"
complete "a stopped relay"

# A relay on a node is stopped: its worker goes with it.
begin
kill -STOP "$(relays | head -n 1)" || fail "no relay on a node"
wait $tuner || fail "after a stopped relay on a node: $(cat out.log)"
complete "a stopped relay on a node"

# All nodes are taken, and a launcher is killed whose job waits in the queue: that job goes, too.
sbatch --quiet --exclusive --nodes=4 --job-name=others --output=/dev/null --wrap 'sleep 1000' || fail "no job of others"
for _ in $(seq 600); do [ -n "$(squeue -h -t R --name=others)" ] && break; sleep 0.05; done
"$executable" tune softmax --size 64 --device host --evals 2 --archive run.db --launcher slurm --workers 1 >out.log 2>&1 &
tuner=$!
for _ in $(seq 600); do [ -n "$(squeue -h -t PD -o %i)" ] && [ -n "$(launchers)" ] && break; sleep 0.05; done
waiting=$(squeue -h -t PD -o %i)
[ -n "$waiting" ] || fail "no job waits: $(cat out.log)"
kill -9 $(launchers)
for _ in $(seq 300); do squeue -h -o %i | grep -qx "$waiting" || break; sleep 0.1; done
squeue -h -o %i | grep -qx "$waiting" && fail "job $waiting waits for nobody"
kill -INT $tuner
wait $tuner
scancel --name=others
nothing_left "a launcher that was killed in the queue"
rm -f run.db*

# The tuner is killed; the same command with --resume goes on to the same configurations.
begin
disown $tuner
kill -9 $tuner
nothing_left "a killed tuner"
begin --resume
wait $tuner || fail "after kill -9: $(cat out.log)"
complete "a killed tuner and --resume"

# Ctrl-C, and --resume.
begin
kill -INT $tuner
wait $tuner || fail "after Ctrl-C: $(cat out.log)"
nothing_left "Ctrl-C"
begin --resume
wait $tuner || fail "after Ctrl-C and --resume: $(cat out.log)"
complete "Ctrl-C and --resume"

# The controller disappears: a search ends by its time, in one line.
kill -9 "$(cat "$folder/slurmctld.pid")"
for _ in $(seq 100); do kill -0 "$(cat "$folder/slurmctld.pid")" 2>/dev/null || break; sleep 0.1; done
"$executable" tune matmul --impl cuda_sm90 --dtype bf16 --size 64 --device cuda:0 --libraries none --time 3 --archive gone.db \
    --launcher slurm --workers 2 --quiet >out.log 2>&1 && fail "a search without a controller measured something"
[ "$(grep -c '^autokernel:' out.log)" = 1 ] || fail "not one line: $(cat out.log)"
echo "without a controller: $(cat out.log)"
[ "$(ours)" = 0 ] || fail "workers without a controller"
slurmctld -c -i || fail "slurmctld does not start again"
echo "ok"
