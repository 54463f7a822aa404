# Tests that Ctrl-C ends bench, check and compare at once, however long the measurement would have taken.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
for command in "compare matmul --size 64 --time 700h" \
    "bench matmul --size 64 --config default --baselines --time 700h" \
    "check matmul --size 64 --configs 10000"; do
    # A shell lets background jobs ignore SIGINT; env undoes that.
    env --default-signal=INT autokernel $command >out 2>err &
    # Its workers are there when its folder is.
    until compgen -G "$TMPDIR/autokernel-*" >/dev/null; do kill -0 $! || break; done
    kill -INT $!
    wait $!
    echo "${command%% *}: exit $?"
    cat err
    compgen -G "$TMPDIR/autokernel-*"
done
exit 0
