# Tests that every command chooses among several implementations by measurements: `a` comes first in the
# folder and takes a thousand times as long. Where the machine was too busy to judge one of them, the race is
# run again.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
autokernel new kernel mine >/dev/null
for i in a b; do
    sed "s/\"host.c\"/\"host_$i.c\"/" mine/host.json >mine/host_$i.json
    cp mine/host.c mine/host_$i.c
done
sed -i 's/^    call->parallel.*/    for (int k = 0; k < 1000; k++) { & }/' mine/host_a.c
rm mine/host.json mine/host.c
chosen() { grep -o 'implementation host_[ab])\|^implementation host_[ab]: by [a-z]* [a-z]*\|^implementation host_[ab]: the first'; }
echo "- before anything is measured: the first"
autokernel check ./mine --size 3000 --configs 0 --quiet | chosen
autokernel bench ./mine --size 3000 --quiet | chosen
echo "- sizes race"
for again in 1 2 3; do
    autokernel tune ./mine --sizes '3000;6000' --libraries none --fix COMPILER=gcc --evals 2 >race 2>&1
    grep -q failed race && [ $again -lt 3 ] || break
    rm -f "$AUTOKERNEL_ARCHIVE"
done
chosen <race | tail -n 1
grep failed race
echo "- and all know it then"
autokernel check ./mine --size 3000 --configs 0 --quiet | chosen
autokernel bench ./mine --size 3000 --quiet | chosen
autokernel tune ./mine --size 3000 --libraries none --fix COMPILER=gcc --evals 1 --quiet | chosen
echo "- unless one is named"
autokernel check ./mine --size 3000 --configs 0 --impl host_a --quiet | chosen
echo "- an archive that is still to be made knows nothing"
autokernel check ./mine --size 3000 --configs 0 --archive nowhere.db --quiet | chosen
