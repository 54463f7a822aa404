# Tests that an import of exported trials adds none of them again, in any format; another archive then gives
# the same results, those of the finish included.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
autokernel new kernel mine >/dev/null
autokernel tune ./mine --size 64 --config 'UNROLL=1;UNROLL=2' --evals 3 --quiet >/dev/null
echo '[{"kernel":"mine","size":"n=64","status":"ok","ms":0.02,"config":"UNROLL=2"}]' >nowhere.json
autokernel import nowhere.json --archive nowhere.db >/dev/null 2>&1
autokernel bench ./mine --device host --config '#1' --archive nowhere.db --quiet | grep -c 'UNROLL=2'
autokernel bench ./mine --config 'host:#2' --archive nowhere.db | grep '^next'
sed -i 's/2\.0f \*/2.1f */' mine/host.c
autokernel bench ./mine --size 64 --config UNROLL=4 --quiet >/dev/null
for format in csv json kernels t4 kernel-tuner; do
    autokernel export mine --format $format --output "out.$format" >/dev/null 2>&1
    echo "$format: $(autokernel import "out.$format" | head -n 1)"
done
autokernel best --json >best.json
echo "best: $(autokernel import best.json | head -n 1)"
sed -i 's/"device": *"host"/"device": ""/' out.kernel-tuner
echo "without a device: $(autokernel import out.kernel-tuner | head -n 1)"
ms() { autokernel best "$@" --json 2>/dev/null | grep -o '"ms":[0-9.e-]*'; }
for format in json kernels; do
    autokernel import "out.$format" --archive "$format.db" | head -n 1
    autokernel import "out.$format" --archive "$format.db" | head -n 1
    [ "$(ms)" = "$(ms --archive "$format.db")" ] && echo "the same best"
done
echo "-- words of the command line"
run=$(autokernel history --limit 1 --json | grep -o '"run":"[0-9a-f]*"')
autokernel report 1
echo "exit $?"
autokernel report 4711
autokernel tune ./mine --sizes '64;96' --config '#5'
autokernel tune ./mine --sizes 64 --dispatch 3 --evals 1
autokernel bench ./mine --size 64 --threads 4000
autokernel bench ./mine --config '#1;UNROLL=4' --quiet | grep -c 'n=64\|UNROLL'
printf 'root:x:0:0\n' >passwd
autokernel import passwd || echo "exit $?"
echo "-- archives whose trials differ in one field"
row() {
    printf 'name,config,status,ms,device,size,timestamp\nk,A=1,ok,1.5,%s,%s,2026-11-30T01:00:00Z\n' "$2" "$3" >"$1.csv"
    autokernel import "$1.csv" --archive "$1.db" >/dev/null
}
row one host n=10
row two host n=20
row three cuda:0 n=10
autokernel import two.db three.db --archive one.db | head -n 2
