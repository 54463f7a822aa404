/*
 * host_elf_calls.c: the functions of libraries that a kernel may call: those of C's <math.h>,
 * <complex.h>, <fenv.h>, <string.h> and <stdlib.h> that compute, handle bytes or give memory; the
 * vector functions that compilers call; and the functions of OpenMP that the runner has.
 *
 * Functions are missing if they keep something from one call to the next (rand, strtok, the locale,
 * the environment), do input and output, or concern the process, except abort and exit. Before each
 * call the harness clears errno and what functions of <fenv.h> leave in the processor
 * (host_forget.c), and the sign that lgamma leaves in signgam (host_runner.c).
 */
#include <string.h>

#include "backend/host/host_elf_parts.h"
#include "backend/host/host_openmp.h"
#include "base/text.h"

/* Functions for memory, bytes, texts, sorting and integers. */
static const char *const plain[] = {
    "abort", "abs", "aligned_alloc", "atof", "atoi", "atol", "atoll", "bcmp", "bcopy", "bsearch",
    "bzero", "calloc", "div", "exit", "explicit_bzero", "ffs", "ffsl", "ffsll", "free", "imaxabs",
    "imaxdiv", "labs", "ldiv", "llabs", "lldiv", "malloc", "memalign", "memccpy", "memchr",
    "memcmp", "memcpy", "memmem", "memmove", "mempcpy", "memrchr", "memset", "memset_explicit",
    "posix_memalign", "qsort", "qsort_r", "rand_r", "rawmemchr", "realloc", "reallocarray",
    "snprintf", "stpcpy", "stpncpy", "strcat", "strchr", "strchrnul", "strcmp", "strcpy", "strcspn",
    "strdup", "strlen", "strncat", "strncmp", "strncpy", "strndup", "strnlen", "strpbrk", "strrchr",
    "strsep", "strspn", "strstr", "strtod", "strtof", "strtok_r", "strtol", "strtold", "strtoll",
    "strtoul", "strtoull", "swab",
    /* names that compilers and headers give these functions and assert() */
    "__assert_fail", "__explicit_bzero_chk", "__memcpy_chk", "__memmove_chk", "__mempcpy_chk",
    "__memset_chk", "__snprintf_chk", "__stack_chk_fail", "__stpcpy_chk", "__stpncpy_chk",
    "__strcat_chk", "__strcpy_chk", "__strncat_chk", "__strncpy_chk", "__strtok_r",
    "__isoc23_strtol", "__isoc23_strtoll", "__isoc23_strtoul", "__isoc23_strtoull"};

/* Mathematical functions, by their names for double; is_mathematics knows the names for other
   types. */
static const char *const mathematics[] = {
    /* <math.h> */
    "acos", "acosh", "acospi", "asin", "asinh", "asinpi", "atan", "atan2", "atan2pi", "atanh",
    "atanpi", "canonicalize", "cbrt", "ceil", "compoundn", "copysign", "cos", "cosh", "cospi",
    "drem", "erf", "erfc", "exp", "exp10", "exp10m1", "exp2", "exp2m1", "expm1", "fabs", "fdim",
    "finite", "floor", "fma", "fmax", "fmaximum", "fmaximum_mag", "fmaximum_mag_num",
    "fmaximum_num", "fmaxmag", "fmin", "fminimum", "fminimum_mag", "fminimum_mag_num",
    "fminimum_num", "fminmag", "fmod", "frexp", "fromfp", "fromfpx", "gamma", "getpayload", "hypot",
    "ilogb", "isinf", "isnan", "j0", "j1", "jn", "ldexp", "lgamma", "llogb", "llrint", "llround",
    "log", "log10", "log10p1", "log1p", "log2", "log2p1", "logb", "logp1", "lrint", "lround",
    "modf", "nan", "nearbyint", "nextafter", "nextdown", "nexttoward", "nextup", "pow", "pow10",
    "pown", "powr", "remainder", "remquo", "rint", "rootn", "round", "roundeven", "rsqrt", "scalb",
    "scalbln", "scalbn", "setpayload", "setpayloadsig", "significand", "sin", "sincos", "sinh",
    "sinpi", "sqrt", "tan", "tanh", "tanpi", "tgamma", "totalorder", "totalordermag", "trunc",
    "ufromfp", "ufromfpx", "y0", "y1", "yn",
    /* what the macros of <math.h> call */
    "__finite", "__fpclassify", "__iscanonical", "__iseqsig", "__isinf", "__isnan", "__issignaling",
    "__signbit",
    /* <complex.h> */
    "cabs", "cacos", "cacosh", "carg", "casin", "casinh", "catan", "catanh", "ccos", "ccosh",
    "cexp", "cimag", "clog", "clog10", "conj", "cpow", "cproj", "creal", "csin", "csinh", "csqrt",
    "ctan", "ctanh"};

