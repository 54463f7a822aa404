# A worker on another machine that lies: what it says of a trial is refused as a whole, or not believed.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
kernel=$TESTS/../data/kernels/double
export AUTOKERNEL_BEAT_MS=1000
try() {
    rm -f asked run.db*
    autokernel tune "$kernel" --size 100 --evals 1 --finish-time 0.1 --libraries none --launcher "cmd:python3 $TESTS/hostile_worker.py $1" \
        --workers 1 --device host --archive run.db --quiet >out 2>&1
    echo "$1: exit $?, asked $(wc -l <asked | tr -d ' ') times"
    grep '^autokernel:' out | sed -e 's/.*worked; //' -e 's/[^ ]* times as/N times as/' | cut -c 1-120
    autokernel history --archive run.db --json | grep -o '"status":"[a-z_]*"'
}
for fault in negative fast escape unjudged; do try $fault; done
echo "-- the time is that of the samples"
try median
autokernel history --archive run.db --json | grep -c '"ms":1e-09'
exit 0
