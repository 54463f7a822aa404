# Compares two implementations of one kernel in one table, and says in a line what is wrong with an implementation
# or with a configuration of another one.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
autokernel new kernel mine >/dev/null
sed 's/host\.c/other.c/; s/"UNROLL", "Type": "int", "Values": \[1, 2, 4, 8\], "Default": 4/"WIDTH", "Type": "int", "Values": [1, 2], "Default": 2/; s/UNROLL/WIDTH/' mine/host.json >mine/host_other.json
sed 's/UNROLL/WIDTH/g' mine/host.c >mine/other.c
compare="autokernel compare ./mine --size 64 --time 0.1s"
echo "-- the default of each, and then given configurations"
$compare --impl host,host_other >words
echo "exit $?"
head -n 3 words
grep -o -E '^#[12] host[a-z_]* default' words | cut -c 4- | sort
$compare --impl host,host_other --config 'UNROLL=8;host_other:WIDTH=1' --config 'host_other:default' --json >json
echo "exit $?"
grep -o -E '"name":"[^"]*","version":null,"implementation":"[^"]*","config":\{"[A-Z]*":[0-9]' json
grep -o -E '"(control|implementation)":("host[a-z_]*"|\{"ratio")' json | sort | uniq -c | sed 's/^ *//'
echo "-- a configuration names its implementation; other commands take one"
$compare --config 'host_other:WIDTH=1' --config host:default --json | grep -o '"name":"[^"]*"'
autokernel bench ./mine --size 64 --config host_other:WIDTH=1 | grep -o -E 'implementation host_other|ok  |WIDTH=1'
autokernel compare ./mine --sizes '64;96' --impl host,host_other --time 0.1s | grep -v ^warning | sed -E 's/ {2,}/|/g' | cut -d '|' -f 1,2
echo "-- results in files"
autokernel export ./mine --impl host_other --size 64 --output b.json >/dev/null
cp b.json c.json
autokernel compare ./mine --config @b.json --config @c.json --config default --time 0.1s --json | grep -o -E '"implementation":"[^"]*","device|"name":"[^"]*"'
autokernel compare ./mine --impl host,host_other --config host_other:@b.json --time 0.1s --json | grep -o -E '"size":"[^"]*"|"name":"[^"]*"'
echo "-- a wrong one is found, whichever implementation it is of"
sed -i 's/2\.0f/3.0f/' mine/other.c
$compare --impl host,host_other >words
echo "exit $?"
grep -o -E '^(#1 host default|host_other default .* at n=[0-9]*: z\[)' words | sed -E 's/ +- .* at n=/ ... at n=/'
echo "-- mistakes"
try() { $compare "$@"; echo "exit $?"; }
try --impl host,nothing
try --impl host,,host_other
try --config nothing:default
try --impl host,host_other --config 'host_other:UNROLL=8'
try --impl host,host_other --config 'host_other:WIDTH=3'
try --impl host,host_other --config '#1'
try --impl host,host_other --fix UNROLL=4
autokernel bench ./mine --impl host,host_other
autokernel tune ./mine --size 64 --impl host --config host_other:default
autokernel compare matmul --size 64 --impl host,cuda_sm90
autokernel compare matmul --device sim:"$TESTS/../../bench/recordings/matmul.json.gz" --impl host,host_amx
AUTOKERNEL_LAUNCHER=cmd:true $compare --impl host,host_other
