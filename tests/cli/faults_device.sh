# Takes the GPU away in the middle of the search and of the finish, and fills its memory. Checks what
# faults.sh checks, on a driver that needs no GPU (fakes/fake_cuda.c).
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
[ -n "${AK_TEST_FAKE_CUDA:-}" ] || { echo "no fake driver"; exit 77; }
for library in CUDA NVRTC NVML CUBLASLT CUDNN; do export AUTOKERNEL_LIB$library="$AK_TEST_FAKE_CUDA"; done
export XDG_CACHE_HOME=$PWD/cache FAKE_CUDA="lost_if:$PWD/lost full_if:$PWD/full"
cat >drive.py <<'PY'
import os, sys
sys.path.insert(0, os.environ["TESTS"])
import faults
from faults import *

TUNE[:] = ["autokernel", "tune", "matmul", "--device", "cuda:0", "--dtype", "bf16", "--impl", "cuda_sm90", "--size", "128",
           "--strategy", "random", "--seed", "3", "--evals", "5", "--libraries", "none", "--finish-time", "0.05", "--like", "none"]

def lose(tune, known):
    open("lost", "w").close()

def fill(tune, known):
    open("full", "w").close()
    os.kill(one(known, "--device"), signal.SIGKILL)

def mend():
    os.unlink("full")

wanted = undisturbed()
code, text = tell("a GPU lost in the search", lose, wanted)
print("  the fault came:", "yes" if not os.path.exists("lost") else "NO", "- exit", code)
code, text = tell("a GPU lost in the finish", lose, wanted, after=1, at="finish", more=("--finish-time", "0.5"))
print("  the fault came:", "yes" if not os.path.exists("lost") else "NO", "- exit", code)
code, text = tell("no memory on the GPU", fill, wanted, mend=mend)
print("  told:", next((line for line in text.splitlines() if "memory" in line.lower()), text[-300:]), "- exit", code)
PY
timeout 300 python3 drive.py
echo "-- a reference that the driver of these tests does not have, at a size that needs one on the device"
autokernel tune softmax --device cuda:0 --evals 1 --libraries none --archive r.db --quiet 2>&1 | grep '^autokernel'
