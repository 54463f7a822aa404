/*
 * host_baseline.h: what a vendor library must offer to be compared with, one file each, listed in
 * baselines.def. Libraries are loaded with dlopen, in a runner; declarations are our own, and an
 * absent library is a state, not an error.
 */
#ifndef AK_BACKEND_HOST_BASELINE_H
#define AK_BACKEND_HOST_BASELINE_H

#include "backend/host/ak_host.h"
#include "base/status.h"

typedef struct ak_baseline ak_baseline; /* a loaded one; each file's own structure */

typedef struct ak_baseline_setup {
    const char *variant; /* after the colon of the name: "Haswell"; "" for the library's choice */
    const char *problem; /* "matmul" */
    const char *choices; /* "bias=add,activation=relu" */
    int library_threads; /* 0: as the library decides */
} ak_baseline_setup;

typedef struct ak_baseline_ops {
    const char *name;            /* "openblas" */
    const char *title;           /* "OpenBLAS" */
    const char *package;         /* what to install where it is absent; NULL: always there */
    const char *const *problems; /* that it can compute, NULL-terminated */
    const char *const *variants; /* NULL-terminated, or NULL: there is one only */
    /* It starts its threads once and keeps them, so its caller may be tied to a processor after the
       first run. One that starts threads at every call would have them all tied to that one. */
    bool keeps_threads;
    /* AK_UNAVAILABLE if it is not installed or does not know the variant. `version` gets
       "0.3.21 Cooperlake". */
    ak_status (*open)(ak_baseline **out, char *version, size_t bytes,
                      const ak_baseline_setup *setup, ak_error *err);
    /* (optional) What is to be done once for a shape and is not timed. */
    ak_status (*prepare)(ak_baseline *baseline, const ak_host_call *call, ak_error *err);
    void (*run)(ak_baseline *baseline, const ak_host_call *call);
} ak_baseline_ops;

/* The table: baselines.def, in its order; NULL-terminated. */
extern const ak_baseline_ops *const ak_baseline_table[];

/* Splits "openblas:Haswell"; NULL if no such baseline. *variant is "" without a colon. */
const ak_baseline_ops *ak_baseline_find(const char **variant, const char *name);
bool ak_baseline_applies(const ak_baseline_ops *ops, const char *problem);

/* matmul or matmul_act by a library whose product is BLAS's, C = alpha * A * B + beta * C in place:
 *
 *     ak_product_begin(&product, call);     C becomes C_in, if that is to be added
 *     ... the library's product, with alpha and beta ...
 *     ak_product_end(&product, call);       C = activation(C + bias) + residual, where asked for
 *
 * Both are passes over C, vectorised and threaded, with the formulas of kernels/matmul_act: what a
 * program has to do around such a library. */
typedef struct ak_product {
    bool a_transposed, b_transposed;
    float alpha, beta;
    int c; /* index of the argument C; C_in and the residual follow it */
    bool bias, residual;
    int activation; /* index into the names that problem.json lists */
} ak_product;
/* AK_UNAVAILABLE if the choices name an activation that it does not know. */
ak_status ak_product_parse(ak_product *out, const ak_baseline_setup *setup, ak_error *err);
void ak_product_begin(const ak_product *product, const ak_host_call *call);
void ak_product_end(const ak_product *product, const ak_host_call *call);

#endif
