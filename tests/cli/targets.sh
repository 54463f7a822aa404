# Files that autokernel did not write are replaced with --force only, whichever command writes.
cp -r "$TESTS/../data/kernels/double" "$TESTS/../data/kernels/common" .
tune() { autokernel tune ./double --size 100 --evals 1 --finish-time 0.02 --libraries none --quiet "$@"; }
tune --events events >/dev/null
run=$(autokernel history --runs --json | grep -o '"id": *"[0-9a-f]*"' | head -n 1 | cut -d'"' -f4)
for format in text md csv json html; do
    for words in "report" "compare $run $run" "compare $run"; do
        autokernel $words --format $format --output mine.$format
        autokernel report --output mine.$format
    done
done | sort | uniq -c | tr -s ' '
echo "-- the name chooses the format"
for name in r.html r.md r.csv r.json r.txt r; do
    autokernel report --output $name && echo "$(head -n 1 $name | head -c 9)"
done
echo "-- and does not contradict the one that is asked for"
cp r.html page.html
autokernel report --output page.html --json; echo "exit $?"
autokernel report --output page.html --format md; echo "exit $?"
autokernel compare $run --output page.html --json; echo "exit $?"
cmp r.html page.html && echo "it is as it was"
autokernel report --output r.json --json
autokernel report --output r.text --json
for name in r.pdf r.htm; do autokernel report --output $name; echo "exit $?"; done
autokernel report --output .r.2 --format text && autokernel report --output .r
for words in '--format csv --output c.json' '--format bundle --output c.csv' '--format json --output c.akb' \
    '--output c.html' '--output c.py' '--format c --output c.json'; do
    autokernel export ./double --size 100 $words; echo "exit $?"
done
ls c.* 2>/dev/null
autokernel export ./double --size 100 --format bundle --output folder.csv/
for name in e.csv e.akb e.json; do
    autokernel export ./double --size 100 --output $name 2>/dev/null | head -n 1
    head -c 11 $name | tr '\0' '\n' | head -n 1 | head -c 9
    echo
done
echo "-- a folder of a kernel"
for format in bundle c; do
    autokernel export ./double --size 100 --format $format --output double
done
ls double | paste -sd ' '
echo "-- a source"
cp double/host.c host.c
: >empty
autokernel report --output empty
autokernel report --format text --output host.c
echo "exit $?"
autokernel compare $run $run --format text --output host.c
tune --events host.c
echo "exit $?"
autokernel export ./double --size 100 --output host.c
cmp host.c double/host.c && echo "it is as it was"
autokernel export ./double --size 100 --output best.json | head -n 1
autokernel report --output best.json
echo "-- a kernel of the archive"
id=$(autokernel history --json | grep -o '"id": *[0-9]*' | head -n 1 | tr -dc 0-9)
autokernel history --source $id --output . >first
autokernel history --source $id --output . | cmp - first && echo "equal files are no question"
echo '/* mine */' >>double/host.c
autokernel history --source $id --output .
echo "exit $?"
grep -c mine double/host.c
echo "-- with --force"
autokernel history --source $id --output . --force | cmp - first && cmp host.c double/host.c && echo "it is as it was"
tune --events host.c --force >/dev/null
head -c 9 host.c && echo
tune --events host.c >/dev/null && autokernel report --format text --output host.c --force
autokernel report --force
tune --force
echo "exit $?"
echo "-- sources: all files are looked at before one is written"
mkdir -p some/double
echo '/* mine */' >some/double/reference.c
autokernel history --source $id --output some
ls -A some/double | paste -sd ' '
echo "-- bundles and C sources"
ship() { autokernel export ./double --size 100 "$@" 2>&1 | grep -v '^warning'; }
autokernel history --source $id --output double --force >/dev/null
ship --format bundle && ship --format bundle
echo mine >double_f32.akb
ship --format bundle
ship --format bundle --output out/ && ship --format bundle --output out
autokernel bench ./double --size 100 --config UNROLL=1 >/dev/null
other=$(autokernel history --json | grep -o '"id": *[0-9]*' | tail -n 1 | tr -dc 0-9)
cp out/bundle.json old.json
ship --format bundle --output out --config "#$other"
cmp -s out/bundle.json old.json || echo "it was replaced by another of the kernel"
echo mine >out/bundle.json
ship --format bundle --output out
echo "$(ls out | wc -l) files, $(cat out/bundle.json)"
ship --format c && ship --format c
ls double_f32 | paste -sd ' '
echo '/* double_f32.c: mine */' >double_f32/double_f32.c
rm double_f32/double_f32.h
ship --format c
ls double_f32 | paste -sd ' '
ship --format c --force
grep -c 'c: mine' double_f32/double_f32.c
echo "-- another task of the same kernel"
autokernel tune ./double --sizes '100;200' --evals 2 --finish-time 0.02 --libraries none --dispatch 1 --quiet >/dev/null 2>&1
autokernel export ./double --format dispatch | head -n 1
autokernel export ./double --format dispatch | head -n 1
sed -i 's/"dtype":[^,]*,/"dtype": "bf16",/' dispatch.json
autokernel export ./double --format dispatch; echo "exit $?"
autokernel export ./double --format dispatch --force | head -n 1
autokernel export ./double --size 100 | head -n 1
autokernel export ./double --size 200; echo "exit $?"
autokernel export ./double --size 200 --output 200.json | head -n 1
echo "-- an archive holds what cannot be made again"
cp "$AUTOKERNEL_ARCHIVE" mine.db
for format in best csv bundle c; do
    ship --format $format --output mine.db --force
done
autokernel report --format text --output mine.db --force; echo "exit $?"
autokernel tune ./double --size 100 --evals 1 --events mine.db --force; echo "exit $?"
cmp "$AUTOKERNEL_ARCHIVE" mine.db
