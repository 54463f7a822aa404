# Tests that every command that shows results says so if the kernel was edited after it was measured.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
words() { grep -o -E "(warning: )?kernel mine has changed since .*|The kernel has changed since .*"; }
autokernel new kernel mine >/dev/null
autokernel new kernel second >/dev/null
autokernel tune ./mine --size 64 --config UNROLL=1 --evals 2 --quiet >/dev/null
autokernel tune ./second --size 64 --evals 1 --quiet >/dev/null
autokernel best | words
echo "-- edited"
echo '/* another one */' >>mine/host.c
autokernel best | words
autokernel best ./mine | words
autokernel history | words
autokernel history mine --limit 1 | words
run=$(autokernel history mine --limit 1 --json | grep -o '"run":"[0-9a-f]*"' | cut -d'"' -f4)
autokernel report $run | words
autokernel report $run --json | grep -o '"kernel_changed": *[a-z]*'
autokernel report $run --format html --output page.html >/dev/null
grep -c 'The kernel has changed since' page.html
autokernel export ./mine 2>&1 | words
autokernel export mine --format csv --output mine.csv 2>&1 | words
autokernel export mine --format csv 2>&1 >/dev/null | words
autokernel export mine --format bundle 2>&1 | words
autokernel bench ./mine --size 64 --quiet >/dev/null
autokernel history mine | words
echo "-- measured again"
autokernel tune ./mine --size 64 --evals 1 --quiet >/dev/null
autokernel best ./mine | words
autokernel export ./mine 2>&1 | words
echo "-- an edit that is taken back: the best is that of the kernel as it is, where there is one"
autokernel new kernel back >/dev/null
cp back/host.c before.c
of() { autokernel best "$@" --json | grep -o '"config":"[^"]*"' | grep -o 'UNROLL=[0-9]*'; }
autokernel bench ./back --size 64 --config UNROLL=1 --quiet >/dev/null
echo '/* abandoned */' >>back/host.c
autokernel bench ./back --size 64 --config UNROLL=4 --quiet >/dev/null
of ./back
cp before.c back/host.c
of ./back
autokernel best ./back | grep -o "which trial #[0-9]* is from"
autokernel compare ./back --size 64 --time 1 --json 2>/dev/null | grep -o '"UNROLL": *[0-9]*' | tr -d '" ' | sort -u | head -n 1
of
autokernel best ./back | grep -o "kernel back has changed"
autokernel export ./back --size 64 --output back.json 2>&1 | words
grep -c '"UNROLL": *1' back.json
cp -r back moved && of ./moved
echo '/* a third version, which nobody measured */' >>back/host.c
of ./back
autokernel best ./back | grep -o "kernel back has changed"
rm -r back
echo "-- described in other words, which a prompt shows"
sed -i 's/"Description": "/&Reworded: /; s/"Type": "int", \(.*\)"Default": \([^,]*\),/"Default": \2, "Type": "int", \1/' mine/host.json
sed -i 's/"description": "/&Reworded: /; s/^  /        /' mine/problem.json
autokernel best ./mine | words
autokernel list ./mine | grep -q Reworded && echo listed
echo '{"text": {"proposals": []}}' >answers.jsonl
autokernel tune ./mine --size 64 --evals 2 --resume --json --quiet --strategy llm:fill=0 --llm replay:answers.jsonl 2>/dev/null | grep -o '"resumed": *[0-9]*'
autokernel llm show | grep -q "Reworded: elements per turn" && echo shown
echo "-- a table is of its run: results at other sizes and of other states are not in it"
autokernel new kernel sized >/dev/null
export AUTOKERNEL_FINISH_TIME=0.02
autokernel tune ./sized --size 64 --evals 1 --quiet >/dev/null 2>&1
echo '/* another one */' >>sized/host.c
autokernel tune ./sized --sizes '100;n=200' --evals 4 --quiet >/dev/null 2>&1
dispatch() {
    autokernel export ./sized --format dispatch --output sized.dispatch 2>&1 | sed 's/--source [0-9]*/--source N/'
    autokernel export ./sized --format bundle --table --output sized.akb 2>&1 | sed 's/--source [0-9]*/--source N/'
}
dispatch | grep -c 'has changed'
PYTHONPATH=$TESTS PYTHONDONTWRITEBYTECODE=1 python3 -c '
from mcp_client import Client
print(len(Client("./sized").tool("export", kernel="sized", format="dispatch")["warnings"]))'
echo '/* and another */' >>sized/host.c
dispatch | sed -n 's/.*kernel sized/kernel sized/p'
shown=$(autokernel export ./sized --format dispatch --output sized.dispatch 2>&1 | grep -o 'source [0-9]*' | tr -dc 0-9)
autokernel history ./sized --json --limit 10 | tr '}' '\n' | grep "\"id\":$shown," | grep -o '"size":"[^"]*"' | sed 's/=[12]00"/=100 or 200"/'
unset AUTOKERNEL_FINISH_TIME
echo "-- files of another kernel stay"
autokernel export ./second
echo "exit $?"
autokernel export ./second --format csv --output mine.csv
echo "exit $?"
for format in json kernels t4 kernel-tuner t1 bundle; do
    autokernel export ./mine --size 64 --format $format --output mine.$format >/dev/null 2>&1
    autokernel export ./mine --size 64 --format $format --output mine.$format >/dev/null 2>&1 || echo "$format: refused"
    autokernel export ./second --size 64 --format $format --output mine.$format
