# Correctness only: a line for each configuration.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
autokernel check softmax --configs 1 --quiet
echo "exit $?"
autokernel check softmax --config default --json | tr ',' '\n' | grep -E '"(kernel|name|status|ok)"'
echo "-- mistakes"
try() { autokernel check softmax "$@"; echo "exit $?"; }
try --config NOSUCH=1
try --config COMPILER=tcc
try --config COMPILER
try --config @nosuch.json
try --config @
echo '{"config": 3}' >bad.json
try --config @bad.json
echo '[1]' >bad.json
try --config @bad.json
