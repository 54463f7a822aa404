#!/usr/bin/env bash
# Runs a command that takes a while, with its output in a file: progress.sh LOG WHAT COMMAND...
# On a terminal one line is redrawn with the step that the build is at ("[12/340]" or "[ 4%]"), its
# time and nothing else; in a pipe one line is printed when it begins to take long, and then one each
# minute. If the command fails, its output is shown.
set -u
log=$1 what=$2
shift 2
begin=$SECONDS
: >"$log"
"$@" >"$log" 2>&1 &
child=$!
trap 'kill "$child" 2>/dev/null; exit 130' INT TERM
terminal=no
[ -t 2 ] && [ "${TERM:-dumb}" != dumb ] && terminal=yes
next=2
running=yes
while [ $running = yes ]; do
    sleep 0.3
    kill -0 "$child" 2>/dev/null || running=no
    step=$(tail -c 2000 "$log" | grep -o -E '^\[[ 0-9]+(/[0-9]+|%)\]' | tail -n 1)
    if [ $terminal = yes ]; then
        printf '\r%s %s %d s\033[K' "$what" "$step" $((SECONDS - begin)) >&2
    elif [ $((SECONDS - begin)) -ge $next ]; then
        echo "$what $step $((SECONDS - begin)) s (some minutes on a busy machine; the output is in $log)" >&2
        next=$((next + 60))
    fi
done
[ $terminal = yes ] && printf '\r\033[K' >&2
wait "$child"
code=$?
[ $code -eq 0 ] || cat "$log"
exit $code