done
autokernel export ./second --format csv --output mine.csv --force | head -n 1
echo "-- nothing to write is said first"
autokernel new kernel third >/dev/null
autokernel export ./third
echo "exit $?"
autokernel export ./third --format dispatch --output best_config.json
echo "exit $?"
echo "-- what to look at when nothing matches"
autokernel history mine --status crashed
autokernel history --status crashed
autokernel history mine --size 4711
autokernel history ./third
autokernel best ./third
sed -i 's/2\.0f \*/2.1f */' third/host.c
rm -f ../archive.db*
autokernel tune ./third --size 64 --evals 1 --quiet >/dev/null 2>&1
autokernel best ./third
echo "exit $?"
echo "-- messages name no folder that is gone"
mkdir none
autokernel tune softmax --size rows=16,cols=16 --evals 1 --libraries none --quiet >/dev/null 2>&1
autokernel export softmax --size rows=16,cols=16 --format bundle --output softmax.akb >/dev/null
executable=$(command -v autokernel)
PATH=$PWD/none "$executable" export softmax --size rows=16,cols=16 --format bundle --output other.akb 2>&1 | cut -d';' -f1
PATH=$PWD/none "$executable" bundle verify softmax.akb 2>&1 | cut -d';' -f1
echo "-- trials of bench know their sources, too"
autokernel new kernel benched >/dev/null
autokernel bench ./benched --size 64 --config UNROLL=1 --quiet >/dev/null
echo '/* another one */' >>benched/host.c
autokernel best ./benched | grep -o 'kernel benched.*'
autokernel history --source "$(autokernel best ./benched --json | grep -o '"id": *[0-9]*' | head -n 1 | tr -dc 0-9)" | grep -c another
autokernel export ./benched --size 64 --format bundle --output benched.akb >/dev/null 2>&1
autokernel bundle show benched.akb >/dev/null && echo shipped
echo "-- and archives of earlier versions, which kept none of bench, are not said to have them"
python3 -c 'import sqlite3; db = sqlite3.connect("../archive.db"); db.execute("DELETE FROM sources"); db.commit()'
autokernel best ./benched | grep -o 'kernel benched.*'
autokernel export ./benched --size 64 --format bundle --output without.akb 2>&1 >/dev/null | grep -o 'the archive did not.*'
