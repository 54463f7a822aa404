# Tests that what there is one of has a noun in the singular.
cp "$TESTS"/../data/recordings/tiny.json .
printf '{"device_name": "a device", "kernel_name": "single", "problem_size": [64], "tune_params_keys": ["x"],
    "tune_params": {"x": [1]}, "objective": "time", "cache": {"1": {"x": 1, "time": 3.6}}}' >single.json
autokernel tune single.json --device sim 2>&1 | grep valid
autokernel tune tiny.json --device sim --evals 1 >/dev/null 2>&1
autokernel tune tiny.json --device sim --evals 2 --resume 2>&1 | grep resumed
autokernel study tiny.json --arms random --seeds 1 --evals 1 --quiet | head -n 1
autokernel fleet status --launcher cmd:env --workers 1 --device host | tail -n 1
autokernel tune matmul --sizes '32;48' --evals 1 --archive none.db
