/*
 * host_pass.c: the pass over C, the result of a matrix product, that follows the product. A program
 * that calls a library for the product needs this pass to add a bias, an activation or a residual.
 * A fair comparison needs a fast pass, so this one uses vectors of the machine's full width and, if
 * C is large enough, all threads, and reads and writes C once. Before the product another pass
 * copies C_in to C if it is to be added.
 *
 * The body is compiled once per instruction set from GNU vectors and chosen at run time.
 */
#include <math.h>
#include <string.h>

#include "backend/host/host.h"
#include "backend/host/host_baseline.h"
#include "base/text.h"

/* Functions that are always inlined have no ABI, so that the warning about passing wide vectors
   does not apply. */
#pragma GCC diagnostic ignored "-Wpsabi"

enum { LANES = 16 };
typedef float vec __attribute__((vector_size(LANES * 4)));
typedef int32_t ivec __attribute__((vector_size(LANES * 4)));

#define INLINE static inline __attribute__((always_inline))

/* Below this many elements per thread, starting threads costs more than they save. */
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

/* These are macros, and the functions below take addresses, because the ABI for passing wide
   vectors by value differs between compilers and options. Each argument is a variable, so
   evaluating it twice costs nothing. The result is b if either is NaN, as with x86's own maximum
   and minimum. */
#define CHOOSE(mask, yes, no) ((vec)(((mask) & (ivec)(yes)) | (~(mask) & (ivec)(no))))
#define LARGER(a, b)          CHOOSE((a) > (b), a, b)
#define SMALLER(a, b)         CHOOSE((a) < (b), a, b)

/* Replaces x by exp(x) = 2^n * exp(r), where n is the nearest integer to x / ln 2 and r is
   x - n ln 2, to within 2 units in the last place. Denormal results become 0; above 88.376,
   where n would be 128, the result is infinite. */
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
    const vec result = (vec)((ivec)(p * power) & ~(x < lowest)), infinite = splat(INFINITY);
    *value = CHOOSE(x > highest, infinite, result);
}

/* Replaces x by x Phi(x), by the tail of the normal distribution: exp(-y^2/2) t Q(t), where
   y = |x|, t = 1/(1 + 0.35 y) and Q is a polynomial. The tail is 0 from y = 14 on, so a larger x
   counts as 14 in it, which keeps infinity as it is; minus infinity gives NaN, as in the reference,
   which multiplies it by 0. */
