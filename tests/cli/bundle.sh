# Writes a bundle, looks at it with tar, and calls it from a C program that knows only the runtime; damaged
# bundles are refused.
for tool in gcc python3; do command -v $tool >/dev/null || { echo "no $tool"; exit 77; }; done
root=$TESTS/../..
quiet='--libraries none --quiet'
autokernel tune matmul --size 48 --fix MR=4,K_UNROLL=1,PASSES=O2 --evals 2 $quiet >/dev/null 2>&1
echo "-- written, and the same bytes again"
autokernel export matmul --size 48 --format bundle
autokernel export matmul --size 48 --format bundle --output again.akb
cmp matmul_f32.akb again.akb && echo same
tar tf matmul_f32.akb
mkdir unpacked
tar xf matmul_f32.akb -C unpacked
(cd unpacked && sha256sum -c --quiet bundle.sha256 && echo "the sum is right")
echo "-- called where there is no autokernel"
gcc -I"$root/runtime" "$root/examples/runtime/product.c" "$root/runtime/ak_runtime.c" -ldl -lm -pthread -o product
for program in product product_gpu; do [ "$(wc -l <"$root/examples/runtime/$program.c")" -lt 40 ] || echo "$program.c has 40 lines or more"; done
alone() { env -i PATH=/usr/bin:/bin ./product "$@"; echo "exit $?"; }
alone matmul_f32.akb 48 48 48
alone unpacked 48 48 48
alone matmul_f32.akb 1 1 1
alone matmul_f32.akb 33 100 17
alone matmul_f32.akb 0 4 4
# Rows that do not adjoin are described, in the header of the same as C, too; the example is for others.
autokernel tune matmul --size 48 --set pad_a=3,pad_c=8 --archive padded.db --fix MR=4,K_UNROLL=1,PASSES=O2 --evals 1 $quiet >/dev/null 2>&1
autokernel export matmul --size 48 --set pad_a=3,pad_c=8 --archive padded.db --format bundle --output padded.akb
autokernel bundle show padded.akb | sed -n '/^arguments/,/^needs/p' | grep -v ^needs
autokernel export matmul --size 48 --set pad_a=3,pad_c=8 --archive padded.db --format c --output padded/ >/dev/null
sed -n '/\[/,/Options/p' padded/matmul_f32_pad_a_3_pad_c_8.h
alone padded.akb 48 48 48
echo "-- what is no whole bundle"
head -c 20000 matmul_f32.akb >cut.akb
alone cut.akb 48 48 48
sed 's/"workspace_bytes": [0-9]*/"workspace_bytes": 0/' matmul_f32.akb >altered.akb
alone altered.akb 48 48 48
printf 'x' >>unpacked/source/matmul/host.c
alone unpacked 48 48 48
rm unpacked/code/0.so
alone unpacked 48 48 48
alone "$root/README.md" 48 48 48
alone missing.akb 48 48 48
echo "-- of a table, of a trial, into a folder"
kernel=$TESTS/../data/kernels/double
autokernel tune "$kernel" --sizes '100;n=200000' --evals 2 --dispatch 2 --quiet >/dev/null 2>&1
autokernel export "$kernel" --format bundle --table --output table/
grep -c '"loss_ci"' table/bundle.json
# The times are those of the table, not those of trials of the search.
autokernel export "$kernel" --format dispatch --output table.json >/dev/null
python3 - <<'END'
import json
table = json.load(open("table.json"))["sizes"]
for entry, measured in zip(table, json.load(open("table/bundle.json"))["measured"]):
    print(abs(measured["ms"] / (entry["best_ms"] * (entry["loss"] or 1)) - 1) < 1e-9,
          measured["ci_ms"] == (entry["best_ci_ms"] if measured["ms"] == entry["best_ms"] else None))
END
autokernel export "$kernel" --format bundle --config '#3' --output third.akb
tar xOf third.akb bundle.json | grep '"trial"'
autokernel export "$kernel" --size 100 --format bundle --output - | tar xO bundle.json | grep -E '^  "(schema|kind|name|kernel|dtype|licence)"'
# A size at which no trial is left needs none if another size has one with a hash.
autokernel tune "$kernel" --sizes '100;200' --fix UNROLL=4 --evals 2 --dispatch 1 --finish-time 0.02 --libraries none --archive gone.db --quiet >/dev/null 2>&1
for id in $(autokernel history --size n=100 --archive gone.db --json | grep -o '"id": *[0-9]*' | tr -dc '0-9\n'); do
    autokernel history --remove "#$id" --yes --archive gone.db >/dev/null
