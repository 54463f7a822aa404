# Tests that Ctrl-C and SIGTERM end a run early and keep its results.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
for signal in INT TERM; do
    rm -f events
    mkfifo events
    # A shell lets background jobs ignore SIGINT; env undoes that.
    env --default-signal=INT autokernel tune matmul --size 32 --evals 100000 --events events --quiet >out 2>err &
    sent=no
    while IFS= read -r event; do
        case $event in
        *'"event"'*'"trial"'*'"status"'*'"ok"'*) [ $sent = yes ] || { sent=yes; kill -$signal $!; } ;;
        esac
    done <events
    wait $!
    echo "$signal: exit $?"
    cat err
    grep -E -c '; interrupted' out
    grep -E -c '^best ' out
    grep -c 'stopped before the finish' out
    grep -c '^next: autokernel tune matmul --size 32 --evals 100000 --events events --quiet --resume ' out
    [ "$(autokernel history --json | grep -c '"status"')" -gt 0 ] || echo "nothing was archived"
done
# When the search is over and its finalists are checked, too; which moment of that the signal meets is
# no matter.
rm -f events
mkfifo events
env --default-signal=INT autokernel tune matmul --size 512 --evals 2 --libraries none --events events --json >out 2>err &
trials=0
while IFS= read -r event; do
    case $event in
    *'"event"'*'"trial"'*) trials=$((trials + 1)); [ $trials != 2 ] || kill -INT $! ;;
    esac
done <events
wait $!
echo "after the search: exit $?, best $(grep -c '"best":{' out)"
cat err
