# Tests rows at a distance, options of a problem that are numbers, and macros of the task.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
mkdir gap
cat >gap/problem.json <<'END'
{
  "schema": 1, "name": "gap", "description": "Y = factor * X, rows at a distance",
  "sizes": [{ "name": "rows", "default": 9 }, { "name": "cols", "default": 30 }],
  "dtypes": ["f32"],
  "choices": [
    { "name": "factor", "type": "real", "default": 2, "minimum": -8, "description": "of each element" },
    { "name": "pad", "type": "int", "default": 3, "minimum": 0, "maximum": 9, "implicit": true }
  ],
  "arguments": [
    { "name": "X", "shape": ["rows", "cols"], "pitch": "cols + pad", "access": "in" },
    { "name": "Y", "shape": ["rows", "cols"], "pitch": "cols + pad", "access": "out" }
  ],
  "flops": "rows*cols", "bytes": "2*rows*cols*dtype_bytes", "reference": "reference.c",
  "tolerance": { "f32": { "relative": "eps", "rms": "eps" } },
  "awkward": [{ "rows": 1, "cols": 1 }, { "rows": 70, "cols": 3 }]
}
END
cat >gap/reference.c <<'END'
void ak_reference(const ak_host_call *call)
{
    const double *x = call->arg[0];
    double *y = call->arg[1];
    for (int64_t i = 0; i < call->size[0] * call->size[1]; i++) {
        y[i] = call->number[0] * x[i];
    }
}
END
cat >gap/host.json <<'END'
{
  "ConfigurationSpace": {
    "TuningParameters": [{ "Name": "FAULT", "Type": "int", "Values": [0, 1, 2, 3], "Default": 0 }],
    "Conditions": []
  },
  "KernelSpecification": {
    "Language": "C", "KernelFile": "host.c", "CompilerOptions": ["-std=gnu17", "-O1"],
    "Defines": { "NEGATIVE": "1 if factor < 0 else 0" }
  }
}
END
cat >gap/host.c <<'END'
void ak_kernel(const ak_host_call *call)
{
    const int64_t rows = call->size[0], cols = call->size[1], pitch = call->pitch[1];
    const float *x = call->arg[0];
    float *y = call->arg[1], sum = 0;
    const float factor = (float)(NEGATIVE ? -call->number[0] : call->number[0]);
    for (int64_t i = 0; i < rows; i++) {
        /* 1: as if rows adjoined; 2: writes what lies between them; 3: lets it into a result */
        const int64_t at = i * (FAULT == 1 ? cols : pitch), more = FAULT == 2 && i < rows - 1;
        for (int64_t j = 0; j < cols + more; j++) {
            y[at + j] = (NEGATIVE ? -1 : 1) * factor * x[at + j];
        }
        sum += FAULT == 3 && i < rows - 1 ? 0 * x[at + pitch - 1] : 0;
    }
    y[0] += sum;
}
END
autokernel list ./gap | sed -n 1,9p
for fault in 0 1 2 3; do
    autokernel check ./gap --set factor=2 --config FAULT=$fault 2>&1 | grep -v '^[0-9]* of\|^next'
done
autokernel check ./gap --set factor=-0.5,pad=9 --config FAULT=0 2>&1 | grep -v '^[0-9]* of\|^next'
autokernel check ./gap --set factor=2,pad=0 --config FAULT=1 | tail -n 2
autokernel check ./gap --set factor=-9
echo "exit $?"
echo "-- matmul"
small=MR=4,K_UNROLL=1,PASSES=O2 # the tile that the compiler needs least time for
for set in layout=nt layout=tn,alpha=-0.5,pad_a=1 layout=tt,beta=2,pad_b=3,pad_c=5; do
    autokernel check matmul --device host --size M=33,N=20,K=17 --set $set --config $small --quiet 2>&1 | tail -n 2
done
autokernel check matmul_act --device host --size M=33,N=20,K=17 --config $small \
    --set activation=silu,layout=nt,alpha=0.5,beta=-1,residual=add,pad_a=1,pad_b=2,pad_c=3 2>&1 | tail -n 2
