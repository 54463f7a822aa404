# The settings of a Triton kernel in the decorator of its reference, in the same file.
export AUTOKERNEL_PYTHON=$TEST_PYTHON
"$TEST_PYTHON" -c 'import triton, numpy' 2>/dev/null || { echo "no Python with Triton and NumPy"; exit 77; }
run() { "$@" 2>&1; echo "exit $?"; }
device='--device cuda:H200'
cat >add.py <<'END'
import triton
import triton.language as tl
import autokernel


@triton.autotune(configs=[triton.Config({"BLOCK_SIZE": b}) for b in (256, 512)], key=["n"])
@triton.jit
def add(x_ptr, y_ptr, z_ptr, n, BLOCK_SIZE: tl.constexpr):
    at = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    tl.store(z_ptr + at, tl.load(x_ptr + at, mask=at < n) + tl.load(y_ptr + at, mask=at < n), mask=at < n)


@autokernel.reference(sizes={"n": 4096}, grid="(n + BLOCK_SIZE - 1)//BLOCK_SIZE",
                      arguments={"x_ptr": {"shape": ["n"]}, "y_ptr": {"shape": ["n"]},
                                 "z_ptr": {"shape": ["n"], "access": "out"}, "n": "n"})
def right(x_ptr, y_ptr):
    return x_ptr + y_ptr
END
autokernel list add.py $device | grep -E '^(BLOCK|reference|size|argument|Cartesian)'
autokernel new kernel folder --from add.py | head -1
grep -o '"reference": "[^"]*"' folder/problem.json
echo "-- the reference is called: with NumPy, with torch (a stand-in), without torch"
mkdir torch
cat >torch/__init__.py <<'END'
class Tensor:
    def __init__(self, array): self.array = array
    def __add__(self, other): return Tensor(self.array + other.array)
    def detach(self): return self.array
def from_numpy(array): return Tensor(array)
END
call() { "$TEST_PYTHON" - "$1" <<'END'
import array, json, os, subprocess, sys
worker, n = os.environ["WORKER"], 5
for name in ("x_ptr", "y_ptr", "z_ptr"):
    with open(name + ".bin", "wb") as file: array.array("d", range(n)).tofile(file)
requests, answers = os.pipe(), os.pipe()
def child():
    os.dup2(requests[0], 13), os.dup2(answers[1], 14), os.dup2(13, 3), os.dup2(14, 4)
process = subprocess.Popen([sys.executable, "-c", worker], preexec_fn=child, close_fds=False)
os.close(answers[1])
to, out = os.fdopen(requests[1], "w"), os.fdopen(answers[0])
def ask(**request):
    to.write(json.dumps(request) + "\n"), to.flush()
    return json.loads(out.readline())
text = open("add.py").read().replace("@autokernel.reference(", "@autokernel.reference(torch=%s, " % sys.argv[1])
reply = ask(op="open", file="add.py", source=text, function="right", folder=os.getcwd(), names=["x_ptr", "y_ptr", "z_ptr", "n"], modules=["torch/__init__.py"], outputs=["z_ptr"])
if reply["ok"]:
    arrays = [{"name": a, "file": a + ".bin", "shape": [n], "integer": False, "access": "out" if a[0] == "z" else "in"} for a in ("x_ptr", "y_ptr", "z_ptr")]
    reply = ask(op="run", values={"n": n}, arrays=arrays)
if reply["ok"]:
    got = array.array("d")
    with open("z_ptr.bin", "rb") as file: got.fromfile(file, n)
    print(list(got))
else:
    print(reply["error"].replace(sys.executable, "PYTHON"))
process.kill()
END
}
export WORKER=$(cat "$TESTS/../../src/backend/script.py" "$TESTS/../../src/judge/reference_worker.py")
call False
call True
rm -r torch
"$TEST_PYTHON" -c 'import torch' 2>/dev/null && echo "add.py: the reference right asks for torch, which" || call True | cut -c1-46
echo "-- mistakes"
wrong() { mkdir -p wrong && sed "$1" add.py >wrong/add.py; run autokernel list wrong/add.py $device; }
wrong 's/"n": "n"/"n": len/'
wrong 's/grid=/gird=/'
wrong 's/sizes={"n": 4096}, //'
wrong 's/sizes=/reference="x.py:f", sizes=/'
wrong 's/^@autokernel.reference(/@autokernel.reference(kernel="other", /'
echo '{}' >wrong/add.json
wrong ''
