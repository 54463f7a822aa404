/*
 * host_baseline.h: what a baseline must offer to be compared with. Each library, and the copy, has
 * a line in baselines.def. Libraries are loaded with dlopen, in a runner. Their headers are not
 * used: the files here declare what they call. An absent library is not an error.
 */
#ifndef AK_BACKEND_HOST_BASELINE_H
#define AK_BACKEND_HOST_BASELINE_H

#include "backend/host/ak_host.h"
#include "problem/problem.h"

struct ak_runner_page;
typedef struct ak_baseline ak_baseline; /* a loaded library; each file of libraries defines the
                                           struct */

typedef struct ak_baseline_setup {
    const char *variant; /* what follows the colon in the name; "": the library chooses */
    const char *problem; /* "matmul" */
    const char *choices; /* "bias=add,activation=relu" */
    ak_dtype dtype;
    int library_threads; /* 0: the library decides */
    /* Only the problem's own baselines (own.c) read these two. */
    const struct ak_runner_page *page;
    int block_fd;
} ak_baseline_setup;

typedef struct ak_baseline_ops {
    const char *name;            /* "openblas" */
    const char *title;           /* "OpenBLAS" */
    const char *const *problems; /* problems that it can compute in f32, NULL-terminated */
    const char *const *bf16;     /* those that it can compute in bf16 too; NULL: none */
    const char *const *variants; /* NULL-terminated; NULL: only one */
    /* The library starts its threads once and keeps them, so its caller may be pinned to a
       processor after the first run. If it started threads at every call, they would all inherit
       that processor. */
    bool keeps_threads;
    size_t bytes; /* of its ak_baseline, which holds zeros before `open` */
    /* Opens the library. Fails if it cannot be loaded, with AK_UNAVAILABLE if it is not installed
       or cannot compute the problem. `version` gets a text such as "0.3.21 Cooperlake"; if the
       library does not know the variant, this text shows what it chose instead. */
    ak_status (*open)(ak_baseline *baseline, char *version, size_t bytes,
                      const ak_baseline_setup *setup, ak_error *err);
    /* (optional) Prepares for the shape and the arguments of a call. It is called before each batch
       and not timed. */
    ak_status (*prepare)(ak_baseline *baseline, const ak_host_call *call, ak_error *err);
    void (*run)(ak_baseline *baseline, const ak_host_call *call);
} ak_baseline_ops;

/* The table: baselines.def, in its order; NULL-terminated. */
extern const ak_baseline_ops *const ak_baseline_table[];

/* The baselines that a problem brings (own.c), machine code and Python. The table lacks them. */
extern const ak_baseline_ops ak_baseline_own, ak_baseline_own_python;
/* Confines this process, which must have a single thread, before it loads machine code that a
   problem brings. */
void ak_own_confine(const struct ak_runner_page *page);

/* Finds "openblas:Haswell" by what precedes the colon; NULL if there is no such baseline. *variant
   is what follows the colon, or "". */
const ak_baseline_ops *ak_baseline_find(const char **variant, const char *name);
/* Returns the title of the library that a reader would take a baseline of this name for, or NULL.
   Compares letters and digits only, without case: the name begins with the name or the title of a
   library in the table, or with cuBLAS or cuDNN. A title of several words ("copy of the same size")
   is no product's; such a baseline must be named exactly. */
const char *ak_baseline_resembled(const char *name);
bool ak_baseline_applies(const ak_baseline_ops *ops, const char *problem, ak_dtype dtype);

/* matmul or matmul_act by a library whose product is that of BLAS, C = alpha * A * B + beta * C in
   place:

       ak_product_begin(&product, call);     copies C_in to C if it is to be added
       ... the library's product, with alpha and beta ...
       ak_product_end(&product, call);       C = activation(C + bias) + residual, if asked for

   These two functions are passes over C, vectorised and threaded, with the formulas of
   kernels/matmul_act. A program that uses such a library needs the same passes. */
typedef struct ak_product {
    bool a_transposed, b_transposed;
    float alpha, beta;
    int c; /* index of the argument C; C_in and the residual follow it */
    bool bias, residual;
    int activation; /* index into the names in problem.json */
} ak_product;
/* Reads the problem's options. Returns AK_UNAVAILABLE if they name an activation that is not known
   here. The passes work on f32; a library that computes in another dtype cannot use them. */
ak_status ak_product_parse(ak_product *out, const ak_baseline_setup *setup, ak_error *err);
void ak_product_begin(const ak_product *product, const ak_host_call *call);
void ak_product_end(const ak_product *product, const ak_host_call *call);

#endif
