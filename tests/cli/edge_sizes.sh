# check says at how many edge-case sizes a configuration was tried where conditions exclude some, and does not
# say that it is right over sizes of which none was tried. A failure at a size at which a condition without EverySize
# does not hold names the condition. An archive that is not there yet knows nothing, and is
# no error where several implementations could be taken from it.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
autokernel new kernel mine >/dev/null
check="autokernel check ./mine --size 64 --config COMPILER=gcc --quiet"
echo "-- all, some, none"
$check | grep right
cp mine/host.json host.json
sed 's/"Conditions": \[/"Conditions": [{"Expression": "n > 1", "EverySize": true},/; s/},\]/}]/' <host.json >mine/host.json
$check | grep right
$check --json | grep -o '"edge_cases": *[0-9]*'
sed 's/"Conditions": \[/"Conditions": [{"Expression": "n == 64", "EverySize": true},/; s/},\]/}]/' <host.json >mine/host.json
$check | grep right
echo "-- a failure where a condition does not hold that has no EverySize"
cp mine/host.c host.c
sed 's/"Conditions": \[/"Conditions": ["n % UNROLL == 0",/' <host.json >mine/host.json
sed 's/for (; i < end; i++)/for (; 0;)/' <host.c >mine/host.c
$check 2>/dev/null | grep -o 'at n=[0-9]*:\|(.*written).*'
cp host.c mine/host.c
echo "-- a failure where a macro has the value of the task's own size"
sed 's/"KernelFile"/"Defines": { "N": "n" }, "KernelFile"/' <host.json >mine/host.json
sed 's/{call->size\[0\],/{N,/' <host.c >mine/host.c
cmp -s host.c mine/host.c && echo "nothing was replaced"
$check 2>/dev/null | grep -o 'the macro N of.*sizes'
cp host.c mine/host.c
cp host.json mine/host.json
echo "-- several implementations and no archive"
sed 's/host\.c/other.c/' mine/host.json >mine/host_other.json
cp mine/host.c mine/other.c
$check --archive none.db | grep right
autokernel bench ./mine --size 64 --config COMPILER=gcc --archive none.db --json 2>/dev/null | grep -o '"status": *"ok"' | head -n 1
echo "-- winners that serve their own size only"
rm mine/host_other.json
sed 's/"Conditions": \[/"Conditions": [{"Expression": "(n > 100) == (UNROLL == 8)", "EverySize": true},/; s/},\]/}]/' <host.json >mine/host.json
autokernel tune ./mine --sizes '64;512' --dispatch 2 --evals 2 --libraries none --finish-time 0.1 --fix THREADS=1 --quiet --archive own.db >own.txt 2>&1
grep 'its own size' own.txt || cat own.txt
sed -n '/^how many configurations/,$p' own.txt | grep -c '^ *1 .*cannot be used at 1 size'
autokernel report --archive own.db | sed -n '/^How many configurations/,/^ *2 /p' | grep -c 'cannot be used at\|^ *1 .* 1 size'
echo "-- an objective that is equal for all: one candidate is the reference"
autokernel compare ./mine --size 64 --config UNROLL=1 --config UNROLL=2 --config UNROLL=4 --objective '1+0*ms' --time 0.1s 2>/dev/null |
    grep -c '  reference'