/* Functions for the rounding mode and the flags of exceptions. */
static const char *const environment[] = {
    "feclearexcept",   "fedisableexcept",  "feenableexcept",  "fegetenv",     "fegetexcept",
    "fegetexceptflag", "fegetmode",        "fegetround",      "feholdexcept", "feraiseexcept",
    "fesetenv",        "fesetexcept",      "fesetexceptflag", "fesetmode",    "fesetround",
    "fetestexcept",    "fetestexceptflag", "feupdateenv"};

/* Suffixes of the types of numbers: double (none), float, long double, _FloatN and _FloatNx. */
static const char *const types[] = {"",    "f",    "l",    "f16",  "f32",
                                    "f64", "f128", "f32x", "f64x", "f128x"};

/* Prefixes, and then names, of functions with a narrower result, such as faddl and f32addf64. */
static const char *const narrow[] = {"f", "d", "f32", "f32x", "f64", "f64x"};
static const char *const operations[] = {"add", "sub", "mul", "div", "sqrt", "fma"};

/* Prefixes of the functions of vectors that compilers call: glibc's (libmvec) and Intel's. */
static const char *const vectors[] = {"_ZGV", "__svml_", "__intel_", "_intel_fast_", NULL};

static bool one_of(const char *const *list, size_t count, const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(list[i]) == length && strncmp(list[i], name, length) == 0) {
            return true;
        }
    }
    return false;
}

#define NAME_LONGER ((size_t)-1)
/* Returns the length of a name without the suffix `end`; NAME_LONGER if it does not end so. */
static size_t without(const char *name, size_t length, const char *end)
{
    const size_t n = strlen(end);
    return length > n && strncmp(name + length - n, end, n) == 0 ? length - n : NAME_LONGER;
}

static bool is_narrowing(const char *name, size_t length)
{
    for (size_t i = 0; i < AK_COUNT(narrow); i++) {
        const size_t n = strlen(narrow[i]);
        if (length > n && strncmp(name, narrow[i], n) == 0 &&
            one_of(operations, AK_COUNT(operations), name + n, length - n)) {
            return true;
        }
    }
    return false;
}

/* Returns whether a function is mathematical: its name is the name of the function for double,
   followed by the suffix of its type. With -ffinite-math-only older versions of glibc have
   __NAME_finite; the versions of lgamma that do not write signgam end in _r. */
static bool is_mathematics(const char *name, size_t length)
{
    const size_t shorter = without(name, length, "_finite");
    if (shorter != NAME_LONGER && shorter > 2 && strncmp(name, "__", 2) == 0) {
        name += 2;
        length = shorter - 2;
    }
    const size_t bare = without(name, length, "_r");
    for (size_t i = 0; i < AK_COUNT(types); i++) {
        const size_t n = without(name, length, types[i]);
        const size_t r = bare == NAME_LONGER ? NAME_LONGER : without(name, bare, types[i]);
        if ((n != NAME_LONGER &&
             (one_of(mathematics, AK_COUNT(mathematics), name, n) || is_narrowing(name, n))) ||
            (r != NAME_LONGER && (one_of((const char *const[]){"lgamma", "gamma"}, 2, name, r)))) {
            return true;
        }
    }
    return false;
}

bool ak_host_elf_callable(const char *name)
{
    const size_t length = strlen(name);
    return ak_text_begins(name, vectors) || one_of(plain, AK_COUNT(plain), name, length) ||
           is_mathematics(name, length) ||
           one_of(environment, AK_COUNT(environment), name, length) || ak_openmp_has(name) ||
           strcmp(name, "_GLOBAL_OFFSET_TABLE_") == 0;
}
