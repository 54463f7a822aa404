# Tunes one kernel for many sizes, reads the report, exports the table, and uses it for other sizes.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
kernel=$TESTS/../data/kernels/double
autokernel tune "$kernel" --sizes '100;n=200000' --evals 4 --dispatch 2 --events events.jsonl >tuned 2>progress
echo "exit $?"
grep '^size ' progress
cat tuned
sed -n 's/.*"event": *"\(sizes\|start\|end\|table\)".*/\1/p' events.jsonl | tr '\n' ' '
echo
# What a size's own search did not find best, but the measurement of all has, gets a trial more: times decide that.
run=$(grep '"event": *"sizes"' events.jsonl | sed 's/.*"run": *"\([0-9a-f]*\)".*/\1/')
autokernel history --run $run --json | grep '"kernel"' >trials
all=$(wc -l <trials)
echo "-- the report"
autokernel report | grep -E '^[A-Z][a-z]|^  trials' | grep -v '^Warnings' | sed "s/ $all, of which $all ok/ all, of which all ok/"
autokernel report --json | grep -c '"stability"'
echo "-- the table"
autokernel export "$kernel" --format dispatch
echo "exit $?"
grep -E '^  "(schema|kind|kernel|implementation|device|dtype|method)":' dispatch.json
grep -c '"loss_ci"' dispatch.json
grep -o '"\(loss_verdict\|undecided\|warnings\)":' dispatch.json | sort | uniq -c
echo "-- the run stands for those of its sizes"
grep -vc '"strategy": *"sizes"' trials
[ "$(autokernel history --run $run | grep -c '  double  ')" = $all ] && echo 'history has all'
autokernel stats --run $run | head -n 1 | grep -q " $all trials," && echo 'stats has all'
autokernel best --run $run | grep -v 'not decided' | grep -c '^double'
echo "-- resumed: what is known counts"
autokernel tune "$kernel" --sizes '100;n=200000' --evals 4 --resume --json >resumed.json 2>progress
echo "exit $?"
grep -o '"evaluated":[0-9]*' resumed.json | tr '\n' ' '
echo
grep -o '"ms":[0-9.e-]*,"ci_ms":\[[0-9.e-]*,[0-9.e-]*\]' resumed.json | wc -l
# The sizes are not tuned again: their runs are the earlier ones, and the resumed run stands for them.
grep -o '"run":"[0-9a-f]*"' resumed.json | head -2 | cut -d'"' -f4 >runs
grep -q -f runs events.jsonl && echo 'the earlier runs'
# Neither are they after a shorter run of one of them, or one of another part of the space.
for more in '--evals 1' '--evals 4 --fix UNROLL=1'; do
    autokernel tune "$kernel" --size 200000 $more --quiet >/dev/null 2>&1
    autokernel tune "$kernel" --sizes '100;n=200000' --evals 4 --resume --json 2>/dev/null >again.json
    grep -o '"run":"[0-9a-f]*"' again.json | head -2 | cut -d'"' -f4 | cmp - runs && echo 'the same runs'
done
autokernel history --run "$(sed 's/.*"run":"\([0-9a-f]*\)".*/\1/' resumed.json)" --json | grep '"kernel"' | grep -vc '"strategy": *"sizes"'
# A table of our own, so that it is known what is near.
sed -e '/"configs": \[/,/^  \],/d' -e '/"sizes": \[/,/^  \],/d' dispatch.json |
    sed 's/"dtype": "f32",/&\n  "configs": [{"UNROLL": 64}, {"UNROLL": 1}],\n  "sizes": [{"size": {"n": 4096}, "config": 0}, {"size": {"n": 200}, "config": 1}],/' >own.json
# At n=950 the first is nearer, but not valid.
for n in 100000 300 950; do
    autokernel bench "$kernel" --config @own.json --size $n --json | grep -o '"\(size\|config\)":"[^"]*"' | sort -u | tr '\n' ' '
    echo