done
autokernel export "$kernel" --table --format bundle --output gone.akb --archive gone.db 2>&1
# What verify repeats is shown beside it, with the doubts of the run.
python3 - <<'END'
import json, subprocess
bundle, table = json.load(open("table/bundle.json")), json.load(open("table.json"))
shown = subprocess.run(["autokernel", "bundle", "show", "table"], capture_output=True, text=True).stdout
row = next(line.split() for line in shown.splitlines() if line.startswith("n=200000 "))
measured = bundle["measured"][1]
print(abs(float(row[2]) / measured["ms"] - 1) < 1e-3, abs(float(row[3]) / measured["search"]["ms"] - 1) < 1e-3)
print(bundle["warnings"] == table["warnings"], shown.count("measured with a warning") == len(table["warnings"]))
print([one["loss_verdict"] for one in bundle["measured"]] == [one["loss_verdict"] for one in table["sizes"]])
END
echo "-- shown and verified"
autokernel bundle show matmul_f32.akb | grep -v -e 'measured with a warning' -e 'not decided'
autokernel bundle show matmul_f32.akb --json | grep -o '"kind":"autokernel bundle"'
autokernel bundle show matmul_f32.akb | awk '/^size / {getline; print ($4 > 0)}'
autokernel bundle verify matmul_f32.akb --max-slowdown 10000%
echo "exit $?"
autokernel bundle verify table --max-slowdown 10000% --json | grep -o '"status":"[a-z_]*"'
# There was no finish for the sizes of a table, so they are measured as in a search, whether or not they were in one.
cp -r table bare
python3 - <<'END'
import json
bundle = json.load(open("bare/bundle.json"))
for measured in bundle["measured"]:
    measured["search"] = None
json.dump(bundle, open("bare/bundle.json", "w"))
END
(cd bare && sha256sum bundle.json >bundle.sha256)
for bundle in table bare; do autokernel bundle verify $bundle --max-slowdown 10000% --json | grep -o '"as":"[a-z_]*"'; done
for bad in cut.akb altered.akb missing.akb "$root/README.md"; do
    autokernel bundle show "$bad"
    echo "exit $?"
    autokernel bundle verify "$bad"
    echo "exit $?"
done
tar --format=gnu -cf gnu.akb -C table . && autokernel bundle show gnu.akb
(cd table && tar --format=ustar -cf ../packed.akb $(find * -type f)) && autokernel bundle show packed.akb | head -n 1
for slowdown in x 5 0.05 5%% 10001%; do # 5 could be 5 % or 500 %
    autokernel bundle verify matmul_f32.akb --max-slowdown $slowdown
    echo "exit $?"
done
autokernel bundle look matmul_f32.akb
echo "exit $?"
echo "-- a bundle whose checksums fit, and which is wrong, or was said to be faster than anything can be"
autokernel export "$kernel" --config '#3' --format bundle --output wrong/ >/dev/null
seal() { (cd "$1" && sha256sum bundle.json >bundle.sha256); }
cp -r wrong fast
sed -i 's/"ms": [0-9.e-]*/"ms": 1e-12/' fast/bundle.json
seal fast
autokernel bundle verify fast
echo "exit $?"
entry=$(sed -n 's/.*"entry": "\(.*\)".*/\1/p' wrong/bundle.json)
sed 's/2.0f/3.0f/' "$kernel/host.c" >three.c
gcc -O1 -fPIC -shared -nostartfiles -DUNROLL=4 -Dak_kernel=$entry -include "$root/src/backend/host/ak_host.h" three.c -o three.so
was=$(sha256sum <wrong/code/0.so | cut -c1-64)
sed -i -e "s/$was/$(sha256sum <three.so | cut -c1-64)/" -e "s/\"bytes\": $(stat -c %s wrong/code/0.so),/\"bytes\": $(stat -c %s three.so),/" wrong/bundle.json
cp three.so wrong/code/0.so
seal wrong
autokernel bundle verify wrong --max-slowdown 10000%
echo "exit $?"
echo "-- a bundle whose checksums fit, and which leads out of its folder"
out() { rm -rf out; cp -r wrong out; sed -i "$1" out/bundle.json; seal out; autokernel bundle verify out; echo "exit $?"; }
out 's|"file": "code/0.so"|"file": "../wrong/code/0.so"|'
out 's|"kernel": "double"|"kernel": "../../wrong/source/double"|'
echo "-- what cannot be shipped"
no() { autokernel export "$@"; echo "exit $?"; }
no "$kernel" --format bundle --size 7777
no "$kernel" --format bundle
no "$kernel" --format bundle --config '#999'
no "$kernel" --format bundle --config UNROLL=4
no "$kernel" --format bundle --config '#3' --table
no "$kernel" --table
no softmax --format bundle --table
echo "-- the kernel has changed since, and the archive kept what it was"
cp -r "$kernel" "$TESTS/../data/kernels/common" .
autokernel export "$kernel" --config '#3' --format bundle --output then.akb
echo '/* changed */' >>double/host.c
autokernel export ./double --config '#3' --format bundle --output now.akb
cmp then.akb now.akb && echo same
autokernel history --source '#3' | grep -A 3 '^===='
autokernel history --source '#3' --output was
diff was/double/host.c "$kernel/host.c" && echo unchanged
echo file >taken
autokernel history --source '#3' --output taken
autokernel history --source '#999'
echo "exit $?"
autokernel history --source x
echo "exit $?"
echo "-- a trial that is named by its id has its time of the finish, also if it lost there"
autokernel tune "$TESTS/../data/kernels/double" --size 100 --evals 2 --finish-time 0.02 --libraries none --archive finish.db --json --quiet >finish.json 2>/dev/null
for id in 1 2; do autokernel export "$TESTS/../data/kernels/double" --archive finish.db --config "#$id" --format bundle --output "own$id/" >/dev/null 2>&1; done
python3 - <<'END'
import json
finish = [c["ms"] for c in json.load(open("finish.json"))["contestants"] if c["config"]]
own = [json.load(open(f"own{i}/bundle.json"))["measured"][0] for i in (1, 2)]
print(sorted(m["ms"] for m in own) == sorted(finish), [m["finish"] is not None for m in own], [m["trial"] for m in own])
END
