/*
 * host_pass.c: what a program does that calls a library for the product and needs a bias and an
 * activation: a second pass over C. Written as well as we can, or the comparison would not be fair:
 * vectors of the machine's full width, all threads, one read and one write of C.
 *
 * The body is compiled once per instruction set from GNU vectors and chosen at run time.
 */
#include <string.h>

#include "backend/host/host_baseline.h"

/* The passing of wide vectors between functions that are always inlined has no ABI to warn about.
 */
#pragma GCC diagnostic ignored "-Wpsabi"

enum { LANES = 16 };
typedef float vec __attribute__((vector_size(LANES * 4)));
typedef int32_t ivec __attribute__((vector_size(LANES * 4)));

#define INLINE static inline __attribute__((always_inline))

/* Below this many elements, starting threads costs more than they save. */
#define ELEMENTS_PER_THREAD 65536

enum { NONE, RELU, LEAKY_RELU, GELU_TANH, GELU_ERF, SILU, ACTIVATIONS };
static const char *const names[ACTIVATIONS] = {"none",      "relu",     "leaky_relu",
                                               "gelu_tanh", "gelu_erf", "silu"};

INLINE vec load(const float *from)
{
    vec value;
    memcpy(&value, from, sizeof value);
    return value;
}

INLINE vec splat(float x)
{
    return x - (vec){0};
}

/* Macros, and functions that take addresses: passing wide vectors by value has an ABI that differs
   between compilers and options. Each argument is a variable, so evaluating it twice costs nothing.
   b where either is NaN: x86's own maximum and minimum. */
#define CHOOSE(mask, yes, no) ((vec)(((mask) & (ivec)(yes)) | (~(mask) & (ivec)(no))))
#define LARGER(a, b)          CHOOSE((a) > (b), a, b)
#define SMALLER(a, b)         CHOOSE((a) < (b), a, b)

/* 2^n * exp(r), n the nearest integer to x / ln 2; within 2 units in the last place. Results that
   would be denormal are 0, and beyond 88.37 it stays at 2.4e38. */
INLINE void exponential(vec *value)
{
    const vec x = *value, lowest = splat(-87.33654f), highest = splat(88.376f);
    const vec magic = splat(12582912.0f); /* 1.5 * 2^23: adding it rounds to an integer */
    const vec below = SMALLER(highest, x);
    const vec bounded = LARGER(lowest, below);
    const vec shifted = bounded * splat(1.44269504f) + magic;
    const vec n = shifted - magic;
    const vec power = (vec)(((ivec)shifted - (ivec)magic + 127) << 23);
    const vec r = (bounded - n * splat(0.693359375f)) - n * splat(-2.12194440e-4f);
    vec p = splat(0.00139262508f);
    p = p * r + splat(0.00836323288f);
    p = p * r + splat(0.0416665542f);
    p = p * r + splat(0.166665767f);
    p = p * r + splat(0.5f);
    p = p * r + splat(1.0f);
    p = p * r + splat(1.0f);
    *value = (vec)((ivec)(p * power) & ~(x < lowest));
}

/* x Phi(x), by the tail of the normal distribution: exp(-y^2/2) t Q(t), t = 1/(1 + 0.35 y). */
INLINE void gelu_erf(vec *value)
{
    const vec x = *value, minus = -x, zero = splat(0.0f);
    const vec y = LARGER(minus, x), positive = LARGER(zero, x);
    const vec t = splat(1.0f) / (splat(1.0f) + y * splat(0.35f));
    vec q = splat(-0.0295765432871f);
    q = q * t + splat(0.146069032926f);
    q = q * t + splat(-0.260032900067f);
    q = q * t + splat(0.164063494992f);
    q = q * t + splat(-0.0264226950264f);
    q = q * t + splat(0.106876461647f);
    q = q * t + splat(0.119498141384f);
    q = q * t + splat(0.139905974461f);
    q = q * t + splat(0.139619016408f);
    vec tail = y * y * splat(-0.5f);
    exponential(&tail);
    *value = positive - y * (tail * t * q);
}

INLINE void apply(vec *value, int activation)
{
    const vec x = *value, zero = splat(0.0f), leak = x * splat(0.01f);
    vec power;
    switch (activation) {
    case RELU:
        *value = LARGER(zero, x);
        break;
    case LEAKY_RELU:
        *value = LARGER(leak, x);
        break;
    case GELU_TANH:
        power = x * (x * x * splat(-0.0713548163f) + splat(-1.5957691216f));
        exponential(&power);
        *value = x / (splat(1.0f) + power);
        break;
    case GELU_ERF:
        gelu_erf(value);
        break;
    case SILU:
        power = -x;
        exponential(&power);
        *value = x / (splat(1.0f) + power);
        break;
    default:
        break;
    }
}

