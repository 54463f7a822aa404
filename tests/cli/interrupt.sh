# Tests that Ctrl-C, SIGTERM and SIGHUP end a run early and keep its results, but not SIGHUP under nohup.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
# When a program ends, opens the pipe that it should have written to: else its reader would wait for ever.
watch() {
    (tail --pid="$1" -f /dev/null; : >events) >/dev/null 2>&1 &
    watcher=$!
}
# Runs autokernel in the background, with a pipe for its events. A shell lets background jobs ignore SIGINT; env
# undoes that.
start() {
    rm -f events
    mkfifo events
    env --default-signal=INT autokernel "$@" >out 2>err &
    program=$!
    watch $program
}
# Sends a signal at the first event that matches a pattern, and reads the events until the program ends. Returns its
# exit code.
signal_at() {
    local sent=no event
    while IFS= read -r event; do
        case $event in
        $2) [ $sent = yes ] || { sent=yes; kill -"$1" $program; } ;;
        esac
    done <events
    wait $program
}
for signal in INT TERM HUP; do
    start tune reduce --size 32 --evals 100000 --events events --quiet
    signal_at $signal '*"event"*"trial"*"status"*"ok"*'
    echo "$signal: exit $?"
    kill $watcher 2>/dev/null # it may have ended
    cat err
    grep -E -c '; interrupted' out
    grep -E -c '^best ' out
    grep -c 'stopped before the finish' out
    grep -c '^next: autokernel tune reduce --size 32 --evals 100000 --events events --quiet --resume ' out
    [ "$(autokernel history --json | grep -c '"status"')" -gt 0 ] || echo "nothing was archived"
done
# nohup ignores SIGHUP: the run goes on to its end.
rm -f events
mkfifo events
env --ignore-signal=HUP autokernel tune reduce --size 32 --evals 4 --libraries none --finish-time 0.1 --events events --json >out 2>err &
program=$!
watch $program
while IFS= read -r event; do
    case $event in
    *'"event"'*'"trial"'*) kill -HUP $program ;;
    esac
done <events
wait $program
echo "HUP that is ignored: exit $?, $(grep -o '"stopped_by":"[a-z]*"' out)"
kill $watcher 2>/dev/null # it may have ended
cat err
# When the search is over and its finalists are checked, too; which moment of that the signal meets is
# no matter.
start tune reduce --size 1024 --evals 2 --libraries none --events events --json
trials=0
while IFS= read -r event; do
    case $event in
    *'"event"'*'"trial"'*) trials=$((trials + 1)); [ $trials != 2 ] || kill -INT $program ;;
    esac
done <events
wait $program
echo "after the search: exit $?, best $(grep -c '"best":{' out)"
kill $watcher 2>/dev/null # it may have ended
cat err
# While the libraries are measured, before the first trial, the run gets its end, too.
start tune reduce --size 1024 --evals 16 --events events
signal_at INT '*"survey"*'
echo "before the first trial: exit $?, $(grep -c '^next: .* --resume ' out) suggestion"
kill $watcher 2>/dev/null # it may have ended
tail -n 1 err
autokernel report | grep -E '^  (ended .*never|stopped by)'
# With --json nothing but JSON goes to standard output, not even a suggestion.
start tune reduce --sizes '32;64' --evals 2000 --libraries none --events events --json --quiet
signal_at INT '*"event"*"trial"*'
echo "several sizes with --json: $(grep -c '^next:' out) suggestions"
kill $watcher 2>/dev/null # it may have ended
cat err
