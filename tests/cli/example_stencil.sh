# The page of examples/kernels/stencil, step by step.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
cp -r "$TESTS/../../examples/kernels/stencil" .
autokernel new kernel mine --from stencil/stencil.c | grep -E '^(values|shapes|access|reference)' | cut -d : -f 1
autokernel list ./mine | grep -E '^TILE'
autokernel list ./stencil | grep -E '^(TILE_X|TILE_Y|argument|size)'
autokernel check ./stencil --configs 3 --quiet | grep -E '^(reference|4 of 4)'
autokernel tune ./stencil --size height=128,width=96 --fix COMPILER=gcc,OPT_LEVEL=2 --strategy exhaustive --evals 4 --finish-time 0.05 --quiet --json >run.json && echo tuned
grep -o '"checked_against":"[^"]*"' run.json
autokernel export ./stencil --size height=128,width=96 --format bundle --output stencil.akb >/dev/null && ls stencil.akb
tar xOf stencil.akb bundle.json | grep '"alignment"' # a plain function has arrays as ak_host.h says
sed -i 's/row\[x - width\]/row[x - width + 1]/' stencil/stencil.c
autokernel check ./stencil --configs 0 --quiet 2>&1 | grep -E '^(wrong_result|1 of 1)' | sed 's/result\[.*/.../'
