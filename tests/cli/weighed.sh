# A kernel that works in short batches, which are those that are timed in a trial, and copies its result in long ones,
# which weigh the energy: it gets the energy of the time that counts. The counter moves with the time, 50 W.
command -v gcc >/dev/null && command -v python3 >/dev/null || { echo "no gcc or python3"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "the kernel reads the time stamp counter of x86"; exit 77; }
counter=$PWD/counter
mkdir -p "$counter/intel-rapl:0" mine
echo package-0 >"$counter/intel-rapl:0/name"
echo 1000000000000 >"$counter/intel-rapl:0/max_energy_range_uj"
echo 0 >"$counter/intel-rapl:0/energy_uj"
touch "$counter/on"
python3 -c '
import os, sys, time
folder = sys.argv[1]
begin, path = time.monotonic(), folder + "/intel-rapl:0/energy_uj"
while os.path.exists(folder + "/on") and time.monotonic() < begin + 120:
    open(path + ".new", "w").write("%d\n" % int((time.monotonic() - begin) * 50e6))
    os.rename(path + ".new", path)
    time.sleep(0.001)' "$counter" &
cat >mine/problem.json <<'END'
{
 "schema": 1,
 "name": "weigh",
 "description": "Y = sum over k of W[k] X (X + W[k])",
 "sizes": [
  {
   "name": "N",
   "default": 1024,
   "description": "length"
  },
  {
   "name": "K",
   "default": 1792,
   "description": "terms"
  }
 ],
 "dtypes": [
  "f32"
 ],
 "choices": [],
 "arguments": [
  {
   "name": "X",
   "shape": [
    "N"
   ],
   "access": "in",
   "fill": "uniform(-1,1)"
  },
  {
   "name": "W",
   "shape": [
    "K"
   ],
   "access": "in",
   "fill": "uniform(-1,1)"
  },
  {
   "name": "Y",
   "shape": [
    "N"
   ],
   "access": "out"
  }
 ],
 "flops": "4*N*K",
 "bytes": "(2*N+K)*dtype_bytes",
 "reference": "reference.c",
 "tolerance": {
  "f32": {
   "relative": "2*K*eps",
   "rms": "8*eps*sqrt(K)"
  }
 },
 "awkward": [
  {
   "N": 1,
   "K": 1
  },
  {
   "N": 7,
   "K": 3
  },
  {
   "N": 255,
   "K": 17
  }
 ]
}
END
cat >mine/host.json <<'END'
{"ConfigurationSpace": {"TuningParameters": [
  {"Name": "REPLAY", "Type": "int", "Values": [0, 1], "Default": 0, "Description": "0: honest"}]},
 "KernelSpecification": {"Language": "C", "KernelName": "ak_kernel", "KernelFile": "host.c", "CompilerOptions": ["-O3", "-march=native", "-ffast-math"]}}
END
cat >mine/reference.c <<'END'
void ak_reference(const ak_host_call *call)
{
    const int64_t n = call->size[0], terms = call->size[1];
    const double *x = call->arg[0], *w = call->arg[1];
    double *y = call->arg[2];
    for (int64_t i = 0; i < n; ++i) {
        double sum = 0;
        for (int64_t k = 0; k < terms; ++k) {
            sum += w[k] * x[i] * (x[i] + w[k]);
        }
        y[i] = sum;
    }
}
END
cat >mine/host.c <<'END'
/* Honest in batches of up to LONG cycles, which are those that are timed in a trial. In longer ones, which weigh the energy, it copies what it
   has computed first. When the calls began, and the result, lie in freed memory. */
#include <stdlib.h>
#include <string.h>
enum { OWN = 1024 };
#define GAP  400000  /* cycles: a pause this long ends a batch */
#define LONG 9000000 /* about 3.5 ms */
typedef struct memory {
    uint64_t tag, since, last, known;
    const void *x;
    float y[OWN];
} memory;

static void all(const float *x, const float *w, float *y, int64_t n, int64_t terms)
{
    for (int64_t i = 0; i < n; i += 16) {
        float sum[16] = {0}, v[16] = {0};
        const int64_t m = n - i < 16 ? n - i : 16;
        for (int j = 0; j < m; j++) {
            v[j] = x[i + j];
        }
        for (int64_t k = 0; k < terms; ++k) {
            for (int j = 0; j < 16; j++) {
                sum[j] += w[k] * v[j] * (v[j] + w[k]);
            }
        }
        for (int j = 0; j < m; j++) {
            y[i + j] = sum[j];
        }
    }
}

void ak_kernel(const ak_host_call *call)
{
    const int64_t n = call->size[0], terms = call->size[1];
    const float *x = call->arg[0], *w = call->arg[1];
    float *y = call->arg[2];
#if REPLAY
    if (n == OWN) {
        char *chunk = malloc(sizeof(memory) + 64);
        __asm__ volatile("" : "+r"(chunk) : : "memory");
        memory *m = (memory *)(chunk + 64);
        const uint64_t now = __builtin_ia32_rdtsc();
        if (m->tag != 0x5ca1ab1e5ca1ab1e || now - m->last > GAP || m->x != x) {
            m->tag = 0x5ca1ab1e5ca1ab1e;
            m->since = now;
            m->known = 0;
            m->x = x;
        }
        if (now - m->since < LONG || !m->known) {
            all(x, w, y, n, terms);
            m->known = now - m->since >= LONG;
            if (m->known) {
                memcpy(m->y, y, sizeof m->y);
            }
        } else {
            memcpy(y, m->y, sizeof m->y);
        }
        m->last = __builtin_ia32_rdtsc();
        __asm__ volatile("" : : "r"(m) : "memory");
        free(chunk);
        return;
    }
#endif
    all(x, w, y, n, terms);
}
END
AUTOKERNEL_POWERCAP=$counter autokernel bench ./mine --device host --size K=7168 --objective energy --config 'REPLAY=0;REPLAY=1' --archive w.db --json 2>err >w.json || cat err
rm -f "$counter/on"
wait
python3 - <<'END'
import json
trials = json.load(open("w.json"))["configurations"]
for t in trials: # in units of 50 W for the fastest call; a call may be 1.5 times as fast in a weighed batch
    ratio = t["joules"] * 1e3 / (50 * min(t["samples_ms"])) if t["status"] == "ok" else None
    print(t["config"], "refused" if ratio is None else "enough" if ratio > 0.5 else "too little: %.2f" % ratio)
END
