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
