# An archive that cannot be used is refused in one line and left as it is.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
try() { autokernel history --archive "$1"; echo "exit $?"; }
echo 'no database' >text.db
try text.db
cat text.db
mkdir folder.db
try folder.db
try /proc/nosuch/archive.db
try text.db/archive.db
cp "$TESTS"/../data/recordings/tiny.json .
AUTOKERNEL_ARCHIVE=good.db autokernel tune tiny.json --device sim --evals 3 --quiet >/dev/null
AUTOKERNEL_ARCHIVE=good.db autokernel stats --device sim | head -n 1
cp good.db altered.db
python3 - <<'PY'
import sqlite3
db = sqlite3.connect("altered.db")
db.execute("UPDATE runs SET result = json_set(result, '$.best.ms', 0.0001)")
db.commit()
PY
for command in "history --runs" "best --device sim" report "import altered.db"; do
    autokernel $command --archive $([ "$command" = "import altered.db" ] && echo other.db || echo altered.db) 2>&1 |
        sed 's/[0-9a-f]\{16\}/RUN/g' | tail -n 1
done
head -c 6000 good.db >cut.db
sum=$(md5sum <cut.db)
try cut.db
for command in "import cut.db --archive other.db" "simulate cut.db"; do
    autokernel $command
    echo "exit $?"
done
[ "$sum" = "$(md5sum <cut.db)" ] || echo "the damaged archive was changed"
# The version of the schema is the big-endian number at offset 60 of the file.
cp good.db newer.db
printf '\0\0\3\347' | dd of=newer.db bs=1 seek=60 conv=notrunc status=none
sum=$(md5sum <newer.db)
try newer.db
[ "$sum" = "$(md5sum <newer.db)" ] || echo "the newer archive was changed"
# Names that SQLite would understand differently are just names.
AUTOKERNEL_ARCHIVE=:memory: autokernel tune tiny.json --device sim --evals 3 --quiet >/dev/null
ls :memory:
# What only reads creates nothing under a name that was misspelled.
for command in history best stats report "export matmul"; do
    autokernel $command --archive nosuch.db
    echo "exit $?"
done
[ ! -e nosuch.db ] || echo "nosuch.db was created"
AUTOKERNEL_ARCHIVE=not/there/yet.db autokernel history
[ ! -e not ] || echo "a folder was created"
AUTOKERNEL_ARCHIVE=not/there/yet.db autokernel best
# A file that cannot be created: the reason is the system's, not SQLite's.
AUTOKERNEL_ARCHIVE=$(printf %0300d 1).db autokernel history 2>&1 | sed 's/0*1.db/LONG.db/'
# A run that is not there is refused by every command that may name one.
for command in history best stats report "export tiny"; do
    AUTOKERNEL_ARCHIVE=good.db autokernel $command --run 0123456789abcdef
    echo "exit $?"
done