INLINE void gelu_erf(vec *value)
{
    const vec x = *value, minus = -x, zero = splat(0.0f), no_tail = splat(14.0f);
    const vec bounded = SMALLER(no_tail, x);
    const vec y = LARGER(minus, bounded), positive = LARGER(zero, x);
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

/* The rows of C that a thread finishes; the residual is laid out as C. */
typedef struct rows {
    float *c;
    const float *bias, *residual; /* NULL: not wanted */
    int64_t count, columns, pitch;
} rows;

INLINE void rows_with(int activation, const rows *r)
{
    const int64_t columns = r->columns;
    for (int64_t i = 0; i < r->count; i++) {
        float *row = r->c + i * r->pitch;
        const float *more = r->residual == NULL ? NULL : r->residual + i * r->pitch;
        int64_t j = 0;
        for (; j + LANES <= columns; j += LANES) {
            vec value = load(row + j);
            if (r->bias != NULL) {
                value += load(r->bias + j);
            }
            apply(&value, activation);
            if (more != NULL) {
                value += load(more + j);
            }
            memcpy(row + j, &value, sizeof value);
        }
        if (j < columns) {
            size_t rest = (size_t)(columns - j) * sizeof(float);
            vec value = {0}, add = {0}, last = {0};
            memcpy(&value, row + j, rest);
            if (r->bias != NULL) {
                memcpy(&add, r->bias + j, rest);
            }
            if (more != NULL) {
                memcpy(&last, more + j, rest);
            }
            value += add;
            apply(&value, activation);
            value += last;
            memcpy(row + j, &value, rest);
        }
    }
}

/* Finishes the rows by a loop for this activation, so that it is not chosen for each element. */
INLINE void rows_of(int activation, const rows *r)
{
    switch (activation) {
    case RELU:
        rows_with(RELU, r);
        break;
    case LEAKY_RELU:
        rows_with(LEAKY_RELU, r);
        break;
    case GELU_TANH:
        rows_with(GELU_TANH, r);
        break;
    case GELU_ERF:
        rows_with(GELU_ERF, r);
        break;
    case SILU:
        rows_with(SILU, r);
        break;
    default:
        rows_with(NONE, r);
        break;
    }
}

typedef void (*rows_fn)(int activation, const rows *r);

static void rows_plain(int activation, const rows *r)
{
    rows_of(activation, r);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void rows_avx2(int activation, const rows *r)
{
    rows_of(activation, r);
}

__attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma"))) static void
rows_avx512(int activation, const rows *r)
{
    rows_of(activation, r);
}
#endif

static rows_fn choose(void)
{
#if defined(__x86_64__)
    const int bytes = ak_host_vector_bytes();
    if (bytes > 16) {
        return bytes == 64 ? rows_avx512 : rows_avx2;
    }
#endif
    return rows_plain;
}

/* Returns the value of an option in "bias=add,activation=relu"; "" with *length 0 if it is not
   there. */
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

static bool chosen(const char *choices, const char *name, const char *value)
{
    size_t length;
    const char *found = value_of(&length, choices, name);
    return length == strlen(value) && strncmp(found, value, length) == 0;
}

static float number(const char *choices, const char *name, double fallback)
{
    char text[64];
    size_t length;
    const char *found = value_of(&length, choices, name);
    double value = fallback;
    (void)snprintf(text, sizeof text, "%.*s", (int)length, found);
    (void)ak_text_real(&value, text);
    return (float)value;
}

ak_status ak_product_parse(ak_product *out, const ak_baseline_setup *setup, ak_error *err)
{
    const char *choices = setup->choices;
    size_t length;
    const char *activation = value_of(&length, choices, "activation");
    *out = (ak_product){
        .a_transposed = chosen(choices, "layout", "tn") || chosen(choices, "layout", "tt"),
        .b_transposed = chosen(choices, "layout", "nt") || chosen(choices, "layout", "tt"),
        .alpha = number(choices, "alpha", 1.0),
        .beta = number(choices, "beta", 0.0),
        .c = strcmp(setup->problem, "matmul_act") == 0 ? 3 : 2,
        .bias = chosen(choices, "bias", "add"),
        .residual = chosen(choices, "residual", "add")};
    for (int i = 0; i < ACTIVATIONS; i++) {
        if (length == 0 || chosen(choices, "activation", names[i])) {
            out->activation = length == 0 ? NONE : i;
            return AK_OK;
        }
    }
    return ak_fail(err, AK_UNAVAILABLE,
                   "a library's product is compared with a pass for the activation behind it, and "
                   "there is none for \"%.*s\"",
                   (int)length, activation);
}

typedef struct pass_call {
    const ak_product *product;
    const ak_host_call *call;
    rows_fn rows;
} pass_call;

static void copy_part(void *context, int thread, int n)
{
    const pass_call *p = context;
    const ak_host_call *call = p->call;
    int64_t m = call->size[0], pitch = call->pitch[p->product->c];
    float *c = call->arg[p->product->c];
    const float *c_in = call->arg[p->product->c + 1];
    for (int64_t i = m * thread / n; i < m * (thread + 1) / n; i++) {
        memcpy(c + i * pitch, c_in + i * pitch, (size_t)call->size[1] * sizeof *c);
    }
}

static void pass_part(void *context, int thread, int n)
{
    const pass_call *p = context;
    const ak_host_call *call = p->call;
    const int c = p->product->c;
    int64_t m = call->size[0], pitch = call->pitch[c];
    int64_t begin = m * thread / n, end = m * (thread + 1) / n;
    rows r = {.c = (float *)call->arg[c] + begin * pitch,
              .count = end - begin,
              .columns = call->size[1],
              .pitch = pitch};
    if (p->product->bias) {
        r.bias = call->arg[2];
    }
    if (p->product->residual) {
        r.residual = (const float *)call->arg[c + 2] + begin * pitch;
    }
    p->rows(p->product->activation, &r);
}

static void run_pass(void (*part)(void *context, int thread, int n), const ak_product *product,
                     const ak_host_call *call)
{
    pass_call p = {.product = product, .call = call, .rows = choose()};
    int64_t most = call->size[0] * call->size[1] / ELEMENTS_PER_THREAD;
    int threads = most < 1 ? 1 : most < call->threads ? (int)most : call->threads;
    call->parallel(call->pool, threads, part, &p);
}

void ak_product_begin(const ak_product *product, const ak_host_call *call)
{
    if (product->beta != 0) {
        run_pass(copy_part, product, call);
    }
}

void ak_product_end(const ak_product *product, const ak_host_call *call)
{
    if (product->activation != NONE || product->bias || product->residual) {
        run_pass(pass_part, product, call);
    }
}
