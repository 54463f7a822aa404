# Energy of a CUDA device by NVML, on a driver that needs no GPU (fakes/fake_cuda.c): it takes 612 W, whatever it does.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
[ -n "${AK_TEST_FAKE_CUDA:-}" ] || { echo "no fake driver"; exit 77; }
for library in CUDA NVRTC NVML CUBLASLT CUDNN; do export AUTOKERNEL_LIB$library="$AK_TEST_FAKE_CUDA"; done
export XDG_CACHE_HOME=$PWD/cache
tune() { autokernel tune matmul --device cuda:0 --dtype bf16 --impl cuda_sm90 --size 128 --strategy random --evals 2 --finish-time 0.02 --libraries none --like none --archive a.db "$@"; }
tune --objective energy --json 2>/dev/null | python3 -c '
import json, sys
r = json.load(sys.stdin)
b = r["best"]
watts = b["joules"] / (b["ms"] / 1e3)
print(r["objective"], b["value"] == b["joules"], watts > 0)
print(all(c["joules"] > 0 and c["cost_low"] <= c["cost"] <= c["cost_high"] for c in r["contestants"]), r["reference"] in ("tuned", "default"))'
echo "-- a search by time has no energies, and its best is another one"
tune --json 2>/dev/null | python3 -c '
import json, sys
r = json.load(sys.stdin)
print(r["objective"], "joules" in r["best"], r["best"]["trial"] > 2)'
autokernel best matmul --objective energy --size 128 --device cuda:0 --archive a.db --json | grep -c '"choices":"[^"]*objective=energy"'
echo "-- a driver without that counter"
FAKE_CUDA=no_energy tune --objective edp 2>&1 | grep -o 'objective edp: NVML gives no energy.*'
