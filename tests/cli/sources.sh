# Tests that a bundle is not made of sources in the archive that are not those which were measured.
export AUTOKERNEL_ARCHIVE=$PWD/archive.db
python3 -c 'import sqlite3' 2>/dev/null || { echo "no python3 with sqlite3"; exit 77; }
autokernel new kernel part >/dev/null
autokernel tune ./part --size 4096 --evals 1 --libraries none --finish-time 0.1 --quiet >/dev/null 2>&1
export_it() {
    autokernel export ./part --config '#1' --format bundle --output part.akb 2>&1 | grep -E '^autokernel|^wrote' |
        sed 's/^wrote.*/wrote it/'
}
echo "--- the kernel has changed since"
cp -r part then
sed -i 's/"4\*eps"/"0.001"/g' part/problem.json
export_it
echo "--- what the archive kept has another tolerance"
python3 - <<'P'
import io, sqlite3, tarfile, zlib
c = sqlite3.connect('archive.db')
hash, files = c.execute('SELECT hash, files FROM sources').fetchone()
old, out = tarfile.open(fileobj=io.BytesIO(zlib.decompress(files))), io.BytesIO()
new = tarfile.open(fileobj=out, mode='w', format=tarfile.USTAR_FORMAT)
for member in old.getmembers():
    data = old.extractfile(member).read().replace(b'4*eps', b'0.001')
    member.size = len(data)
    new.addfile(member, io.BytesIO(data))
new.close()
c.execute('UPDATE sources SET files = ? WHERE hash = ?', (zlib.compress(out.getvalue()), hash))
c.commit()
P
rm -f part.akb
export_it
echo "--- whoever has the kernel as it was mends that"
rm -r part && mv then part
autokernel tune ./part --size 64 --evals 1 --libraries none --finish-time 0.1 --quiet >/dev/null 2>&1
sed -i 's/"4\*eps"/"0.001"/g' part/problem.json
export_it
echo "-- what the folder needs to be opened: data files, and another implementation that is the reference"
autokernel new kernel data >/dev/null
python3 - <<'P' || { echo "no python3"; exit 77; }
import json, struct
x = [i / 7 for i in range(100)]
for name, values in ("x 1", x), ("y", x), ("z", [2 * a + a for a in x]):
    with open("data/%s.raw" % name, "wb") as file:
        file.write(struct.pack("100f", *values))
problem = json.load(open("data/problem.json"))
problem["sizes"][0]["default"] = 100
problem.update(awkward=[], reference={"arrays": {"Z": "z.raw"}})
problem.pop("tune_size", None)
problem["arguments"][0]["fill"], problem["arguments"][1]["fill"] = "file(x 1.raw)", "file(y.raw)"
json.dump(problem, open("data/problem.json", "w"))
P
autokernel new kernel other >/dev/null
sed 's/host\.c/plain.c/' other/host.json >other/host_plain.json
cp other/host.c other/plain.c
sed -i 's/"reference": *"reference.c"/"reference": { "implementation": "host_plain" }/; s/"default": [0-9]*/"default": 100/' other/problem.json
for kernel in data other; do
    AUTOKERNEL_FINISH_TIME=0.02 autokernel tune ./$kernel --size 100 --impl host --evals 1 --quiet --archive $kernel.db >/dev/null 2>&1
    autokernel export ./$kernel --size 100 --impl host --format bundle --output $kernel.akb --archive $kernel.db 2>/dev/null
    autokernel bundle verify $kernel.akb --max-slowdown 1000% 2>&1 | grep -oE '^n=100 +ok'
    mv $kernel gone
    autokernel history --source '#1' --output back --archive $kernel.db
    autokernel check back/$kernel --size 100 --configs 0 --impl host --quiet | grep -o '^1 of 1'
    autokernel export $kernel --config '#1' --format bundle --output again-$kernel.akb --archive $kernel.db 2>/dev/null
    mv gone $kernel
done
autokernel history --source '#1' --archive data.db | grep 'bytes of data'
autokernel history --source '#1' --archive data.db --json | grep -o '"name":"data/y.raw","text":null'
