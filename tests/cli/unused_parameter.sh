# A parameter that the source of a kernel never uses is named by each command that measures.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
cp -r "$TESTS/../data/kernels/double" "$TESTS/../data/kernels/common" .
sed -i 's/"Default": 4 }/"Default": 4 }, { "Name": "TILE", "Type": "int", "Values": [1, 2] }/' double/host.json
try() { autokernel "$@" --size 1000 2>&1 | grep 'warning: .*TILE'; }
try check ./double --config default
try bench ./double --config default
try tune ./double --evals 1 --finish-time 0.02 --libraries none
# A default for programs that do not define it is no use of it.
printf '#ifndef TILE\n# define TILE 1\n#endif\n' >>double/host.c
try check ./double --config default
echo "-- a pragma in a text: without the name, with it"
cp double/host.c host.c
sed '0,/^    *for (/s//    _Pragma("GCC unroll 4")\n&/' <host.c >double/host.c
try check ./double --config default
sed '0,/^    *for (/s//    _Pragma("GCC unroll TILE")\n&/' <host.c >double/host.c
try check ./double --config default
cp host.c double/host.c
echo "-- many with long names, too"
cp -r double many
for i in $(seq 20 42); do
    sed -i "s/\"Default\": 4 }/&, { \"Name\": \"PARAMETER_WITH_A_LONG_NAME_THAT_DESCRIBES_IT_$i\", \"Type\": \"int\", \"Values\": [1, 2] }/" many/host.json
done
try check ./many --config default | tr ' ' '\n' | grep -c LONG_NAME
echo "-- it is used: in the launch's or the workspace's expressions, or as the macro of a value"
sed -i 's/"KernelFile"/"Workspace": "64 * TILE", &/' double/host.json
try check ./double --config default
sed -i 's/"Workspace": "64 \* TILE", //' double/host.json
echo '#ifdef TILE_is_2' >>double/host.c; echo '#endif' >>double/host.c
try check ./double --config default
exit 0
