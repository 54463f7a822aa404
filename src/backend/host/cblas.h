/* cblas.h: what libraries with the C interface of BLAS share: they multiply matrices by
   cblas_sgemm. Their ak_baseline is defined in cblas.c. */
#ifndef AK_HOST_CBLAS_H
#define AK_HOST_CBLAS_H

#include "backend/host/host_baseline.h"

/* Opens the first of the shared libraries (names, NULL-terminated) that is installed, and finds
   cblas_sgemm in it. `package` is the Debian package to install if there is none. *library is for
   ak_dl_symbol and stays open. */
ak_status ak_cblas_open(ak_baseline **out, void **library, const char *const *names,
                        const char *package, const ak_baseline_setup *setup, ak_error *err);
/* The members `prepare` and `run` of ak_baseline_ops. */
ak_status ak_cblas_prepare(ak_baseline *baseline, const ak_host_call *call, ak_error *err);
void ak_cblas_run(ak_baseline *baseline, const ak_host_call *call);

#endif
