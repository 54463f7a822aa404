# A backend that was written from docs/howto-backend.md (tests/backends/stub.c): one folder and one
# line in backends.def give it every command that needs a device or its results.
stub=$(dirname "$(readlink -f "$AUTOKERNEL_WORKER")")/tests/autokernel_stub
[ -x "$stub" ] || { echo "the build has no autokernel_stub"; exit 77; }
export AUTOKERNEL_WORKER=$stub
cp -r "$TESTS/../backends/kernel" twice
"$stub" doctor --json | grep -o '"device":"stub:0"'
"$stub" list twice --device stub:0 | grep -c STEP
"$stub" check twice --device stub:0 --config STEP=16 | head -n 2
"$stub" tune twice --device stub:0 --size 65536 --strategy exhaustive --quiet --json >run.json && echo tuned
"$stub" history twice | grep -c ' ok '
"$stub" best twice --json | grep -o '"device":"stub:0"'
"$stub" compare twice --device stub:0 --size 65536 --config 'STEP=16;STEP=64' --time 0.3s --json | grep -c '"ratio"'
"$stub" bench twice --device stub:0 --size 65536 --config STEP=16 --json | grep -c '"config":"STEP=16"'
"$stub" report --format json >report.json && echo reported
"$stub" stats twice --json | grep -o '"device":"stub:0"' | head -n 1
"$stub" export twice --device stub:0 --size 65536 --output best.json | head -n 1
"$stub" export twice --device stub:0 --size 65536 --format bundle || echo "exit code $?"
"$stub" simulate "$AUTOKERNEL_ARCHIVE" --strategy random --repeats 2 | grep -c random
sed -i 's/scale/triple/' twice/stub.txt
"$stub" check twice --device stub:0 --config STEP=16 || echo "exit code $?"
