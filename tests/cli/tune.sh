# The main job, small: tune, look at it, export it, measure it again, compare.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
size=M=48,N=32,K=40
small=COMPILER=gcc,MR=4,K_UNROLL=1,PASSES=O2 # what the compiler needs least time for
autokernel tune matmul --size $size --fix $small --evals 2 --seed 1 --events events.jsonl >tuned 2>progress
echo "exit $?"
cat progress tuned
sed 's/.*"event": *"\([a-z_]*\)".*/\1/' events.jsonl | grep -v -x -e baseline -e phase -e warning -e prepared | tr '\n' ' '
echo
echo "-- JSON"
autokernel tune matmul --size $size --fix $small --evals 2 --seed 2 --libraries openblas --json >tuned.json
echo "exit $?"
wc -l <tuned.json
tr -d ' ' <tuned.json | tr '{,' '\n\n' | grep -o -E '^"(kernel|implementation|device|size|dtype|evaluated|failed|seconds|best|config|ms|ci_ms|tflops|gbs|efficiency|speedup|baseline|run|stopped_by)":' | sort -u | tr '\n' ' '
echo
tr ',' '\n' <tuned.json | grep -E '"(kernel|device|dtype|evaluated)"'
echo "-- the archive"
autokernel history matmul --json | grep -c '"kernel": *"matmul"'
# How many of them are of the same configuration depends on their times, which the strategy looks at.
known=$(autokernel history matmul --json | grep -o '"config": *"[^"]*"' | sort -u | wc -l)
autokernel tune matmul --size $size --fix $small --evals 4 --seed 2 --resume --libraries none --json >resumed.json
grep -q "\"resumed\": *$known\b" resumed.json && [ "$known" -gt 1 ] && echo "resumed all that is known"
autokernel best matmul --size $size | grep -vc 'not decided'
autokernel stats | head -n 1
echo "-- out again"
autokernel export matmul --size $size
echo "exit $?"
autokernel bench matmul --config @best_config.json --json >benched.json
echo "exit $?"
grep -o -E '"size": ?"[^"]*"' benched.json | sort -u
autokernel bench softmax --config @best_config.json
echo "exit $?"
autokernel bench matmul --size $size --config default --fix $small --baselines --time 0.1s --quiet
echo "exit $?"
autokernel compare matmul --size $size --fix $small --time 0.1s
echo "exit $?"
autokernel report
echo "exit $?"
for format in md csv json; do
    autokernel report --format $format --output report.$format
    [ -s report.$format ] || echo "the report is empty"
done
for format in text md; do
    autokernel report --format $format | LC_ALL=C grep -c '[^ -~]'
    autokernel report --format $format --output plain.$format && LC_ALL=C grep -c '[^ -~]' plain.$format
    LC_ALL=C.UTF-8 autokernel report --format $format | grep -q '█' && echo "bars in UTF-8"
done
autokernel report --json | head -c 1
