# A run that resumed is won by a trial of the run before it: report, best and export name the same winner.
cp "$TESTS"/../data/recordings/tiny.json .
sim() { autokernel tune tiny.json --device sim:tiny.json --json --quiet "$@"; }
config() { grep -o '"config": *{[^}]*}' | head -n 1 | tr -d ' "\n'; }
sim --evals 30 --seed 1 >first.json
for evals in 31 31; do # one more, none more
    sim --evals $evals --seed 1 --resume >run.json
    run=$(grep -o '"run":"[0-9a-f]*"' run.json | cut -d'"' -f4)
    tail -c +2 run.json | grep -o '"best":.*' | config >reported
    echo "$(autokernel history --run "$run" --json | grep -c '"id"') trials of its own"
    autokernel export tiny --run "$run" --output - | tr -d '\n' | config >exported
    cmp reported exported && echo "the same winner"
    autokernel best --run "$run" --json | tr ',' '\n' | grep '"config"' | wc -l
    autokernel best --run "$run" | sed -n '/^next/p' | grep -c -e "--run $run"
    autokernel history --run "$run" | sed -n '/^next/p' | grep -c -e "--run $run"
done
echo "-- the runs compare by what they found, whoever tried it"
first=$(grep -o '"run":"[0-9a-f]*"' first.json | cut -d'"' -f4)
autokernel compare "$first" "$run" | sed -n '/^Where the best/,/^$/p'
autokernel compare "$run" "$first" | grep 'times the speed'
for id in "$first" "$run"; do
    autokernel report "$id" --json | tr ',' '\n' | grep '"bound"' | head -n 1 | tr -d ' {}'
done
echo "-- removal"
autokernel history --remove "$first" | head -n 2
autokernel history --remove "$run"
autokernel history --remove "$run" --yes
autokernel history --remove "$run" --yes
echo "exit $?"
autokernel history --remove '#1'
autokernel history --remove '#1' --yes --json
autokernel history --remove '#x'
autokernel history --yes
autokernel history tiny --remove '#2'
autokernel history --runs --json | grep -o '"id"' | wc -l
echo "-- runs of other programs"
trial='"kernel": "k", "config": "A=1", "status": "ok", "ms": 1, "device": "host", "size": "N=8"'
printf '[{"run": "a sweep of November, 2026", %s}]\n' "$trial" >sweep.json
autokernel import --format json sweep.json --archive other.db | head -n 1
autokernel history --runs --archive other.db | grep next
autokernel history --run 'a sweep of November, 2026' --archive other.db | grep next
echo "-- a target is relative to the default also if that is resumed"
double() {
    autokernel tune "$TESTS/../data/kernels/double" --device host --size 4096 --libraries none --finish-time 0.02 --json --quiet "$@" 2>/dev/null
}
double --evals 1 >/dev/null
double --evals 40 --resume --target-speedup 0.001 | grep -o '"stopped_by":"[a-z ]*"'
