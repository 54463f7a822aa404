# Runs bench/cuda/tables.py on a script in place of autokernel. Checks the table, its ratios and their means,
# a shape that fails, and that a second call measures only what is missing.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
cat >stub <<'STUB'
#!/bin/sh
echo "$*" | sed 's/--archive .*tables[.]db/--archive A/' >>calls
case "$*" in
*M=512,*) ours=1.0 ;;
*M=768,*) ours=0.5 ;;
*) echo "autokernel: no device" >&2; exit 1 ;;
esac
cat <<JSON
{"contestants": [
 {"name": "cuBLASLt, its first heuristic", "library": "cublaslt", "config": null, "ms": 1.5, "ci_ms": [1.4, 1.6], "tflops": 2, "gbs": 3,
  "ratio": 0.8, "ratio_ci": [0.79, 0.81]},
 {"name": "cuBLASLt, best of its heuristics", "library": "cublaslt-best", "config": null, "ms": 1.25, "ci_ms": [1.2, 1.3], "tflops": 2,
  "gbs": 3, "ratio": 1.0, "ratio_ci": [1, 1]},
 {"name": "PyTorch, eager", "library": "torch-eager", "config": null, "ms": null, "ci_ms": [0, 0], "tflops": 0, "gbs": 0, "ratio": 0,
  "ratio_ci": [0, 0], "reason": "no torch"},
 {"name": "default", "library": null, "config": {"A": 1}, "ms": 2.0, "ci_ms": [1.9, 2.1], "tflops": 2, "gbs": 3, "ratio": 0.6,
  "ratio_ci": [0.5, 0.7]},
 {"name": "tuned", "library": null, "config": {"A": 2}, "ms": $ours, "ci_ms": [0.4, 1.1], "tflops": 4, "gbs": 5, "overlap": "between runs",
  "ratio": 1.3, "ratio_ci": [1.2, 1.4]}]}
JSON
STUB
chmod +x stub
tables() { AUTOKERNEL=./stub python3 "$TESTS/../../bench/cuda/tables.py" --date 2000-01-01 "$@" 2>/dev/null; }
mkdir out
tables medium --first 2 --output out >first.txt
tables medium --first 3 --output out
cat calls
tables --print out/*.json | grep -c '^| matmul'
tables medium --tune 0 --time 2 --first 1 --output . >/dev/null && tail -n 1 calls
tables --list | sed -n '1,3p'
tables nonsense || echo "exit code $?"
