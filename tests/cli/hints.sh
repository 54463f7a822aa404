# Tests that what people type from habit is answered with the right word, and that nothing is guessed if no
# word is near.
try() { autokernel "$@" 2>&1 | sed 's/.*; //'; }
try tune matmul --max-iterations 3
try tune matmul --iters=3
try tune matmul --cores 2
try tune matmul --speedup 2
try tune matmul --evls 3
try tune matmul --timeout 3
try best --top 3
try tune matmul --frobnicate
try tune matmul --xy
autokernel tune --kernel matmul
autokernel tune matmul --device cpu
autokernel tune matmul --device gpu
autokernel tune matmul --device tpu
autokernel tune matmul --dtype float32
autokernel tune matmul --strategy bayesian
autokernel optimize matmul
autokernel benchmark matmul
# A key is never shown again, and what to do instead is said.
autokernel tune matmul --api-key=sk-secret 2>&1 | grep -c sk-secret
autokernel tune matmul --api-key sk-secret 2>&1 | grep -o -E 'OPENAI_API_KEY or ANTHROPIC_API_KEY'
autokernel check matmul --set layout=nt --set beta=1 --quiet 2>&1 | head -n 1
