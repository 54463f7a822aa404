# Tests Triton kernels of the user: the skeleton, a file with several kernels, and every mistake with its line
# of complaint.
export AUTOKERNEL_PYTHON=$TEST_PYTHON
"$TEST_PYTHON" -c 'import triton, numpy' 2>/dev/null || { echo "no Python with Triton and NumPy"; exit 77; }
run() { "$@" 2>&1; echo "exit $?"; }
device='--device cuda:H200'
run autokernel new kernel add --triton
autokernel list add/add.py $device | grep -E '^(BLOCK|num_|reference|size|argument|Cartesian)'
autokernel new kernel folder --from add/add.py | head -1
ls folder
autokernel list ./folder $device --impl triton | grep -E '^Cartesian'
echo "-- several kernels, parameters of the settings"
sed 's/^def add(/def other(x_ptr, n, BLOCK_SIZE: tl.constexpr):\n    pass\n\n\n@triton.jit\ndef add(/; /^@triton.autotune/,/key=/d' add/add.py >two.py
sed 's/two.py/two.py/; s/add.py/two.py/; s/"grid"/"parameters": {"BLOCK_SIZE": [256, 512]}, "grid"/' add/add.json >two.json
run autokernel list two.py $device
autokernel list two.py:add $device | grep -E '^(BLOCK|Cartesian)'
run autokernel list two.py:nothing $device
echo "-- mistakes"
run autokernel list nowhere.py $device
cp add/add.py alone.py
run autokernel list alone.py $device
wrong() { sed "${2:-}" add/add.py >add.py; sed "$1" add/add.json >add.json; run autokernel list add.py $device; }
wrong 's/"y_ptr": .*/"w_ptr": 1,/'
wrong 's/"n": "n"/"m": "n"/'
wrong 's/"access": "out"/"access": "in"/'
wrong 's/"grid"/"gird"/'
wrong 's/"grid".*/"parameters": {"WIDTH": [1]}, "grid": ["1"],/'
wrong 's/"n": 1048576/"n": /'
wrong '' 's/^import triton$/import nothing_like_it/'
wrong '' 's/^def reference.*/def reference(:/'
wrong '' 's/^@.*//; /configs=/d; /key=/d'
echo "-- files that Python does not like to import"
begin() { { printf "$1\n"; cat add/add.py; } >add.py; cp add/add.json add.json; run autokernel list add.py $device | grep -E '^(autokernel|exit)'; }
begin 'import sys\nsys.exit(3)'
begin 'import os\nos._exit(3)'
AUTOKERNEL_IMPORT_SECONDS=1 begin 'import time\ntime.sleep(1000)'
begin 'import os\nif os.fork() == 0:\n    import time\n    time.sleep(1000)'
begin 'print("x" * 1000)\nimport os\nos.write(1, b"{}")\nimport threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()'
begin '# \xe9t\xe9'
begin '\xef\xbb\xbf# a mark'
{ cat add/add.py; sed -n '/^@triton.jit/,/^$/p' add/add.py; } >add.py
run autokernel list add.py $device
sed 's/$/\r/' add/add.py >add.py
autokernel list add.py $device | grep '^Cartesian'
echo "-- settings that are no JSON, or of the wrong kind"
wrong 's/"n": 1048576/"n": NaN/'
wrong 's/"n": 1048576/"n": 1048576,/'
wrong '1i // mine'
wrong 's/"n": 1048576/"n": 0/'
wrong 's/"grid": .[^]]*./"grid": "n +"/'
wrong 's/"grid": .[^]]*./"grid": ["n +"]/'
wrong 's/"sizes": {[^}]*}/"sizes": [1]/'
cp add/add.py 'a b:c".py'
run autokernel list 'a b:c".py' $device
cp add/add.json 'a b:c".json'
run autokernel list 'a b:c".py' $device
mkdir folder.py
run autokernel list folder.py:add $device
echo "-- decorators in another order, values of other kinds, what would be left out"
change() { sed "${2:-}" add/add.py >add.py; sed "$1" add/add.json >add.json; autokernel list add.py $device 2>&1 | grep -E '^(autokernel|BLOCK|MODE)' | sed "s#$AUTOKERNEL_PYTHON#PYTHON#"; }
mode='s/BLOCK_SIZE: tl.constexpr/BLOCK_SIZE: tl.constexpr, MODE: tl.constexpr/'
change '' "$mode; s/^@triton.autotune/@triton.heuristics({'MODE': lambda a: 3})\n@triton.autotune/"
change 's/"grid"/"parameters": {"BLOCK_SIZE": [64], "MODE": [0.5, 1]}, "grid"/' "$mode"
change 's/"grid"/"parameters": {"MODE": [null, 1]}, "grid"/' "$mode"
change '' 's/key=/pre_hook=lambda a, reset_only=False: None, key=/'
change 's/"x_ptr": {"shape"/"x_ptr": {"fil": "constant(1)", "shape"/'
change 's/"x_ptr": {"shape"/"x_ptr": {"shpae"/'
change 's/"grid"/"constants": {"MOOD": 1}, "grid"/'
change 's/"f32"/"float32"/'
change '1s/^/[/; $s/$/]/'
change '' '$s/$/\nadd[(1,)](1, 2, 3, 4)/'
