#!/usr/bin/env bash
# first_run.sh: checks on a machine with a CUDA device, in less than 3.5 minutes, whether autokernel
# works and how fast it is. The most important steps come first. Each step has a time-out, and no
# failure stops the others. It builds nothing, and uses build/release/autokernel (or $AUTOKERNEL) and
# the installed CUDA libraries. All output goes to $OUT (default: a new folder under /tmp).
#
#     bench/cuda/first_run.sh
set -u
here=$(cd "$(dirname "$0")/../.." && pwd)
ak=${AUTOKERNEL:-$here/build/release/autokernel}
out=${OUT:-$(mktemp -d)}
mkdir -p "$out"
export AUTOKERNEL_ARCHIVE=${AUTOKERNEL_ARCHIVE:-$out/archive.db}
export XDG_CACHE_HOME=${XDG_CACHE_HOME:-$out/cache}
began=$SECONDS

# step NAME SECONDS COMMAND...: runs the command, keeps its output in NAME.txt, and prints its exit
# status and time.
step() {
    local name=$1 limit=$2 start=$SECONDS code
    shift 2
    timeout -k 5 "$limit" "$@" >"$out/$name.txt" 2>&1
    code=$?
    printf '== %-16s exit %-3s %3s s of %s\n' "$name" "$code" "$((SECONDS - start))" "$limit"
}
gist() { grep -aE "$1" "$out/$2.txt" | cut -c1-"${3:-240}" | tail -n "${4:-6}"; }

if [ ! -x "$ak" ]; then
    echo "no $ak: build it first (make)"
    exit 1
fi
nvidia-smi --query-gpu=name,driver_version,clocks.sm,power.draw,clocks_throttle_reasons.active \
    --format=csv,noheader >"$out/smi.txt" 2>&1
cat "$out/smi.txt"

step inventory 30 "$ak" worker --inventory cuda
cut -c1-700 "$out/inventory.txt"
echo

step check-256 30 "$ak" check matmul --device cuda:0 --dtype bf16 --size M=256,N=264,K=520
tail -n 6 "$out/check-256.txt" | cut -c1-300

step tune-2048 45 "$ak" tune matmul --device cuda:0 --dtype bf16 --size 2048 --evals 30 --time 30 \
    --events "$out/tune-2048.jsonl"
gist 'device:|library|best|TFLOP|reject|error|autokernel:' tune-2048 260 16

step tune-4096 60 "$ak" tune matmul --device cuda:0 --dtype bf16 --size 4096 --evals 30 --time 40 \
    --events "$out/tune-4096.jsonl"
gist 'device:|library|best|TFLOP|reject|error|autokernel:' tune-4096 260 16

step compare-4096 30 "$ak" compare matmul --device cuda:0 --dtype bf16 --size 4096
tail -n 9 "$out/compare-4096.txt" | cut -c1-260

step check-f16 20 "$ak" check matmul --device cuda:0 --dtype f16 --size M=1000,N=3000,K=1000
tail -n 4 "$out/check-f16.txt" | cut -c1-300

step act-1024 25 "$ak" tune matmul_act --device cuda:0 --dtype bf16 --size 1024 --evals 8 --time 12
gist 'library|best|TFLOP|reject|error|autokernel:' act-1024 260 8

nvidia-smi --query-gpu=name,clocks.sm,power.draw,temperature.gpu,clocks_throttle_reasons.active \
    --format=csv,noheader >>"$out/smi.txt" 2>&1
echo "statuses of all trials:"
for name in tune-2048 tune-4096; do
    [ -f "$out/$name.jsonl" ] && printf '%s: ' "$name" &&
        grep -ao '"event":"trial".*' "$out/$name.jsonl" | grep -ao '"status":"[a-z_]*"' | sort | uniq -c | tr '\n' ' '
    echo
done
echo "all in $((SECONDS - began)) s; details in $out"
