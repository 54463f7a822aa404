# Tests that a command that is printed as the next one works where it was printed: for a kernel in a folder
# from its folder, from the one above, from another by the archive alone, and for a recording.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
export AUTOKERNEL_FINISH_TIME=0.02 AUTOKERNEL_EVALS=1
# Runs autokernel, and then what it printed as the next steps, and shows how these ended.
follow() {
    echo "\$ $*"
    autokernel "$@" >printed 2>&1
    sed -n 's/^next: \(.*\)  (.*/\1/p' printed >steps
    while read -r step; do
        bash -c "$step" </dev/null >answer 2>&1
        echo "$step: exit $?" | sed "s|$top|TOP|g; s/[0-9a-f]\{16\}/RUN/"
    done <steps
    rm -f printed steps answer best_config.json x.json
}
# Follows every command about kernel $1 that suggests something, with archive $2.
all() {
    follow history $1 --archive $2
    follow history $1 --archive $2 --status crashed
    follow history $1 --archive $2 --runs
    follow stats $1 --archive $2
    follow stats $1 --archive $2 --device cuda:7
    follow best $1 --archive $2
    follow export $1 --archive $2 --output x.json
}
measuring() {
    follow list $1
    follow check $1 --size 64
    follow bench $1 --size 64 --time 0.1s --archive $2
    follow compare $1 --size 64 --time 0.1s --archive $2
    follow tune $1 --size 64 --archive $2 --resume
}
top=$PWD
autokernel new kernel rotate >/dev/null
sed -i 's/"default": [0-9]*/"default": 64/' rotate/problem.json
autokernel tune ./rotate --size 64 --archive a.db --quiet >/dev/null 2>&1
echo "-- above"
all ./rotate a.db
measuring ./rotate a.db
echo "-- inside"
cd rotate
all . ../a.db
all rotate ../a.db
measuring . ../a.db
echo "-- elsewhere, where another folder has the kernel's name"
mkdir -p ../else/rotate
cd ../else
all rotate ../a.db
autokernel export rotate --archive ../a.db --size 128 --output x.json 2>&1 | sed "s|$top|TOP|g"
measuring ../rotate ../a.db
echo "-- the folder is gone"
mv ../rotate ../moved
all rotate ../a.db
autokernel best rotate --archive ../a.db --size n=128 | grep -v 'not decided'
echo "-- a recording"
cp "$TESTS"/../data/recordings/tiny.json .
follow tune tiny.json --device sim --archive s.db
follow list tiny --device sim:tiny.json
follow compare tiny.json --device sim --archive s.db
follow best --device sim --archive s.db
follow best --archive s.db
follow history tiny --device sim --archive s.db
follow stats tiny --device sim:tiny.json --archive s.db
echo "-- a task that is told apart by an option"
for weight in none scale; do
    autokernel bench rmsnorm --size rows=4,cols=64 --set weight=$weight --archive r.db >/dev/null 2>&1
done
follow best rmsnorm --set weight=none --archive r.db
autokernel export rmsnorm --size rows=4,cols=64 --archive r.db
autokernel export rmsnorm --format t4 --archive r.db || echo "exit $?"