INLINE void rows_with(int activation, float *c, const float *bias, int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows; i++) {
        float *row = c + i * columns;
        int64_t j = 0;
        for (; j + LANES <= columns; j += LANES) {
            vec value = load(row + j);
            if (bias != NULL) {
                value += load(bias + j);
            }
            apply(&value, activation);
            memcpy(row + j, &value, sizeof value);
        }
        if (j < columns) {
            size_t rest = (size_t)(columns - j) * sizeof(float);
            vec value = {0}, add = {0};
            memcpy(&value, row + j, rest);
            if (bias != NULL) {
                memcpy(&add, bias + j, rest);
            }
            value += add;
            apply(&value, activation);
            memcpy(row + j, &value, rest);
        }
    }
}

/* One loop per activation, so that the choice is not made for each element. */
INLINE void rows_of(int activation, float *c, const float *bias, int64_t rows, int64_t columns)
{
    switch (activation) {
    case RELU:
        rows_with(RELU, c, bias, rows, columns);
        break;
    case LEAKY_RELU:
        rows_with(LEAKY_RELU, c, bias, rows, columns);
        break;
    case GELU_TANH:
        rows_with(GELU_TANH, c, bias, rows, columns);
        break;
    case GELU_ERF:
        rows_with(GELU_ERF, c, bias, rows, columns);
        break;
    case SILU:
        rows_with(SILU, c, bias, rows, columns);
        break;
    default:
        rows_with(NONE, c, bias, rows, columns);
        break;
    }
}

typedef void (*rows_fn)(int activation, float *c, const float *bias, int64_t rows, int64_t columns);

static void rows_plain(int activation, float *c, const float *bias, int64_t rows, int64_t columns)
{
    rows_of(activation, c, bias, rows, columns);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void
rows_avx2(int activation, float *c, const float *bias, int64_t rows, int64_t columns)
{
    rows_of(activation, c, bias, rows, columns);
}

__attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma"))) static void
rows_avx512(int activation, float *c, const float *bias, int64_t rows, int64_t columns)
{
    rows_of(activation, c, bias, rows, columns);
}
#endif

static rows_fn choose(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw")) {
        return rows_avx512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        return rows_avx2;
    }
#endif
    return rows_plain;
}

/* The value of a choice in "bias=add,activation=relu"; length 0 if it is not there. */
static const char *value_of(size_t *length, const char *choices, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = choices; *at != 0;) {
        size_t item = strcspn(at, ",");
        if (item > n && strncmp(at, name, n) == 0 && at[n] == '=') {
            *length = item - n - 1;
            return at + n + 1;
        }
        at += item + (at[item] == ',' ? 1 : 0);
    }
    *length = 0;
    return "";
}

ak_status ak_pass_parse(ak_pass *out, const char *choices, ak_error *err)
{
    size_t length;
    const char *bias = value_of(&length, choices, "bias");
    bool add = length == 3 && strncmp(bias, "add", 3) == 0;
    const char *activation = value_of(&length, choices, "activation");
    for (int i = 0; i < ACTIVATIONS; i++) {
        if (strlen(names[i]) == length && strncmp(names[i], activation, length) == 0) {
            *out = (ak_pass){.bias = add, .activation = i};
            return AK_OK;
        }
    }
    return ak_fail(err, AK_UNAVAILABLE, "no separate pass is known for \"%.*s\"", (int)length,
                   activation);
}

typedef struct pass_call {
    const ak_pass *pass;
    const ak_host_call *call;
    rows_fn rows;
} pass_call;

static void pass_part(void *context, int thread, int n)
{
    const pass_call *p = context;
    int64_t m = p->call->size[0], columns = p->call->size[1];
    int64_t begin = m * thread / n, end = m * (thread + 1) / n;
    float *c = p->call->arg[3];
    p->rows(p->pass->activation, c + begin * columns,
            p->pass->bias ? (const float *)p->call->arg[2] : NULL, end - begin, columns);
}

void ak_pass_run(const ak_pass *pass, const ak_host_call *call)
{
    if (pass->activation == NONE && !pass->bias) {
        return; /* the product is all there is */
    }
    pass_call p = {.pass = pass, .call = call, .rows = choose()};
    int64_t most = call->size[0] * call->size[1] / ELEMENTS_PER_THREAD;
    int threads = most < 1 ? 1 : most < call->threads ? (int)most : call->threads;
    call->parallel(call->pool, threads, pass_part, &p);
}
