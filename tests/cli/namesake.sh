# A bundle that is called like a built-in kernel and holds another problem is shown and verified with a warning.
command -v gcc >/dev/null && command -v python3 >/dev/null || { echo "no gcc or no python3"; exit 77; }
tell() { # what is said of a bundle, as a folder and as a file
    for what in show verify; do
        autokernel bundle $what "$1" $([ $what = verify ] && echo --max-slowdown 10000%) 2>&1 >/dev/null | grep differs
        echo "$what: exit ${PIPESTATUS[0]}"
    done
}
autokernel new kernel mine >/dev/null
autokernel tune ./mine --size n=100 --device host --fix COMPILER=gcc --evals 1 --quiet >/dev/null 2>&1
autokernel export ./mine --size n=100 --device host --format bundle --output other/ >/dev/null
tell other
mv other/source/mine other/source/softmax
python3 - <<'P'
import hashlib, json
path = "other/source/softmax/problem.json"
text = open(path).read().replace('"mine"', '"softmax"')
open(path, "w").write(text)
bundle = json.load(open("other/bundle.json"))
bundle.update(name="softmax_f32", kernel="softmax")
for file in bundle["files"]:
    file["name"] = file["name"].replace("source/mine", "source/softmax")
    data = open("other/" + file["name"], "rb").read()
    file.update(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
json.dump(bundle, open("other/bundle.json", "w"))
P
(cd other && sha256sum bundle.json >bundle.sha256)
tell other
autokernel bundle show other --json 2>/dev/null | grep -c '"softmax"'
echo "-- the built-in kernel itself"
autokernel tune softmax --size rows=16,cols=16 --evals 1 --libraries none --quiet >/dev/null 2>&1
autokernel export softmax --format bundle --output own.akb >/dev/null
tell own.akb
echo "-- two kernels of one name, with other sizes"
mkdir one two
for folder in one two; do (cd $folder && autokernel new kernel same >/dev/null); done
sed -i 's/"n"/"len"/g; s/\*n/*len/g' two/same/problem.json
autokernel tune one/same --size n=100 --device host --fix COMPILER=gcc --evals 1 --quiet >/dev/null 2>&1
autokernel tune two/same --size len=200 --device host --fix COMPILER=gcc --evals 1 --quiet >/dev/null 2>&1
autokernel best one/same | grep -o -E '\b(n|len)=[0-9]+' | sort -u
(cd two && autokernel best same && autokernel history same) | grep -o -E '\b(n|len)=[0-9]+' | sort -u
autokernel export one/same --output one.json | head -1
autokernel export two/same --format json | grep -o '"size":[^,]*'
autokernel best same | grep -c '^same'
