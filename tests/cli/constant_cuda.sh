# Arguments in constant memory ("Constants"), on a driver that needs no GPU (fakes/fake_cuda.c): its product reads the
# bias from a variable of the module where it is compiled with -DBIAS_SYMBOL=BYTES.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
[ -n "${AK_TEST_FAKE_CUDA:-}" ] || { echo "no fake driver"; exit 77; }
for library in CUDA NVRTC NVML CUBLASLT CUDNN; do export AUTOKERNEL_LIB$library="$AK_TEST_FAKE_CUDA"; done
export XDG_CACHE_HOME=$PWD/cache
mkdir -p of && cp -r "$TESTS"/../../kernels/{matmul,matmul_act,softmax} of/
variant() { # name, members of "Launch" beside it, options of the compiler
    cp -r of/matmul_act "of/$1"
    python3 - "of/$1" "$2" "$3" <<'P'
import json, sys
folder, members, options = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3].split()
d = json.load(open(folder + "/cuda_sm90.json"))
specification = d["KernelSpecification"]
specification["CompilerOptions"] = options
launches = specification["Launch"] if isinstance(specification["Launch"], list) else [specification["Launch"]]
launches[-1].update(members)
launches[-1]["Arguments"] = [{"Null": True} if a == {"Buffer": "bias"} else a for a in launches[-1]["Arguments"]]
json.dump(d, open(folder + "/cuda_sm90.json", "w"))
d = json.load(open(folder + "/problem.json"))
d["name"] = "mine"
json.dump(d, open(folder + "/problem.json", "w"))
P
}
check() { autokernel check "of/$1" --device cuda:0 --dtype bf16 --impl cuda_sm90 --size 64 --config default 2>&1 | sed 's/; SWAP_AB.*//' | grep -v "^next"; }
variant right '{"Constants": ["bias"]}' -DBIAS_SYMBOL=65536
check right
echo "-- timed, too"
autokernel tune of/right --device cuda:0 --dtype bf16 --impl cuda_sm90 --size 64 --strategy random --evals 2 --finish-time 0.02 --libraries none --like none --archive a.db --json 2>/dev/null | python3 -c '
import json, sys
r = json.load(sys.stdin)
print(r["best"]["trial"] > 0, all(c["ms"] > 0 for c in r["contestants"]))'
echo "-- one that keeps what it made of the first contents"
FAKE_CUDA=keeps check right
echo "-- the runtime copies nothing there"
autokernel export of/right --device cuda:0 --dtype bf16 --impl cuda_sm90 --size 64 --archive a.db --format bundle || echo "exit code $?"
echo "-- no such variable, one that is too small, and one that is written"
variant missing '{"Constants": ["bias"]}' ""
check missing
variant small '{"Constants": ["bias"]}' -DBIAS_SYMBOL=100
check small
variant written '{"Constants": ["C"]}' ""
check written
variant unknown '{"Constants": ["biass"]}' ""
check unknown
echo "-- Triton's compiler has no such variables"
python3 - of/softmax/triton.json <<'P'
import json, sys
d = json.load(open(sys.argv[1]))
d["KernelSpecification"]["Launch"]["Constants"] = ["X"]
json.dump(d, open(sys.argv[1], "w"))
P
autokernel list of/softmax
echo "-- a T1 file"
autokernel new kernel c --from "$TESTS/../../examples/t1/convolution_cuda.t1.json" >/dev/null && python3 -c '
import json
launch = json.load(open("c/cuda.json"))["KernelSpecification"]["Launch"]
print(launch["Constants"], [a.get("Buffer") for a in launch["Arguments"]])'
