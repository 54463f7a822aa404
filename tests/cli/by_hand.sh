# Tests configurations given by hand: over many sizes, of a trial, tried first in a search; and kernel folders
# that hold results beside their spaces.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
autokernel new kernel mine >/dev/null
sed -i s/1048576/4096/ mine/problem.json # its default size
cd mine
echo "-- the printed next steps, in the folder"
autokernel tune . --evals 2 --quiet >out
grep -o 'next: autokernel export \. ' out
autokernel export . | head -n 1
autokernel history . --json >trials.json
echo '{"anything": [1, 2' >half.json
echo '[]' >report.json
autokernel list . | grep -E '^Cartesian'
autokernel check . --configs 0 --quiet | tail -n 2 | head -n 1
sed 's/"ConfigurationSpace"/"ConfigurationSpac"/' host.json >other.json
autokernel list . 2>&1 | sed 's/.*other/other/'
rm other.json
cd ..
echo "-- another kernel's file stays"
autokernel new kernel second >/dev/null
sed -i s/1048576/4096/ second/problem.json
autokernel tune ./second --evals 1 --quiet >/dev/null
autokernel export ./second --output mine/best_config.json
echo "exit $?"
autokernel export ./second --output mine/problem.json
echo "exit $?"
autokernel export ./mine --output mine/best_config.json | head -n 1
autokernel export ./second --output mine/best_config.json --force | head -n 1
echo "-- one configuration, many sizes"
autokernel bench ./mine --sizes '64;128' --config 'default;UNROLL=2' --quiet >out
echo "exit $?"
grep -c -E '^n=(64|128) +(default|config 2) +#[0-9]+ +ok ' out
autokernel bench ./mine --sizes '64;128' --json --quiet | grep -o '"size":"n=[0-9]*"' | sort -u
autokernel compare ./mine --sizes '64;128' --time 0.1s | grep -c -E '^n=(64|128) '
autokernel bench ./mine --sizes '64' --size 64
cp -r mine sized
sed -i '/"UNROLL"/s/"Default": 4/"Default": "4 if n < 100 else 2"/' sized/host.json
autokernel bench ./sized --sizes '64;128' --config 'default;UNROLL=1,THREADS=1' --archive sized.db --quiet | grep -E '^(default|config).*: '
autokernel history ./mine --json | grep -c '"strategy":"bench"'
echo "-- a trial by its id"
id=$(autokernel bench ./mine --size 96 --config UNROLL=2 --json --quiet | grep -o '"id":[0-9]*' | head -n 1 | cut -d: -f2)
autokernel bench ./mine --config "#$id" --quiet | grep -c -E "^#$id .* ok .*UNROLL=2"
autokernel check ./mine --config "#$id" --quiet | grep -c -E '^ok +#[0-9]+ .*UNROLL=2'
autokernel compare ./mine --config "#$id" --time 0.1s | grep -c -E "^#[12] (#$id|default)"
autokernel bench ./mine --config '#987654'
autokernel bench ./mine --config '#x'
autokernel bench ./second --config "#$id"
echo "-- first in a search"
autokernel tune ./mine --size 80 --config "UNROLL=8;#$id" --config UNROLL=1 --evals 4 --seed 1 --events events --quiet >/dev/null
grep '"event": *"trial"' events | grep -o 'UNROLL=[0-9]*' | sort -u | tr '\n' ' '
autokernel tune ./mine --config UNROLL=3 --evals 1 2>&1 | grep -c 'UNROLL'
autokernel tune ./mine --sizes '64;96' --config UNROLL=4
echo "-- what is not supported is named"
sed -i 's/"Language": "C"/"Language": "Pascal"/' mine/host.json
autokernel tune ./mine
sed -i 's/"Language": "Pascal"/"Language": "C", "Arguments": [], "GlobalSize": {}/' mine/host.json
autokernel list ./mine | grep '^not used'
cat >t1.json <<'T1'
{"KernelSpecification": {"Language": "Pascal"}, "ConfigurationSpace": {"TuningParameters": [{"Name": "A", "Type": "int", "Values": "[1, 2]"}]}}
T1
autokernel list t1.json
echo "-- imports say what they are by what is in them"
autokernel export ./second --format csv --output a
autokernel export ./second --format json --output b
gzip -c a >c
for file in a b c; do autokernel import $file --archive ./$file.db | sed 's/ to .*//; /^next/d'; done
cp "$TESTS/../../bench/recordings/matmul.json.gz" recording
autokernel import recording --archive ./d.db | sed 's/ to .*//; /^next/d'
echo '{"nothing": 1}' >e
autokernel import e --archive ./e.db || echo "exit $?"