done
echo "-- a list in a file, as JSON"
printf '# ours\n 100 \n\nn=5000\n' >sizes.txt
autokernel tune "$kernel" --sizes @sizes.txt --evals 2 --json >one.json
echo "exit $?"
grep -o '"size":"n=[0-9]*"' one.json | tr '\n' ' '
grep -o '"\(method\|stopped_by\|geomean\|worst\|tradeoff\|stability\)":' one.json | sort -u | tr '\n' ' '
echo
python3 - one.json <<'END'
import json, sys
result = json.load(open(sys.argv[1]))
# Speeds have verdicts, what is not decided is in no figure, and nothing is faster than its size's winner.
print(all("over_library" in one and "config_over_library" in one for one in result["sizes"]))
open = sum(one["loss_verdict"] == "undecided" for one in result["sizes"])
print(result["table"]["undecided"] == open, (result["table"]["geomean"] is None) == (open == 2))
winners = [(one, result["speeds"][one["winner"]][i]["verdict"]) for i, one in enumerate(result["sizes"])]
print(all((one["loss_verdict"] == "undecided") == (verdict == "undecided") and
          (one["loss_ci"] is None) == (verdict == "undecided")
          for one, verdict in winners if one["winner"] == one["config"]))
print(all(one["noise"]["control"]["ratio"] > 0 for one in result["sizes"]), isinstance(result["warnings"], list))
print(all(one["loss_verdict"] != "faster" for one in result["sizes"]))
print(all(loss is None or loss >= 1 for loss in (result["table"]["geomean"], result["table"]["worst"])))
END
echo "-- what is refused"
bad() { autokernel tune "$kernel" "$@"; echo "exit $?"; }
bad --sizes '100;n=100'
bad --sizes '100;200' --size 300
bad --dispatch 2
bad --sizes '100;200' --dispatch 3
bad --sizes ' ; '
bad --sizes @missing.txt
bad --sizes '100;m=3'
bad --sizes '100;200' --evals 1
bad --sizes "$(seq -s ';' 1 65)"
autokernel export "$kernel" --format dispatch --size 100
echo "exit $?"
sed 's/"schema": 1/"schema": 9/' own.json >new.json
autokernel bench "$kernel" --config @new.json
echo "exit $?"
sed 's/"config": 1/"config": 7/' own.json >wrong.json
autokernel bench "$kernel" --config @wrong.json
echo "exit $?"
AUTOKERNEL_ARCHIVE=empty.db autokernel export "$kernel" --format dispatch
echo "exit $?"
echo "-- a winner that another size has found gets a trial of its own, with samples"
cp -r "$TESTS/../data/kernels/double" slow
cp -r "$TESTS/../data/kernels/common" .
sed -i 's/"name": "double"/"name": "slow"/' slow/problem.json
# The default does more than its work, and the third evaluation, of one size only, finds something else.
sed -i 's/^    int64_t n = .*/&\n    for (volatile int64_t k = 0; UNROLL == 4 \&\& k < 8 * n; k++) {}/' slow/host.c
for again in 1 2 3; do # where the machine was too busy to judge that trial, it has no samples
    autokernel tune ./slow --sizes '100000;200000' --evals 3 --dispatch 2 --finish-time 0.05 --like none --quiet --archive slow.db >/dev/null 2>&1
    autokernel history slow --archive slow.db --json | python3 -c '
import json, sys
print([len(t["samples_ms"]) > 0 for t in json.load(sys.stdin) if t["strategy"] == "sizes"])' >samples
    grep -q True samples || [ $again = 3 ] && break
    rm -f slow.db*
done
cat samples
echo "-- the command in the report has all options of the run"
autokernel report --archive slow.db --json | grep -o -- '--finish-time 0.05 --like none'
echo "-- fewer than --dispatch asks for"
autokernel tune "$kernel" --sizes '100;200' --evals 2 --dispatch 2 --libraries none --quiet --archive fewer.db |
    grep -o -E '^[0-9]+ configuration for 2 sizes|^fewer than.*'
