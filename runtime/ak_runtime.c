/*
 * ak_runtime.c: see ak_runtime.h. The runtime is one file, and so longer than others, so that it
 * can be copied into another program's tree. In this order: errors; SHA-256; the files of a bundle,
 * which is an uncompressed tar file; JSON; whole-number programs, which a bundle has in place of
 * formulas; reading bundle.json; the CUDA driver; this machine; loading code; launches on a GPU;
 * queries; threads; runs.
 *
 * Nothing that comes from a file is trusted: every length, index and number is checked once, when
 * the bundle is opened, so the code that uses them later need not check again.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "ak_runtime.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define FILE_BYTES_MAX ((size_t)1 << 30)
#define ENTRIES_MAX    1024
#define VARIANTS_MAX   256
#define MEASURED_MAX   4096
#define OPTIONS_MAX    16
#define DEPTH_MAX      16 /* levels of nested JSON */
#define NODES_MAX      (1 << 20)
#define MEMBERS_MAX    512 /* of a JSON object */
#define TOKENS_MAX     512 /* tokens of a program */
#define STACK_MAX      32
#define THREADS_MAX    1024
#define SIZE_LARGEST   ((int64_t)1 << 53)
#define KERNELS_MAX    4 /* kernels that one run on a GPU launches */
#define LETS_MAX       64
#define MAPS_MAX       8
#define PASSES_MAX     32
#define MAP_RANK_MAX   5
#define NAMES_MAX      (AKR_SIZES_MAX + 1 + LETS_MAX)
#define PATH_BYTES     4096
#define HEADERS_MAX    4096 /* bytes of the ELF headers of a library, which lie in its first page */

#define BUNDLE_JSON "bundle.json"
#define BUNDLE_SUM  "bundle.sha256"

/* ---- errors ---------------------------------------------------------------------------------- */

const char *akr_status_text(akr_status status)
{
    switch (status) {
#define STATUS_TEXT(name, text)                                                                    \
    case AKR_##name:                                                                               \
        return text;
        AKR_STATUS_MAP(STATUS_TEXT)
#undef STATUS_TEXT
    }
    return "unknown";
}

static akr_status fail(akr_error *err, akr_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static akr_status fail(akr_error *err, akr_status status, const char *format, ...)
{
    va_list args;
    char *c;
    if (err != NULL) {
        err->status = status;
        va_start(args, format);
        (void)vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
        for (c = err->text; *c != 0; c++) { /* a terminal would obey what a bundle says */
            *c = (unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c;
        }
    }
    return status;
}

/* Returns the status of a call at once if it fails; for functions that own nothing to free. */
#define DO(call)                                                                                   \
    do {                                                                                           \
        const akr_status status_of_call = (call);                                                  \
        if (status_of_call != AKR_OK) {                                                            \
            return status_of_call;                                                                 \
        }                                                                                          \
    } while (0)

static akr_status fail_memory(akr_error *err)
{
    return fail(err, AKR_NO_MEMORY, "out of memory");
}

enum { FLOAT, SIGNED, UNSIGNED };
static const struct {
    const char *text, *numpy;
    int kind, bytes, passed, dlpack, cuda; /* passed: it may be an argument by value */
} dtypes[] = {
#define DTYPE_ROW(name, text, kind, bytes, epsilon, type, numpy, scalar, dlpack, cuda)             \
    {text, numpy, kind, bytes, sizeof(scalar) > 1, dlpack, cuda},
    AKR_DTYPE_MAP(DTYPE_ROW)
#undef DTYPE_ROW
};
enum { DTYPES = sizeof dtypes / sizeof dtypes[0] };

static int is_dtype(akr_dtype dtype)
{
    return (int)dtype >= 0 && (int)dtype < DTYPES;
}

size_t akr_dtype_bytes(akr_dtype dtype)
{
    return is_dtype(dtype) ? (size_t)dtypes[dtype].bytes : 0;
}

static const char *const access_names[] = {"in", "out", "inout"};

const char *akr_dtype_text(akr_dtype dtype)
{
    return is_dtype(dtype) ? dtypes[dtype].text : NULL;
}

const char *akr_dtype_numpy(akr_dtype dtype)
{
    return is_dtype(dtype) ? dtypes[dtype].numpy : NULL;
}

/* Returns the dtype with this name; -1 if there is none. */
static int dtype_named(const char *text)
{
    int i = 0;
    while (i < DTYPES && (text == NULL || strcmp(dtypes[i].text, text) != 0)) {
        i++;
    }
    return i < DTYPES ? i : -1;
}

/* ---- SHA-256 (FIPS 180-4) -------------------------------------------------------------------- */

static const uint32_t sha_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void sha_block(uint32_t h[8], const unsigned char *p)
{
    uint32_t w[64], s[8];
    int i;
    for (i = 0; i < 16; i++) {
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 |
               (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
    }
    for (; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    memcpy(s, h, sizeof s);
    for (i = 0; i < 64; i++) {
        uint32_t e = s[4], a = s[0];
        uint32_t one = s[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                       ((e & s[5]) ^ (~e & s[6])) + sha_k[i] + w[i];
        uint32_t two = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
                       ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += one;
        s[0] = one + two;
    }
    for (i = 0; i < 8; i++) {
        h[i] += s[i];
    }
}

void akr_sha256(char out[65], const void *data, size_t length)
{
    uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const unsigned char *p = (const unsigned char *)data;
    unsigned char tail[128] = {0};
    size_t i, whole = length / 64 * 64, rest = length - whole, end = rest < 56 ? 64 : 128;
    uint64_t bits = (uint64_t)length * 8;
    for (i = 0; i < whole; i += 64) {
        sha_block(h, p + i);
    }
    if (rest > 0) {
        memcpy(tail, p + whole, rest);
    }
    tail[rest] = 0x80;
    for (i = 0; i < 8; i++) {
        tail[end - 1 - i] = (unsigned char)(bits >> 8 * i);
    }
    for (i = 0; i < end; i += 64) {
        sha_block(h, tail + i);
    }
    for (i = 0; i < 8; i++) {
        (void)snprintf(out + 8 * i, 9, "%08x", (unsigned)h[i]);
    }
}

/* ---- the files of a bundle ------------------------------------------------------------------- */

typedef struct entry {
    char name[PATH_BYTES / 16];
    const unsigned char *data;
    size_t length;
} entry;

/* The files of a bundle. They lie in a tar file in memory, or in a folder; a file of a folder is
   read when it is asked for. */
typedef struct files {
    entry *list;
    int count, capacity;
    const char *folder; /* NULL: a tar file */
    void *owned[ENTRIES_MAX];
    int owned_count;
} files;

static void files_free(files *f)
{
    int i;
    for (i = 0; i < f->owned_count; i++) {
        free(f->owned[i]);
    }
    free(f->list);
    memset(f, 0, sizeof *f);
}

static akr_status add_file(files *f, const char *name, const unsigned char *data, size_t length,
                           akr_error *err)
{
    entry *grown;
    if (f->count == ENTRIES_MAX) {
        return fail(err, AKR_FOREIGN, "it holds more than %d files", ENTRIES_MAX);
    }
    if (strlen(name) >= sizeof grown->name) {
        return fail(err, AKR_FOREIGN, "the name \"%.40s...\" is too long", name);
    }
    if (f->count == f->capacity) {
        int capacity = f->capacity == 0 ? 16 : 2 * f->capacity;
        grown = (entry *)realloc(f->list, (size_t)capacity * sizeof *grown);
        if (grown == NULL) {
            return fail_memory(err);
        }
        f->list = grown;
        f->capacity = capacity;
    }
    (void)snprintf(f->list[f->count].name, sizeof grown->name, "%s", name);
    f->list[f->count].data = data;
    f->list[f->count].length = length;
    f->count++;
    return AKR_OK;
}

static const entry *known_file(const files *f, const char *name)
{
    int i;
    for (i = 0; i < f->count; i++) {
        if (strcmp(f->list[i].name, name) == 0) {
            return &f->list[i];
        }
    }
    return NULL;
}

static akr_status read_all(unsigned char **out, size_t *length, const char *path, akr_error *err)
{
    struct stat about;
    unsigned char *data = NULL;
    size_t done = 0;
    akr_status status = AKR_OK;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO is refused, not waited for */
    if (fd < 0 || fstat(fd, &about) != 0) {
        status = fail(err, errno == ENOENT || errno == ENOTDIR ? AKR_NOT_FOUND : AKR_SYSTEM,
                      "%.120s: cannot be opened: %s", path, strerror(errno));
    } else if (!S_ISREG(about.st_mode) || (uint64_t)about.st_size > FILE_BYTES_MAX) {
        status = fail(err, AKR_FOREIGN, "%.120s: is not a file, or is larger than 1 GiB", path);
    } else if ((data = (unsigned char *)malloc((size_t)about.st_size + 1)) == NULL) {
        status = fail_memory(err);
    }
    while (status == AKR_OK && done < (size_t)about.st_size) {
        ssize_t got = read(fd, data + done, (size_t)about.st_size - done);
        if (got <= 0 && !(got < 0 && errno == EINTR)) {
            status = fail(err, AKR_SYSTEM, "%.120s: cannot be read: %s", path,
                          got == 0 ? "it became shorter" : strerror(errno));
        }
        done += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    if (status != AKR_OK) {
        free(data);
        return status;
    }
    data[done] = 0;
    *out = data;
    *length = done;
    return AKR_OK;
}

/* Returns 1 if the name is a path that stays below the folder of the bundle. */
static int is_plain_name(const char *name)
{
    const char *p = name;
    if (*name == 0 || *name == '/') {
        return 0;
    }
    while (*p != 0) {
        size_t n = strcspn(p, "/");
        if (n == 0 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.')) {
            return 0;
        }
        p += n;
        p += *p == '/' && p[1] != 0;
    }
    return 1;
}

/* Finds a file by its name. If the bundle is a folder, the file is read now. */
static akr_status find_file(const entry **out, files *f, const char *name, akr_error *err)
{
    char path[PATH_BYTES];
    unsigned char *data;
    size_t length;
    akr_status status;
    *out = known_file(f, name);
    if (*out != NULL) {
        return AKR_OK;
    }
    if (f->folder == NULL || !is_plain_name(name)) {
        return fail(err, AKR_DAMAGED, "the file \"%.100s\" is missing in it", name);
    }
    if (snprintf(path, sizeof path, "%s/%s", f->folder, name) >= (int)sizeof path ||
        f->owned_count == ENTRIES_MAX) {
        return fail(err, AKR_FOREIGN, "%.100s: the path is too long", name);
    }
    DO(read_all(&data, &length, path, err));
    f->owned[f->owned_count++] = data;
    status = add_file(f, name, data, length, err);
    *out = status == AKR_OK ? &f->list[f->count - 1] : NULL;
    return status;
}

/* Reads a number in octal digits, as tar has them. */
static int read_octal(uint64_t *out, const unsigned char *text, size_t bytes)
{
    size_t i = 0;
    uint64_t value = 0;
    while (i < bytes && text[i] >= '0' && text[i] <= '7') {
        value = value * 8 + (uint64_t)(text[i++] - '0');
    }
    *out = value;
    return i > 0 && i < 13 && (i == bytes || text[i] == 0 || text[i] == ' ');
}

static int is_zero(const unsigned char *p, size_t length)
{
    size_t i;
    for (i = 0; i < length; i++) {
        if (p[i] != 0) {
            return 0;
        }
    }
    return 1;
}

/* Returns the checksum of a tar header, with the field of the checksum itself counted as blanks. */
static uint64_t tar_sum(const unsigned char *head)
{
    uint64_t sum = 0;
    int i;
    for (i = 0; i < 512; i++) {
        sum += i >= 148 && i < 156 ? ' ' : head[i];
    }
    return sum;
}

static akr_status read_tar(files *f, const unsigned char *bytes, size_t length, akr_error *err)
{
    size_t at = 0;
    if (length < 512 || memcmp(bytes + 257, "ustar", 6) != 0) {
        return fail(err, AKR_FOREIGN,
                    length >= 512 && memcmp(bytes + 257, "ustar", 5) == 0
                        ? "it is a tar file of another kind than bundles are: pack the files of a "
                          "folder with tar --format=ustar, without folders and ./"
                        : "it is not a bundle: `autokernel export KERNEL --format bundle` writes "
                          "one");
    }
    while (at + 512 <= length && !is_zero(bytes + at, 512)) {
        const unsigned char *head = bytes + at;
        char name[101];
        uint64_t size, sum;
        size_t fill;
        memcpy(name, head, 100);
        name[100] = 0;
        if (memcmp(head + 257, "ustar", 6) != 0 || !read_octal(&size, head + 124, 12) ||
            !read_octal(&sum, head + 148, 7) || head[155] != ' ' || sum != tar_sum(head)) {
            return fail(err, AKR_DAMAGED, "it is damaged at byte %zu", at);
        }
        if ((head[156] != '0' && head[156] != 0) || head[345] != 0 || !is_plain_name(name) ||
            known_file(f, name) != NULL) {
            return fail(err, AKR_FOREIGN, "it holds \"%.60s\", so it is not a bundle", name);
        }
        at += 512;
        if (size > length - at) {
            return fail(err, AKR_DAMAGED, "it ends in the middle of %.60s: it was cut off", name);
        }
        DO(add_file(f, name, bytes + at, (size_t)size, err));
        at += (size_t)size;
        fill = (512 - (size_t)size % 512) % 512;
        if (fill > length - at || !is_zero(bytes + at, fill)) {
            return fail(err, AKR_DAMAGED, "it is damaged at byte %zu", at);
        }
        at += fill;
    }
    if (length - at < 1024 || !is_zero(bytes + at, length - at)) {
        return fail(err, AKR_DAMAGED, "its end is missing: it was cut off");
    }
    return AKR_OK;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

typedef struct node {
    char type;       /* { [ " i (whole number) r (another number) t f n */
    int child, next; /* indices of nodes; 0: none, because node 0 is the whole document */
    const char *key, *text;
    int64_t number;
} node;

typedef struct json {
    char *text; /* texts are unescaped in place */
    size_t length, at;
    node *nodes;
    int count, capacity;
} json;

static void json_free(json *j)
{
    free(j->text);
    free(j->nodes);
    memset(j, 0, sizeof *j);
}

static void skip_blanks(json *j)
{
    while (j->at < j->length && strchr(" \t\r\n", j->text[j->at]) != NULL && j->text[j->at] != 0) {
        j->at++;
    }
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static int read_hex4(uint32_t *out, const json *j, size_t at)
{
    size_t i;
    *out = 0;
    for (i = 0; i < 4; i++) {
        int digit = at + i < j->length ? hex_digit(j->text[at + i]) : -1;
        if (digit < 0) {
            return 0;
        }
        *out = *out * 16 + (uint32_t)digit;
    }
    return 1;
}

/* Returns where the first bytes lie that are not UTF-8 (RFC 3629); `length` if all are. */
static size_t end_of_utf8(const unsigned char *text, size_t length)
{
    size_t at = 0, i, n;
    while (at < length) {
        const unsigned char c = text[at], second = at + 1 < length ? text[at + 1] : 0;
        n = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : 4;
        if (c >= 0x80 &&
            (c < 0xc2 || c > 0xf4 || (c == 0xe0 && second < 0xa0) || (c == 0xed && second > 0x9f) ||
             (c == 0xf0 && second < 0x90) || (c == 0xf4 && second > 0x8f))) {
            return at; /* overlong, half of a pair, or beyond U+10FFFF */
        }
        for (i = 1; i < n; i++) {
            if (at + i >= length || (text[at + i] & 0xc0) != 0x80) {
                return at;
            }
        }
        at += n;
    }
    return length;
}

static size_t put_utf8(char *to, uint32_t code)
{
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xc0 | code >> 6);
        to[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (char)(0xe0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 0x3f));
        to[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | code >> 18);
    to[1] = (char)(0x80 | (code >> 12 & 0x3f));
    to[2] = (char)(0x80 | (code >> 6 & 0x3f));
    to[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* Reads what follows a backslash and writes the character at *to. The result is never longer than
   the escape, so a text can be unescaped in place. Returns 0 if the escape is not valid. */
static int read_escape(json *j, char **to)
{
    static const char from[] = "\"\\/bfnrt", plain[] = "\"\\/\b\f\n\r\t";
    char c = j->at < j->length ? j->text[j->at++] : 0;
    const char *known = c == 0 ? NULL : strchr(from, c);
    uint32_t code, low;
    if (known != NULL) {
        *(*to)++ = plain[known - from];
        return 1;
    }
    if (c != 'u' || !read_hex4(&code, j, j->at) || code == 0) {
        return 0;
    }
    j->at += 4;
    if (code >= 0xdc00 && code < 0xe000) {
        return 0; /* the second half of a pair without the first */
    }
    if (code >= 0xd800 && code < 0xdc00) {
        if (j->at + 6 > j->length || memcmp(j->text + j->at, "\\u", 2) != 0 ||
            !read_hex4(&low, j, j->at + 2) || low < 0xdc00 || low > 0xdfff) {
            return 0;
        }
        j->at += 6;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    *to += put_utf8(*to, code);
    return 1;
}

/* Reads a text that begins with the quote at `j->at`. NULL: there is no valid text. */
static const char *read_text(json *j)
{
    char *begin, *to;
    if (j->at >= j->length || j->text[j->at] != '"') {
        return NULL;
    }
    begin = to = j->text + ++j->at;
    while (j->at < j->length && j->text[j->at] != '"') {
        char c = j->text[j->at++];
        if ((unsigned char)c < 0x20) {
            return NULL;
        }
        if (c != '\\') {
            *to++ = c;
        } else if (!read_escape(j, &to)) {
            return NULL;
        }
    }
    if (j->at == j->length) {
        return NULL;
    }
    j->at++;
    *to = 0; /* this overwrites the closing quote or, after an escape, a character before it */
    return begin;
}

static int read_number(json *j, node *n)
{
    size_t begin = j->at;
    int negative = j->text[j->at] == '-', whole = 1;
    uint64_t value = 0;
    j->at += (size_t)negative;
    for (; j->at < j->length && strchr("0123456789.eE+-", j->text[j->at]) != NULL &&
           j->text[j->at] != 0;
         j->at++) {
        char c = j->text[j->at];
        if (c < '0' || c > '9') {
            whole = 0;
        } else if (whole) {
            if (value > (uint64_t)INT64_MAX / 10 - 1) {
                whole = 0; /* bundles have no whole number that is this large */
            }
            value = value * 10 + (uint64_t)(c - '0');
        }
    }
    n->type = whole ? 'i' : 'r';
    n->number = whole ? (negative ? -(int64_t)value : (int64_t)value) : 0;
    return j->at > begin + (size_t)negative;
}

static int new_node(json *j)
{
    if (j->count == j->capacity) {
        int capacity = j->capacity == 0 ? 256 : 2 * j->capacity;
        node *grown = capacity > NODES_MAX
                          ? NULL
                          : (node *)realloc(j->nodes, (size_t)capacity * sizeof *grown);
        if (grown == NULL) {
            return -1;
        }
        j->nodes = grown;
        j->capacity = capacity;
    }
    memset(&j->nodes[j->count], 0, sizeof *j->nodes);
    return j->count++;
}

static int read_word(json *j, const char *word)
{
    size_t n = strlen(word);
    if (j->length - j->at < n || memcmp(j->text + j->at, word, n) != 0) {
        return 0;
    }
    j->at += n;
    return 1;
}

static int read_value(json *j, int depth);

/* Returns 1 if an object has this key already, or has MEMBERS_MAX members. Readers disagree on
   which of two equal keys counts. */
static int is_taken(const json *j, int object, const char *key)
{
    int i = j->nodes[object].child, count = 0;
    for (; i != 0; i = j->nodes[i].next) {
        if (++count == MEMBERS_MAX || strcmp(j->nodes[i].key, key) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Reads the members of node `at`, an object or array, from after its { or [ to its end. Returns 0
   if they are not valid. */
static int read_members(json *j, int at, int depth)
{
    char end = j->nodes[at].type == '{' ? '}' : ']';
    int last = 0;
    skip_blanks(j);
    if (j->at < j->length && j->text[j->at] == end) {
        j->at++;
        return 1;
    }
    for (;;) {
        const char *key = NULL;
        int member;
        skip_blanks(j);
        if (end == '}') {
            key = read_text(j);
            skip_blanks(j);
            if (key == NULL || is_taken(j, at, key) || j->at >= j->length ||
                j->text[j->at++] != ':') {
                return 0;
            }
        }
        member = read_value(j, depth + 1);
        if (member < 0) {
            return 0;
        }
        j->nodes[member].key = key;
        if (last == 0) {
            j->nodes[at].child = member;
        } else {
            j->nodes[last].next = member;
        }
        last = member;
        skip_blanks(j);
        if (j->at >= j->length || (j->text[j->at] != ',' && j->text[j->at] != end)) {
            return 0;
        }
        if (j->text[j->at++] == end) {
            return 1;
        }
    }
}

/* Reads a value. Returns the index of its node, or -1. */
static int read_value(json *j, int depth)
{
    int at = new_node(j), good = 1;
    char c;
    skip_blanks(j);
    if (at < 0 || depth > DEPTH_MAX || j->at >= j->length) {
        return -1;
    }
    c = j->text[j->at];
    j->nodes[at].type = c;
    if (c == '{' || c == '[') {
        j->at++;
        good = read_members(j, at, depth);
    } else if (c == '"') {
        const char *text = read_text(j);
        j->nodes[at].text = text;
        good = text != NULL;
    } else if (c == 't' || c == 'f' || c == 'n') {
        good = read_word(j, c == 't' ? "true" : c == 'f' ? "false" : "null");
    } else {
        good = (c == '-' || (c >= '0' && c <= '9')) && read_number(j, &j->nodes[at]);
    }
    return good ? at : -1;
}

static akr_status read_json(json *out, const void *text, size_t length, akr_error *err)
{
    json j;
    const size_t valid = end_of_utf8((const unsigned char *)text, length);
    if (valid < length) {
        return fail(err, AKR_FOREIGN, BUNDLE_JSON ": no UTF-8 at byte %zu", valid);
    }
    memset(&j, 0, sizeof j);
    j.text = (char *)malloc(length + 1);
    if (j.text == NULL) {
        return fail_memory(err);
    }
    memcpy(j.text, text, length);
    j.text[length] = 0;
    j.length = length;
    j.at = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* a byte order mark */
    if (read_value(&j, 0) != 0 || (skip_blanks(&j), j.at != j.length)) {
        akr_status status =
            fail(err, AKR_FOREIGN, BUNDLE_JSON ": no JSON, or a key twice, at byte %zu", j.at);
        json_free(&j);
        return status;
    }
    *out = j;
    return AKR_OK;
}

/* Returns a member of an object; NULL if the member is missing or null. */
static const node *member(const json *j, const node *object, const char *key)
{
    int i = object == NULL || object->type != '{' ? 0 : object->child;
    for (; i != 0; i = j->nodes[i].next) {
        if (strcmp(j->nodes[i].key, key) == 0) {
            return j->nodes[i].type == 'n' ? NULL : &j->nodes[i];
        }
    }
    return NULL;
}

static const char *text_of(const json *j, const node *object, const char *key)
{
    const node *n = member(j, object, key);
    return n != NULL && n->type == '"' ? n->text : NULL;
}

/* Reads a member that is a whole number from low to high. */
static int number_of(int64_t *out, const json *j, const node *object, const char *key, int64_t low,
                     int64_t high)
{
    const node *n = member(j, object, key);
    if (n == NULL || n->type != 'i' || n->number < low || n->number > high) {
        return 0;
    }
    *out = n->number;
    return 1;
}

/* Returns the first item of an array, NULL if it is empty; next_of gives the others. *count is
   their number, -1 if the node is not an array. */
static const node *items_of(int *count, const json *j, const node *array)
{
    int i, n = 0;
    if (array == NULL || array->type != '[') {
        *count = -1;
        return NULL;
    }
    for (i = array->child; i != 0; i = j->nodes[i].next) {
        n++;
    }
    *count = n;
    return array->child == 0 ? NULL : &j->nodes[array->child];
}

static const node *next_of(const json *j, const node *n)
{
    return n->next == 0 ? NULL : &j->nodes[n->next];
}

static int index_in(const char *text, const char *const *names, int count)
{
    int i;
    for (i = 0; text != NULL && i < count; i++) {
        if (strcmp(text, names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

/* ---- whole-number programs ------------------------------------------------------------------- */

/* A program is a list of tokens, such as ["M", 15, "+", 16, "//"], for a stack machine: a number or
   the name of a size is pushed; an operation pops its operands and pushes its result. Operations
   mean what they mean in Python; // and % round down. An overflow or a division by zero makes every
   result that uses it invalid; if(), and() and or() ignore an operand that they do not choose. */
enum { /* a number, a size, then the operations in the order of token_names */
       OP_NUMBER,
       OP_SIZE,
       OP_ADD,
       OP_SUBTRACT,
       OP_MULTIPLY,
       OP_DIVIDE,
       OP_MODULO,
       OP_LESS,
       OP_LESS_EQUAL,
       OP_GREATER,
       OP_GREATER_EQUAL,
       OP_EQUAL,
       OP_NOT_EQUAL,
       OP_MIN,
       OP_MAX,
       OP_AND,
       OP_OR,
       OP_NOT,
       OP_NEGATE,
       OP_ABS,
       OP_IF,
       OP_COUNT
};
static const char *const token_names[] = {
    "+",  "-",     "*",     "//",    "%",    "<",     "<=",    ">",     ">=",  "==",
    "!=", "min()", "max()", "and()", "or()", "not()", "neg()", "abs()", "if()"};

typedef struct token {
    int op;
    int64_t value; /* the number, or the index of the size */
} token;

typedef struct program {
    int first, count; /* count 0: there is none */
} program;

typedef struct cell {
    int64_t value;
    int bad;
} cell;

static int takes(int op)
{
    return op <= OP_SIZE                                     ? 0
           : op == OP_IF                                     ? 3
           : op == OP_NOT || op == OP_NEGATE || op == OP_ABS ? 1
                                                             : 2;
}

static cell divide(int64_t a, int64_t b, int modulo)
{
    cell c = {0, 0};
    if (b == 0 || (a == INT64_MIN && b == -1)) {
        c.bad = 1;
        return c;
    }
    c.value = modulo ? a % b : a / b;
    if (a % b != 0 && (a < 0) != (b < 0)) {
        c.value += modulo ? b : -1;
    }
    return c;
}

static cell arithmetic(int op, cell a, cell b)
{
    cell c = {0, 0};
    switch (op) {
    case OP_ADD:
        c.bad = __builtin_add_overflow(a.value, b.value, &c.value);
        break;
    case OP_SUBTRACT:
        c.bad = __builtin_sub_overflow(a.value, b.value, &c.value);
        break;
    case OP_MULTIPLY:
        c.bad = __builtin_mul_overflow(a.value, b.value, &c.value);
        break;
    case OP_DIVIDE:
    case OP_MODULO:
        c = divide(a.value, b.value, op == OP_MODULO);
        break;
    case OP_LESS:
        c.value = a.value < b.value;
        break;
    case OP_LESS_EQUAL:
        c.value = a.value <= b.value;
        break;
    case OP_GREATER:
        c.value = a.value > b.value;
        break;
    case OP_GREATER_EQUAL:
        c.value = a.value >= b.value;
        break;
    case OP_EQUAL:
        c.value = a.value == b.value;
        break;
    case OP_NOT_EQUAL:
        c.value = a.value != b.value;
        break;
    case OP_MIN:
        c.value = a.value < b.value ? a.value : b.value;
        break;
    default: /* OP_MAX */
        c.value = a.value > b.value ? a.value : b.value;
        break;
    }
    c.bad = c.bad || a.bad || b.bad;
    return c;
}

/* Computes the value of a program that read_program has checked. Returns 0 if it has no value. */
static int evaluate(int64_t *out, const token *tokens, program p, const int64_t *size)
{
    cell stack[STACK_MAX];
    int top = 0, i;
    for (i = p.first; i < p.first + p.count; i++) {
        const token *t = &tokens[i];
        int n = takes(t->op);
        cell *a = stack + top - n;
        top += 1 - n;
        if (n == 0) {
            a->value = t->op == OP_SIZE ? size[t->value] : t->value;
            a->bad = 0;
        } else if (t->op == OP_IF) {
            int bad = a[0].bad;
            a[0] = a[0].value != 0 ? a[1] : a[2];
            a[0].bad = a[0].bad || bad;
        } else if (t->op == OP_AND || t->op == OP_OR) {
            if (!a[0].bad && (a[0].value != 0) == (t->op == OP_AND)) {
                a[0] = a[1];
            }
        } else if (t->op == OP_NOT) {
            a->value = a->value == 0;
        } else if (n == 1) {
            a->bad = a->bad || a->value == INT64_MIN;
            if (!a->bad && (t->op == OP_NEGATE || a->value < 0)) {
                a->value = -a->value;
            }
        } else {
            a[0] = arithmetic(t->op, a[0], a[1]);
        }
    }
    *out = stack[0].value;
    return !stack[0].bad;
}

/* ---- the bundle ------------------------------------------------------------------------------ */

/* The arguments of a kernel for the CPU, as ak_host.h declares them in ABI 1. */
typedef struct host_call {
    const int64_t *size;
    const int *choice;
    const double *number;
    void *const *arg;
    const int64_t *pitch;
    void *workspace;
    int threads;
    void (*parallel)(void *pool, int n, void (*task)(void *context, int thread, int n),
                     void *context);
    void (*barrier)(void *pool);
    void *pool;
} host_call;

/* A tensor map: a view of an argument, or of a copy of it in the workspace, for the tensor copy
   engine. Programs compute its numbers. */
typedef struct map_code {
    int64_t argument;
    program use, workspace, swizzle, promotion, size[MAP_RANK_MAX], stride[MAP_RANK_MAX],
        box[MAP_RANK_MAX];
    int rank, strides;
} map_code;

enum { PASS_BUFFER, PASS_WORKSPACE, PASS_NULL, PASS_MAP, PASS_VALUE };
static const char *const pass_names[] = {"buffer", "workspace", "null", "map"};

typedef struct pass_code {
    int kind;
    int64_t index; /* index of the argument or map */
    int dtype;     /* of a VALUE */
    program value; /* of a VALUE that is a whole number */
    double real;   /* of a VALUE that is a float */
} pass_code;

/* One of the kernels that a run on a GPU launches. Programs may use the values of `let`; programs
   for the grid and the arguments may also use resident_clusters, the number of clusters that the
   device holds at once. */
typedef struct kernel_code {
    /* `specialised` has the variant's own sizes compiled in, or is NULL. */
    const char *entry, *specialised;
    program use, shared, early, block[3], cluster[3], grid[3], let[LETS_MAX];
    int lets, maps, passes, asks_residents;
    map_code map[MAPS_MAX];
    pass_code pass[PASSES_MAX];
    void *function[2];                  /* the entry and the specialised entry */
    int threads_max[2], cluster_set[2]; /* cluster_set: the cluster's extents are compiled in */
} kernel_code;

typedef struct variant {
    const char *file, *entry;
    program workspace, threads, when; /* without the first two, only measured sizes are served */
    void *library;
    /* The file of the code; -1: none. It stays open, because dlopen knows a library by its path,
       /proc/self/fd/NUMBER: for another file with this number it would return the library already
       loaded. */
    int fd;
    void (*kernel)(const host_call *call);
    kernel_code *kernels; /* NULL: for the CPU */
    int kernel_count, has_own_size;
    int64_t own_size[AKR_SIZES_MAX];
    void *module;
} variant;

typedef struct measured {
    int64_t size[AKR_SIZES_MAX];
    int variant, threads;
    size_t workspace_bytes;
} measured;

struct akr_bundle {
    akr_info info;
    char *text; /* bundle.json as it is */
    json document;
    int loaded;
    int choice[OPTIONS_MAX];
    double number[OPTIONS_MAX];
    program shape[AKR_ARGUMENTS_MAX][AKR_RANK_MAX], pitch[AKR_ARGUMENTS_MAX];
    /* names that the program that is being read may use: sizes, values of `let` */
    const char *names[NAMES_MAX];
    int name_count;
    struct gpu *gpu; /* NULL: for the CPU, or not loaded */
    token *tokens;
    int token_count, token_capacity;
    variant *variants;
    measured *sizes;
};

static void close_gpu(akr_bundle *b);

void akr_close(akr_bundle *bundle)
{
    int i;
    if (bundle == NULL) {
        return;
    }
    for (i = 0; bundle->variants != NULL && i < bundle->info.variant_count; i++) {
        if (bundle->variants[i].library != NULL) {
            (void)dlclose(bundle->variants[i].library);
        }
        if (bundle->variants[i].fd >= 0) {
            (void)close(bundle->variants[i].fd);
        }
    }
    close_gpu(bundle);
    for (i = 0; bundle->variants != NULL && i < bundle->info.variant_count; i++) {
        free(bundle->variants[i].kernels);
    }
    free(bundle->variants);
    free(bundle->sizes);
    free(bundle->tokens);
    free(bundle->text);
    json_free(&bundle->document);
    free(bundle);
}

const akr_info *akr_describe(const akr_bundle *bundle)
{
    return &bundle->info;
}

const int64_t *akr_measured_size(const akr_bundle *bundle, int index)
{
    return index < 0 || index >= bundle->info.measured_count ? NULL : bundle->sizes[index].size;
}

static int read_token(token *out, const akr_bundle *b, const node *n)
{
    int at;
    out->value = 0;
    if (n->type == 'i') {
        out->op = OP_NUMBER;
        out->value = n->number;
        return 1;
    }
    if (n->type != '"') {
        return 0;
    }
    at = index_in(n->text, token_names, OP_COUNT - OP_ADD);
    if (at >= 0) {
        out->op = OP_ADD + at;
        return 1;
    }
    out->op = OP_SIZE;
    out->value = index_in(n->text, b->names, b->name_count);
    return out->value >= 0;
}

/* Reads a program. Returns 0 without memory, or if the program is not valid: it must never pop an
   empty stack or fill more than STACK_MAX cells, and must leave exactly one value. */
static int read_program(program *out, akr_bundle *b, const node *array)
{
    int count, depth = 0;
    const node *n = items_of(&count, &b->document, array);
    if (count < 1 || count > TOKENS_MAX) {
        return 0;
    }
    if (b->token_count + count > b->token_capacity) {
        int capacity = 2 * (b->token_count + count);
        token *grown = (token *)realloc(b->tokens, (size_t)capacity * sizeof *grown);
        if (grown == NULL) {
            return 0;
        }
        b->tokens = grown;
        b->token_capacity = capacity;
    }
    out->first = b->token_count;
    out->count = count;
    for (; n != NULL; n = next_of(&b->document, n)) {
        token *t = &b->tokens[b->token_count++];
        if (!read_token(t, b, n) || depth < takes(t->op)) {
            return 0;
        }
        depth += 1 - takes(t->op);
        if (depth > STACK_MAX) {
            return 0;
        }
    }
    return depth == 1;
}

static akr_status foreign(akr_error *err, const char *what)
{
    return fail(err, AKR_FOREIGN, BUNDLE_JSON ": %s is missing or not right", what);
}

/* Reads a double from its bits as 16 hexadecimal digits, which are the same in every locale. */
static int read_bits(double *out, const char *text)
{
    uint64_t bits = 0;
    int i;
    for (i = 0; i < 16; i++) {
        int digit = text == NULL ? -1 : hex_digit(text[i]);
        if (digit < 0) {
            return 0;
        }
        bits = bits << 4 | (uint64_t)digit;
    }
    memcpy(out, &bits, sizeof bits);
    return text[16] == 0;
}

static akr_status read_options(akr_bundle *b, const node *root, akr_error *err)
{
    int count, i = 0;
    const json *j = &b->document;
    const node *n = items_of(&count, j, member(j, root, "option_values"));
    if (count < 0 || count > OPTIONS_MAX) {
        return foreign(err, "option_values");
    }
    for (; n != NULL; n = next_of(j, n), i++) {
        int64_t index;
        if (!number_of(&index, j, n, "index", 0, 1 << 20) ||
            !read_bits(&b->number[i], text_of(j, n, "bits"))) {
            return foreign(err, "option_values");
        }
        b->choice[i] = (int)index;
    }
    return AKR_OK;
}

static int read_argument(akr_bundle *b, int i, const node *n)
{
    const json *j = &b->document;
    akr_argument *a = &b->info.argument[i];
    const node *extent = items_of(&a->rank, j, member(j, n, "shape"));
    const node *pitch = member(j, n, "pitch"), *unused = member(j, n, "unused");
    int dtype = dtype_named(text_of(j, n, "dtype")), d = 0;
    int access = index_in(text_of(j, n, "access"), access_names, 3);
    int64_t alignment = 0;
    a->name = text_of(j, n, "name");
    if (a->name == NULL || dtype < 0 || access < 0 || a->rank < 0 || a->rank > AKR_RANK_MAX ||
        !number_of(&alignment, j, n, "alignment", 1, 4096) || (alignment & (alignment - 1)) != 0) {
        return 0;
    }
    a->dtype = (akr_dtype)dtype;
    a->access = (akr_access)access;
    a->alignment = (size_t)alignment;
    a->unused = unused != NULL && unused->type == 't';
    for (; extent != NULL; extent = next_of(j, extent), d++) {
        if (!read_program(&b->shape[i][d], b, extent)) {
            return 0;
        }
    }
    return pitch == NULL || (a->rank > 0 && read_program(&b->pitch[i], b, pitch));
}

static int is_for_gpu(const akr_bundle *b)
{
    return strcmp(b->info.backend, "cuda") == 0;
}

static akr_status read_problem(akr_bundle *b, const node *root, akr_error *err)
{
    const json *j = &b->document;
    akr_info *info = &b->info;
    int i = 0;
    const node *n = items_of(&info->size_count, j, member(j, root, "sizes"));
    info->name = text_of(j, root, "name");
    info->kernel = text_of(j, root, "kernel");
    info->backend = text_of(j, root, "backend");
    info->dtype = text_of(j, root, "dtype");
    info->options = text_of(j, root, "options");
    info->alignment = info->backend != NULL && is_for_gpu(b) ? AKR_ALIGNMENT_GPU : AKR_ALIGNMENT;
    if (info->name == NULL || info->kernel == NULL || info->backend == NULL ||
        info->dtype == NULL || info->options == NULL) {
        return foreign(err, "the name, kernel, backend, dtype or options");
    }
    if (info->size_count < 1 || info->size_count > AKR_SIZES_MAX) {
        return foreign(err, "sizes");
    }
    for (; n != NULL; n = next_of(j, n), i++) {
        info->size_name[i] = text_of(j, n, "name");
        if (info->size_name[i] == NULL) {
            return foreign(err, "the name of a size");
        }
        b->names[b->name_count++] = info->size_name[i];
    }
    n = items_of(&info->argument_count, j, member(j, root, "arguments"));
    if (info->argument_count < 1 || info->argument_count > AKR_ARGUMENTS_MAX) {
        return foreign(err, "arguments");
    }
    for (i = 0; n != NULL; n = next_of(j, n), i++) {
        if (!read_argument(b, i, n)) {
            return foreign(err, "an argument");
        }
    }
    return read_options(b, root, err);
}

/* Reads 1 to `max` programs; if `needed` is 0, `array` may be NULL. Returns their number, -1 if
   they are not valid. */
static int read_programs(program *out, akr_bundle *b, const node *array, int max, int needed)
{
    int count, i = 0;
    const node *n = items_of(&count, &b->document, array);
    if (count > max || (count < 1 && (needed || array != NULL))) {
        return -1;
    }
    for (; n != NULL; n = next_of(&b->document, n), i++) {
        if (!read_program(&out[i], b, n)) {
            return -1;
        }
    }
    return i;
}

static int read_map(akr_bundle *b, map_code *m, const node *n)
{
    const json *j = &b->document;
    if (!number_of(&m->argument, j, n, "argument", 0, b->info.argument_count - 1) ||
        !read_program(&m->use, b, member(j, n, "use")) ||
        !read_program(&m->workspace, b, member(j, n, "workspace")) ||
        !read_program(&m->swizzle, b, member(j, n, "swizzle")) ||
        !read_program(&m->promotion, b, member(j, n, "promotion"))) {
        return 0;
    }
    m->rank = read_programs(m->size, b, member(j, n, "sizes"), MAP_RANK_MAX, 1);
    m->strides = read_programs(m->stride, b, member(j, n, "strides"), MAP_RANK_MAX - 1, 0);
    return m->rank > 0 && (m->strides == 0 || m->strides == m->rank - 1) &&
           read_programs(m->box, b, member(j, n, "box"), MAP_RANK_MAX, 1) == m->rank;
}

static int read_pass(akr_bundle *b, const kernel_code *k, pass_code *p, const node *n)
{
    const json *j = &b->document;
    const node *value = n->type == '{' && n->child != 0 ? &j->nodes[n->child] : NULL;
    p->kind = value == NULL ? -1 : index_in(value->key, pass_names, PASS_VALUE);
    p->dtype = value == NULL ? -1 : dtype_named(value->key);
    p->kind = p->dtype >= 0 && dtypes[p->dtype].passed ? PASS_VALUE : p->kind;
    switch (p->kind) {
    case PASS_BUFFER:
    case PASS_MAP:
        return number_of(&p->index, j, n, value->key, 0,
                         (p->kind == PASS_MAP ? k->maps : b->info.argument_count) - 1);
    case PASS_WORKSPACE:
    case PASS_NULL:
        return 1;
    case PASS_VALUE:
        return dtypes[p->dtype].kind == FLOAT
                   ? read_bits(&p->real, value->type == '"' ? value->text : NULL)
                   : read_program(&p->value, b, value);
    default:
        return 0;
    }
}

static int uses(const akr_bundle *b, const program *p, int count, int name)
{
    int i, t;
    for (i = 0; i < count; i++) {
        for (t = p[i].first; t < p[i].first + p[i].count; t++) {
            if (b->tokens[t].op == OP_SIZE && b->tokens[t].value == name) {
                return 1;
            }
        }
    }
    return 0;
}

static int read_kernel(akr_bundle *b, kernel_code *k, const node *n)
{
    const json *j = &b->document;
    int count, i = 0;
    const node *item = items_of(&count, j, member(j, n, "let"));
    b->name_count = b->info.size_count; /* removes the names of the kernel that was read before */
    b->names[b->name_count++] = "resident_clusters";
    k->entry = text_of(j, n, "entry");
    k->specialised = text_of(j, n, "specialised");
    if (k->entry == NULL || count < 0 || count > LETS_MAX ||
        !read_program(&k->use, b, member(j, n, "use"))) {
        return 0;
    }
    for (; item != NULL; item = next_of(j, item)) {
        const char *name = text_of(j, item, "name");
        if (name == NULL || !read_program(&k->let[k->lets++], b, member(j, item, "value"))) {
            return 0;
        }
        b->names[b->name_count++] = name;
    }
    if (read_programs(k->block, b, member(j, n, "block"), 3, 1) != 3 ||
        read_programs(k->cluster, b, member(j, n, "cluster"), 3, 1) != 3 ||
        read_programs(k->grid, b, member(j, n, "grid"), 3, 1) != 3 ||
        !read_program(&k->shared, b, member(j, n, "shared")) ||
        !read_program(&k->early, b, member(j, n, "early"))) {
        return 0;
    }
    item = items_of(&k->maps, j, member(j, n, "maps"));
    if (k->maps < 0 || k->maps > MAPS_MAX) {
        return 0;
    }
    for (i = 0; item != NULL; item = next_of(j, item), i++) {
        if (!read_map(b, &k->map[i], item)) {
            return 0;
        }
    }
    item = items_of(&k->passes, j, member(j, n, "arguments"));
    if (k->passes < 1 || k->passes > PASSES_MAX) {
        return 0;
    }
    k->asks_residents = uses(b, k->grid, 3, b->info.size_count);
    for (i = 0; item != NULL; item = next_of(j, item), i++) {
        if (!read_pass(b, k, &k->pass[i], item)) {
            return 0;
        }
        k->asks_residents |= uses(b, &k->pass[i].value, 1, b->info.size_count);
    }
    return 1;
}

/* Reads how a variant for a GPU is launched. */
static int read_launch(akr_bundle *b, variant *v, const node *n)
{
    const json *j = &b->document;
    int count, i = 0, good = 1;
    const node *size = items_of(&count, j, member(j, n, "own_size"));
    v->has_own_size = count > 0;
    if (count > 0 && count != b->info.size_count) {
        return 0;
    }
    for (; size != NULL; size = next_of(j, size)) {
        if (size->type != 'i') {
            return 0;
        }
        v->own_size[i++] = size->number;
    }
    n = items_of(&v->kernel_count, j, member(j, n, "launch"));
    if (v->kernel_count < 1 || v->kernel_count > KERNELS_MAX) {
        return 0;
    }
    v->kernels = (kernel_code *)calloc((size_t)v->kernel_count, sizeof *v->kernels);
    for (i = 0; v->kernels != NULL && good && n != NULL; n = next_of(j, n), i++) {
        good = read_kernel(b, &v->kernels[i], n);
    }
    b->name_count = b->info.size_count;
    return v->kernels != NULL && good;
}

static int read_variant(akr_bundle *b, variant *v, const node *n)
{
    const json *j = &b->document;
    const node *workspace = member(j, n, "workspace"), *threads = member(j, n, "threads");
    v->fd = -1;
    v->file = text_of(j, n, "file");
    v->entry = text_of(j, n, "entry");
    if (v->file == NULL || v->entry == NULL || !read_program(&v->when, b, member(j, n, "when"))) {
        return 0;
    }
    if (workspace != NULL && threads != NULL &&
        !(read_program(&v->workspace, b, workspace) && read_program(&v->threads, b, threads))) {
        return 0;
    }
    return !is_for_gpu(b) || read_launch(b, v, n);
}

static int read_measured(akr_bundle *b, measured *m, const node *n)
{
    const json *j = &b->document;
    int64_t at, workspace, threads, holds;
    int count, i = 0;
    const node *size = items_of(&count, j, member(j, n, "size"));
    if (count != b->info.size_count ||
        !number_of(&at, j, n, "variant", 0, b->info.variant_count - 1) ||
        !number_of(&workspace, j, n, "workspace_bytes", 0, SIZE_LARGEST) ||
        !number_of(&threads, j, n, "threads", 1, THREADS_MAX)) {
        return 0;
    }
    for (; size != NULL; size = next_of(j, size), i++) {
        if (size->type != 'i' || size->number < 1 || size->number > SIZE_LARGEST) {
            return 0;
        }
        m->size[i] = size->number;
    }
    m->variant = (int)at;
    m->workspace_bytes = (size_t)workspace;
    m->threads = (int)threads;
    if (m->threads > b->info.threads) {
        b->info.threads = m->threads;
    }
    return evaluate(&holds, b->tokens, b->variants[at].when, m->size) && holds != 0;
}

static akr_status read_variants(akr_bundle *b, const node *root, akr_error *err)
{
    const json *j = &b->document;
    akr_info *info = &b->info;
    int i = 0, count;
    const node *n = items_of(&count, j, member(j, root, "variants"));
    if (count < 1 || count > VARIANTS_MAX) {
        return foreign(err, "variants");
    }
    b->variants = (variant *)calloc((size_t)count, sizeof *b->variants);
    if (b->variants == NULL) {
        return fail_memory(err);
    }
    for (i = 0; i < count; i++) {
        b->variants[i].fd = -1;
    }
    info->variant_count = count;
    for (i = 0; n != NULL; n = next_of(j, n), i++) {
        if (!read_variant(b, &b->variants[i], n)) {
            return foreign(err, "a variant");
        }
    }
    n = items_of(&info->measured_count, j, member(j, root, "measured"));
    if (info->measured_count < 1 || info->measured_count > MEASURED_MAX) {
        return foreign(err, "measured");
    }
    b->sizes = (measured *)calloc((size_t)info->measured_count, sizeof *b->sizes);
    if (b->sizes == NULL) {
        return fail_memory(err);
    }
    info->threads = 1;
    for (i = 0; n != NULL; n = next_of(j, n), i++) {
        if (!read_measured(b, &b->sizes[i], n)) {
            return foreign(err, "a measured size");
        }
    }
    return AKR_OK;
}

/* Returns 1 if an entry before `n` in the list of files has this name. */
static int is_repeated(const json *j, const node *first, const node *n, const char *name)
{
    const node *earlier;
    for (earlier = first; earlier != n; earlier = next_of(j, earlier)) {
        const char *other = text_of(j, earlier, "name");
        if (other != NULL && strcmp(other, name) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Checks that every file that bundle.json lists is there and unchanged, and that a tar file has no
   others. */
static akr_status check_files(akr_bundle *b, files *f, const node *root, akr_error *err)
{
    const json *j = &b->document;
    int count;
    const node *n = items_of(&count, j, member(j, root, "files")), *first = n;
    if (count < 0 || count > ENTRIES_MAX || (f->folder == NULL && count != f->count - 2)) {
        return foreign(err, "the list of files");
    }
    for (; n != NULL; n = next_of(j, n)) {
        const char *name = text_of(j, n, "name"), *sum = text_of(j, n, "sha256");
        const entry *file;
        int64_t bytes;
        char is[65];
        if (name == NULL || sum == NULL || !is_plain_name(name) || is_repeated(j, first, n, name) ||
            !number_of(&bytes, j, n, "bytes", 0, (int64_t)FILE_BYTES_MAX)) {
            return foreign(err, "an entry of files");
        }
        DO(find_file(&file, f, name, err));
        akr_sha256(is, file->data, file->length);
        if (file->length != (size_t)bytes || strcmp(is, sum) != 0) {
            return fail(err, AKR_DAMAGED, "%.100s: is not as it was written (its SHA-256 differs)",
                        name);
        }
    }
    return AKR_OK;
}

/* Returns 0 if two lists differ in their length or in a text: the member `key` of each item or, if
   the key is NULL, the item itself. Items that are not texts are not compared, nor is anything that
   is not a list. */
static int same_texts(const json *j, const node *list, const char *key, const json *other,
                      const node *others, const char *other_key)
{
    int count, other_count;
    const node *n = items_of(&count, j, list), *o = items_of(&other_count, other, others);
    if (count != other_count) {
        return count < 0 || other_count < 0;
    }
    for (; n != NULL; n = next_of(j, n), o = next_of(other, o)) {
        const char *text = key == NULL ? (n->type == '"' ? n->text : NULL) : text_of(j, n, key);
        const char *is =
            other_key == NULL ? (o->type == '"' ? o->text : NULL) : text_of(other, o, other_key);
        if (text != NULL && is != NULL && strcmp(text, is) != 0) {
            return 0;
        }
    }
    return 1;
}

/* If the bundle has problem.json, checks that bundle.json agrees with it in the names of sizes and
   in names, access and shapes of arguments, in order. Programs are not compared; `autokernel bundle
   verify` does that. */
static akr_status check_problem(const akr_bundle *b, const files *f, const node *root,
                                akr_error *err)
{
    static const char *const keys[] = {"name", "access"};
    char name[PATH_BYTES];
    const json *j = &b->document;
    const node *sizes = member(j, root, "sizes"), *list = member(j, root, "arguments"), *n, *o;
    json own;
    int i, count, same;
    const entry *file;
    akr_error why; /* a problem.json that this reader cannot read is not compared */
    (void)snprintf(name, sizeof name, "source/%.200s/problem.json", b->info.kernel);
    file = known_file(f, name);
    if (file == NULL || read_json(&own, file->data, file->length, &why) != AKR_OK) {
        return AKR_OK;
    }
    o = member(&own, &own.nodes[0], "arguments");
    same = same_texts(j, sizes, keys[0], &own, member(&own, &own.nodes[0], "sizes"), keys[0]);
    for (i = 0; i < 2; i++) {
        same = same && same_texts(j, list, keys[i], &own, o, keys[i]);
    }
    n = items_of(&count, j, list);
    o = items_of(&count, &own, o);
    for (; same && n != NULL && o != NULL; n = next_of(j, n), o = next_of(&own, o)) {
        same = same_texts(j, member(j, n, "extents"), NULL, &own, member(&own, o, "shape"), NULL);
    }
    json_free(&own);
    return same ? AKR_OK
                : fail(err, AKR_DAMAGED,
                       BUNDLE_JSON ": its sizes or arguments are not those of %.100s", name);
}

static akr_status check_document(const entry *document, files *f, akr_error *err)
{
    char is[96];
    const entry *sum;
    akr_sha256(is, document->data, document->length); /* now, since find_file may move the entry */
    DO(find_file(&sum, f, BUNDLE_SUM, err));
    /* The format of sha256sum: the digits, two blanks, the name. */
    memcpy(is + 64, "  " BUNDLE_JSON "\n", sizeof "  " BUNDLE_JSON "\n");
    if (sum->length != strlen(is) || memcmp(sum->data, is, sum->length) != 0) {
        return fail(err, AKR_DAMAGED,
                    BUNDLE_JSON ": is not as it was written (its SHA-256 differs)");
    }
    return AKR_OK;
}

static akr_status read_bundle(akr_bundle *b, files *f, akr_error *err)
{
    const entry *document;
    const node *root;
    const char *kind;
    int64_t schema;
    DO(find_file(&document, f, BUNDLE_JSON, err));
    b->text = (char *)malloc(document->length + 1);
    if (b->text == NULL) {
        return fail_memory(err);
    }
    memcpy(b->text, document->data, document->length);
    b->text[document->length] = 0;
    b->info.json = b->text;
    if (strlen(b->text) != document->length) {
        return fail(err, AKR_FOREIGN, BUNDLE_JSON ": no JSON at byte %zu", strlen(b->text));
    }
    DO(check_document(known_file(f, BUNDLE_JSON), f, err));
    DO(read_json(&b->document, b->text, strlen(b->text), err));
    root = &b->document.nodes[0];
    kind = text_of(&b->document, root, "kind");
    if (kind == NULL || strcmp(kind, "autokernel bundle") != 0 ||
        !number_of(&schema, &b->document, root, "schema", 1, INT32_MAX)) {
        return foreign(err, "the kind or schema");
    }
    if (schema != AKR_SCHEMA) {
        return fail(err, AKR_FOREIGN, "it has schema %d, and this runtime reads schema %d",
                    (int)schema, AKR_SCHEMA);
    }
    DO(read_problem(b, root, err));
    DO(read_variants(b, root, err));
    DO(check_files(b, f, root, err));
    return check_problem(b, f, root, err);
}

/* ---- the CUDA driver ------------------------------------------------------------------------- */

/* Structures and numbers of cuda.h, which need not be installed. */
typedef uint64_t device_address;
typedef struct launch_attribute {
    uint32_t id;
    char pad[4];
    union {
        char pad[64];
        uint32_t dimension[3];
        int32_t value;
    } as;
} launch_attribute;
typedef struct launch_config {
    uint32_t grid[3], block[3], shared_bytes;
    void *stream;
    launch_attribute *attributes;
    uint32_t attribute_count;
} launch_config;
typedef struct tensor_map {
    uint64_t opaque[16];
} __attribute__((aligned(64))) tensor_map;

enum {
    DEVICE_MAJOR = 75,
    DEVICE_MINOR = 76,
    DEVICE_SMS = 16,
    DEVICE_SHARED = 97,
    FUNCTION_THREADS = 0,
    FUNCTION_STATIC_SHARED = 1,
    FUNCTION_SHARED = 8,
    FUNCTION_CLUSTER_WIDTH = 11,
    FUNCTION_LARGE_CLUSTER = 14,
    LAUNCH_CLUSTER = 4,
    LAUNCH_EARLY = 6,
    PORTABLE_CLUSTER = 8,
    PLACEHOLDER = 1 << 20 /* stands for an address until a run gives it; has any alignment needed */
};

/* X(member, symbol, arguments): the driver's functions that are called. Drivers for CUDA 12.0 and
   later have all of them. */
#define DRIVER_MAP(X)                                                                              \
    X(init, "cuInit", (unsigned flags))                                                            \
    X(driver_version, "cuDriverGetVersion", (int *out))                                            \
    X(error_name, "cuGetErrorName", (int code, const char **out))                                  \
    X(device_get, "cuDeviceGet", (int *out, int ordinal))                                          \
    X(device_attribute, "cuDeviceGetAttribute", (int *out, int attribute, int device))             \
    X(context_get, "cuCtxGetCurrent", (void **out))                                                \
    X(context_device, "cuCtxGetDevice", (int *out))                                                \
    X(context_push, "cuCtxPushCurrent_v2", (void *context))                                        \
    X(context_pop, "cuCtxPopCurrent_v2", (void **out))                                             \
    X(context_retain, "cuDevicePrimaryCtxRetain", (void **out, int device))                        \
    X(context_release, "cuDevicePrimaryCtxRelease_v2", (int device))                               \
    X(module_load, "cuModuleLoadData", (void **out, const void *image))                            \
    X(module_unload, "cuModuleUnload", (void *module))                                             \
    X(module_function, "cuModuleGetFunction", (void **out, void *module, const char *name))        \
    X(function_get, "cuFuncGetAttribute", (int *out, int attribute, void *function))               \
    X(function_set, "cuFuncSetAttribute", (void *function, int attribute, int value))              \
    X(launch, "cuLaunchKernelEx",                                                                  \
      (const launch_config *config, void *function, void **arguments, void **extra))               \
    X(blocks_per_sm, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                                \
      (int *out, void *function, int block, size_t shared_bytes))                                  \
    X(active_clusters, "cuOccupancyMaxActiveClusters",                                             \
      (int *out, void *function, const launch_config *config))                                     \
    X(map_encode, "cuTensorMapEncodeTiled",                                                        \
      (tensor_map * out, int type, unsigned rank, device_address address, const uint64_t *size,    \
       const uint64_t *stride, const uint32_t *box, const uint32_t *element_stride,                \
       int interleave, int swizzle, int promotion, int fill))                                      \
    X(map_move, "cuTensorMapReplaceAddress", (tensor_map * map, void *address))

/* A driver that is loaded, and the device and context that a bundle belongs to. */
typedef struct gpu {
#define DRIVER_MEMBER(member, symbol, arguments) int(*member) arguments;
    DRIVER_MAP(DRIVER_MEMBER)
#undef DRIVER_MEMBER
    int (*function_load)(void *function); /* loads code that the driver would load at the first
                                             launch; NULL before CUDA 12.4 */
    void *library, *context;
    int device, retained;
    int version, major, minor, sms, shared_max;
} gpu;

static const char *code_text(const gpu *g, int code)
{
    const char *name = NULL;
    return g->error_name(code, &name) == 0 && name != NULL ? name : "an unknown error";
}

/* Finds a symbol as a pointer to a function, which ISO C has no cast for. */
static int find_symbol(void *to, void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    memcpy(to, &symbol, sizeof symbol);
    return symbol != NULL;
}

static void free_gpu(gpu *g)
{
    if (g != NULL) {
        if (g->retained) {
            (void)g->context_release(g->device);
        }
        if (g->library != NULL) {
            (void)dlclose(g->library);
        }
        free(g);
    }
}

/* Loads the driver and finds the device: the current context's, else the first. */
static akr_status open_driver(gpu **out, akr_error *err)
{
    const char *path = getenv("AUTOKERNEL_LIBCUDA"), *missing = NULL;
    int code;
    gpu *g = (gpu *)calloc(1, sizeof *g);
    if (g == NULL) {
        return fail_memory(err);
    }
    g->library = dlopen(path != NULL && *path != 0 ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (g->library == NULL) {
        free_gpu(g);
        return fail(err, AKR_DEVICE,
                    "the bundle needs an NVIDIA GPU, and libcuda.so.1 cannot be "
                    "loaded: install NVIDIA's driver");
    }
#define DRIVER_FIND(member, symbol, arguments)                                                     \
    if (!find_symbol((void *)&g->member, g->library, symbol)) {                                    \
        missing = symbol;                                                                          \
    }
    DRIVER_MAP(DRIVER_FIND)
#undef DRIVER_FIND
    (void)find_symbol((void *)&g->function_load, g->library, "cuFuncLoad");
    if (missing != NULL) {
        free_gpu(g);
        return fail(err, AKR_DEVICE,
                    "the NVIDIA driver is too old: it has no %s; driver 525 "
                    "(CUDA 12.0) has it",
                    missing);
    }
    code = g->init(0);
    code = code != 0 ? code : g->driver_version(&g->version);
    code = code != 0 ? code : g->context_get(&g->context);
    code = code != 0            ? code
           : g->context == NULL ? g->device_get(&g->device, 0)
                                : g->context_device(&g->device);
    code = code != 0 ? code : g->device_attribute(&g->major, DEVICE_MAJOR, g->device);
    code = code != 0 ? code : g->device_attribute(&g->minor, DEVICE_MINOR, g->device);
    code = code != 0 ? code : g->device_attribute(&g->sms, DEVICE_SMS, g->device);
    code = code != 0 ? code : g->device_attribute(&g->shared_max, DEVICE_SHARED, g->device);
    if (code != 0) {
        akr_status status = fail(err, AKR_DEVICE,
                                 "the bundle needs an NVIDIA GPU, and the driver "
                                 "says %s",
                                 code_text(g, code));
        free_gpu(g);
        return status;
    }
    *out = g;
    return AKR_OK;
}

/* Makes the bundle's context current in this thread. *entered says whether leave_gpu must undo
   that. */
static int enter_gpu(const gpu *g, int *entered)
{
    void *now = NULL;
    int code = g->context_get(&now);
    *entered = 0;
    if (code == 0 && now != g->context) {
        code = g->context_push(g->context);
        *entered = code == 0;
    }
    return code;
}

static void leave_gpu(const gpu *g, int entered)
{
    void *mine;
    if (entered) {
        (void)g->context_pop(&mine);
    }
}

static void close_gpu(akr_bundle *b)
{
    int i, entered;
    if (b->gpu == NULL) {
        return;
    }
    if (b->gpu->context != NULL && enter_gpu(b->gpu, &entered) == 0) {
        for (i = 0; i < b->info.variant_count; i++) {
            if (b->variants[i].module != NULL) {
                (void)b->gpu->module_unload(b->variants[i].module);
            }
        }
        leave_gpu(b->gpu, entered);
    }
    free_gpu(b->gpu);
    b->gpu = NULL;
}

/* ---- this machine ---------------------------------------------------------------------------- */

/* Returns the words of the line "flags" (x86) or "Features" (ARM) of /proc/cpuinfo, each between
   blanks. The caller frees them. */
static akr_status cpu_features(char **out, akr_error *err)
{
    size_t length = 0, capacity = 1 << 16;
    char *text = (char *)malloc(capacity + 1), *line;
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (text != NULL && file != NULL) {
        length = fread(text, 1, capacity, file); /* enough for the entry of the first processor */
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    if (text == NULL) {
        return fail_memory(err);
    }
    text[length] = 0;
    for (line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, "flags", 5) == 0 || strncmp(line, "Features", 8) == 0) {
            char *colon = strchr(line, ':');
            size_t n = colon == NULL ? 0 : strcspn(colon, "\n");
            if (n > 0) {
                memmove(text, colon, n);
                text[0] = ' ';
                text[n] = ' ';
                text[n + 1 <= capacity ? n + 1 : n] = 0;
                *out = text;
                return AKR_OK;
            }
        }
    }
    free(text);
    return fail(err, AKR_DEVICE, "/proc/cpuinfo does not say what this processor can do");
}

static akr_status check_features(const akr_bundle *b, const node *needs, akr_error *err)
{
    const json *j = &b->document;
    int count;
    const node *n = items_of(&count, j, member(j, needs, "cpu_features"));
    char *features = NULL;
    akr_status status = AKR_OK;
    if (count <= 0) {
        return count == 0 ? AKR_OK : foreign(err, "cpu_features");
    }
    DO(cpu_features(&features, err));
    for (; status == AKR_OK && n != NULL; n = next_of(j, n)) {
        char word[64];
        if (n->type != '"' || snprintf(word, sizeof word, " %s ", n->text) >= (int)sizeof word) {
            status = foreign(err, "cpu_features");
        } else if (strstr(features, word) == NULL) {
            status = fail(err, AKR_DEVICE,
                          "this processor has no %s, which the bundle was compiled for: tune or "
                          "export it on a machine of this kind",
                          n->text);
        }
    }
    free(features);
    return status;
}

/* Asks the system to let this process use AMX's tile registers, if the bundle's code does. The
   system refuses if a thread has a stack for signals (sigaltstack) that is too small for them. The
   numbers are ARCH_REQ_XCOMP_PERM and XFEATURE_XTILE_DATA of Linux (arch/x86/include). */
static akr_status allow_tiles(const akr_bundle *b, const node *needs, akr_error *err)
{
    const node *tiles = member(&b->document, needs, "tiles");
    if (tiles == NULL || tiles->type != 't') {
        return AKR_OK;
    }
#ifdef SYS_arch_prctl
    if (syscall(SYS_arch_prctl, 0x1023, 18) == 0) {
        return AKR_OK;
    }
#endif
    return fail(err, AKR_DEVICE,
                "the system does not let this process use AMX's tile registers: %s",
                errno == ENOSPC ? "a stack for signals (sigaltstack) is too small for them"
                                : "it needs Linux 5.16 or later on a processor with AMX");
}

/* Checks that the device can run the code. Code for "sm_90" runs on compute capability 9.0 and
   later 9.x. Code with a suffix, such as "sm_90a" or "sm_100f", is accepted only on its own compute
   capability. */
static akr_status check_gpu(akr_bundle *b, const node *needs, akr_error *err)
{
    const char *architecture = text_of(&b->document, needs, "architecture");
    int64_t capability, driver;
    int exact;
    if (architecture == NULL ||
        !number_of(&capability, &b->document, needs, "compute_capability", 10, 10000) ||
        !number_of(&driver, &b->document, needs, "driver", 0, 1 << 24)) {
        return foreign(err, "requires");
    }
    DO(open_driver(&b->gpu, err));
    exact = strpbrk(architecture, "af") != NULL;
    if (b->gpu->major != capability / 10 ||
        (exact ? b->gpu->minor != capability % 10 : b->gpu->minor < capability % 10)) {
        return fail(err, AKR_DEVICE,
                    "it is for %.20s, and this GPU has compute capability %d.%d: tune or export it "
                    "on a machine with such a GPU",
                    architecture, b->gpu->major, b->gpu->minor);
    }
    if (b->gpu->version < driver) {
        return fail(err, AKR_DEVICE,
                    "it needs a driver for CUDA %d.%d or later, and this one is for %d.%d",
                    (int)driver / 1000, (int)driver % 1000 / 10, b->gpu->version / 1000,
                    b->gpu->version % 1000 / 10);
    }
    return AKR_OK;
}

static akr_status check_machine(akr_bundle *b, akr_error *err)
{
    const json *j = &b->document;
    const node *needs = member(j, &j->nodes[0], "requires");
    const char *architecture = text_of(j, needs, "architecture");
    struct utsname here;
    if (is_for_gpu(b)) {
        return check_gpu(b, needs, err);
    }
    if (strcmp(b->info.backend, "host") != 0) {
        return fail(err, AKR_DEVICE, "it is for %.40s devices, which this runtime does not run",
                    b->info.backend);
    }
    if (architecture == NULL) {
        return foreign(err, "requires");
    }
    if (uname(&here) != 0 || strcmp(here.machine, architecture) != 0) {
        return fail(err, AKR_DEVICE, "it is for %.40s, and this machine is %.40s", architecture,
                    here.machine);
    }
    DO(check_features(b, needs, err));
    return allow_tiles(b, needs, err);
}

/* ---- loading code ---------------------------------------------------------------------------- */

static int write_all(int fd, const unsigned char *data, size_t length)
{
    while (length > 0) {
        ssize_t done = write(fd, data, length);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            return 0;
        }
        data += done;
        length -= (size_t)done;
    }
    return 1;
}

/* Returns 1 if the library that dlopen returned is this file: if one with the same path is loaded
   already, dlopen returns that one. The headers and all segments that are not writable are
   compared. If the headers are equal, the segments lie at the same places, so their memory may be
   read. */
static int is_this_code(void *library, const entry *code)
{
    struct link_map *map = NULL;
    ElfW(Ehdr) head;
    ElfW(Phdr) segment;
    size_t i, headers;
    int compared = 0;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || code->length < sizeof head) {
        return 0;
    }
    memcpy(&head, code->data, sizeof head);
    headers = (size_t)head.e_phoff + head.e_phnum * sizeof segment;
    if (head.e_phoff != sizeof head || head.e_phentsize != sizeof segment ||
        headers > HEADERS_MAX || headers > code->length ||
        memcmp((const void *)map->l_addr, code->data, headers) != 0) {
        return 0;
    }
    for (i = 0; i < head.e_phnum; i++) {
        memcpy(&segment, code->data + head.e_phoff + i * sizeof segment, sizeof segment);
        if (segment.p_type != PT_LOAD || (segment.p_flags & (PF_R | PF_W)) != PF_R) {
            continue;
        }
        if (segment.p_offset > code->length || segment.p_filesz > code->length - segment.p_offset ||
            memcmp((const void *)(map->l_addr + segment.p_vaddr), code->data + segment.p_offset,
                   segment.p_filesz) != 0) {
            return 0;
        }
        compared = 1;
    }
    return compared;
}

/* Finds the variant's entry in the loaded library. Returns 0 and closes the library if it lacks the
   entry or is not the bundle's file. */
static int find_entry(variant *v, const entry *code)
{
    void *symbol =
        v->library != NULL && is_this_code(v->library, code) ? dlsym(v->library, v->entry) : NULL;
    if (symbol == NULL) {
        if (v->library != NULL) {
            (void)dlclose(v->library);
            v->library = NULL;
        }
        return 0;
    }
    memcpy(&v->kernel, &symbol, sizeof symbol); /* ISO C has no cast from object to function */
    return 1;
}

/* Loads the code from memory that is sealed, so that nobody can change it. */
static int load_sealed(variant *v, const entry *code)
{
    char path[64];
    v->fd = memfd_create("autokernel", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (v->fd >= 0 && write_all(v->fd, code->data, code->length) &&
        fcntl(v->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) == 0) {
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", v->fd);
        v->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    if (find_entry(v, code)) {
        return 1;
    }
    if (v->fd >= 0) {
        (void)close(v->fd);
        v->fd = -1;
    }
    return 0;
}

/* Loads the code from a file that only this user may write, for systems without sealed memory or
   where such memory must not be executed. */
static int load_file(variant *v, const entry *code)
{
    char path[PATH_BYTES];
    const char *folder = getenv("TMPDIR");
    int fd;
    if (folder == NULL || *folder == 0) {
        folder = "/tmp";
    }
    if (snprintf(path, sizeof path, "%s/autokernel-XXXXXX", folder) >= (int)sizeof path) {
        return 0;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    if (write_all(fd, code->data, code->length)) {
        v->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    (void)unlink(path);
    (void)close(fd);
    return find_entry(v, code);
}

/* Finds an entry of a module, and sets the limit of its dynamic shared memory to what the device
   offers; each launch then says how much it uses. */
static int find_function(const gpu *g, kernel_code *k, int which, void *module, const char *name)
{
    int code, used = 0;
    void *function = NULL;
    if (name == NULL) {
        return 0;
    }
    code = g->module_function(&function, module, name);
    code = code != 0 || g->function_load == NULL ? code : g->function_load(function);
    code = code != 0 ? code : g->function_get(&used, FUNCTION_STATIC_SHARED, function);
    code = code != 0 ? code : g->function_get(&k->threads_max[which], FUNCTION_THREADS, function);
    code = code != 0 ? code
                     : g->function_get(&k->cluster_set[which], FUNCTION_CLUSTER_WIDTH, function);
    code = code != 0 || g->shared_max <= used
               ? code
               : g->function_set(function, FUNCTION_SHARED, g->shared_max - used);
    k->function[which] = function;
    return code;
}

static akr_status load_module(const akr_bundle *b, variant *v, const entry *code, akr_error *err)
{
    const gpu *g = b->gpu;
    int i, result = g->module_load(&v->module, code->data);
    if (result != 0) {
        v->module = NULL;
        return fail(err, AKR_DEVICE, "%.60s: the driver does not load it: %s", v->file,
                    code_text(g, result));
    }
    for (i = 0; i < v->kernel_count; i++) {
        kernel_code *k = &v->kernels[i];
        result = find_function(g, k, 0, v->module, k->entry);
        result = result != 0 ? result : find_function(g, k, 1, v->module, k->specialised);
        if (result != 0) {
            return fail(err, AKR_FOREIGN, "%.60s: has no entry %.60s that works: %s", v->file,
                        k->entry, code_text(g, result));
        }
    }
    return AKR_OK;
}

static akr_status load_variant(const akr_bundle *b, variant *v, const files *f, akr_error *err)
{
    const entry *code = known_file(f, v->file);
    if (code == NULL) {
        return fail(err, AKR_DAMAGED, "the file \"%.100s\" is missing in it", v->file);
    }
    if (b->gpu != NULL) {
        return load_module(b, v, code, err);
    }
    (void)dlerror();
    errno = 0;
    if (!load_sealed(v, code) && !load_file(v, code)) {
        const char *why = dlerror();
        return fail(err, AKR_DEVICE, "%.60s: cannot be loaded: %.150s", v->file,
                    why != NULL  ? why
                    : errno != 0 ? strerror(errno)
                                 : "it has no entry of the name in the bundle");
    }
    return AKR_OK;
}

/* Loads the code, on a GPU into the context that is current, or else into the device's primary
   context. */
static akr_status load_variants(akr_bundle *b, const files *f, akr_error *err)
{
    int i, entered = 0, code = 0;
    gpu *g = b->gpu;
    akr_status status = AKR_OK;
    if (g != NULL && g->context == NULL) {
        code = g->context_retain(&g->context, g->device);
        g->retained = code == 0;
    }
    code = code != 0 || g == NULL ? code : enter_gpu(g, &entered);
    if (code != 0) {
        return fail(err, AKR_DEVICE, "the driver gives no context: %s", code_text(g, code));
    }
    for (i = 0; i < b->info.variant_count && status == AKR_OK; i++) {
        status = load_variant(b, &b->variants[i], f, err);
    }
    leave_gpu(g, entered);
    b->loaded = status == AKR_OK;
    return status;
}

/* Opens the bundle that consists of these files, and takes ownership of them. `path` is for
   messages. */
static akr_status open_files(akr_bundle **out, files *f, const char *path, int flags,
                             akr_error *err)
{
    akr_error why;
    akr_status status = AKR_OK;
    akr_bundle *b = (akr_bundle *)calloc(1, sizeof *b);
    if (b == NULL) {
        status = fail_memory(&why);
    }
    status = status != AKR_OK ? status : read_bundle(b, f, &why);
    if (status == AKR_OK && (flags & AKR_LOOK) == 0) {
        status = check_machine(b, &why);
        status = status != AKR_OK || (flags & AKR_FIT) != 0 ? status : load_variants(b, f, &why);
    }
    files_free(f);
    if (status != AKR_OK) {
        akr_close(b);
        return fail(err, status, "%.100s: %.150s", path, why.text);
    }
    *out = b;
    return AKR_OK;
}

akr_status akr_open_memory(akr_bundle **out, const void *bytes, size_t length, int flags,
                           akr_error *err)
{
    files f;
    akr_status status;
    memset(&f, 0, sizeof f);
    if (out == NULL || bytes == NULL) {
        return fail(err, AKR_INVALID, "akr_open_memory: a null pointer");
    }
    status = read_tar(&f, (const unsigned char *)bytes, length, err);
    if (status != AKR_OK) {
        files_free(&f);
        return status;
    }
    return open_files(out, &f, "the bundle", flags, err);
}

akr_status akr_open(akr_bundle **out, const char *path, int flags, akr_error *err)
{
    files f;
    akr_error why;
    unsigned char *bytes;
    size_t length;
    struct stat about;
    akr_status status;
    memset(&f, 0, sizeof f);
    if (out == NULL || path == NULL) {
        return fail(err, AKR_INVALID, "akr_open: a null pointer");
    }
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) {
        f.folder = path;
        return open_files(out, &f, path, flags, err);
    }
    DO(read_all(&bytes, &length, path, err));
    f.owned[f.owned_count++] = bytes;
    status = read_tar(&f, bytes, length, &why);
    if (status != AKR_OK) {
        files_free(&f);
        return fail(err, status, "%.100s: %.150s", path, why.text);
    }
    return open_files(out, &f, path, flags, err);
}

/* ---- launches on a GPU ----------------------------------------------------------------------- */

/* A tensor map of a planned_kernel. */
typedef struct planned_map {
    uint64_t map[16], offset; /* the map with PLACEHOLDER as address; the offset in the workspace */
    unsigned char used, argument, in_workspace;
} planned_map;

/* The launch of a kernel as akr_plan.launch stores it: complete except for the addresses. */
typedef struct planned_kernel {
    void *function;
    uint32_t grid[3], block[3], cluster[3], shared_bytes; /* cluster[0] is 0 if none is set */
    int early, maps, passes, addresses;
    planned_map map[MAPS_MAX];
    uint64_t value[PASSES_MAX];
    unsigned char at[PASSES_MAX]; /* where in a launch_frame each pass lies, in units of 8 bytes */
    /* `address` lists the passes that are addresses; `of` has what each points to: the index of an
       argument, or AKR_ARGUMENTS_MAX for the workspace. */
    unsigned char address[PASSES_MAX], of[PASSES_MAX];
} planned_kernel;

/* The memory into which the arguments of one launch point. */
typedef struct launch_frame {
    tensor_map maps[MAPS_MAX];
    uint64_t values[PASSES_MAX];
} launch_frame;

typedef char a_plan_holds_all_launches
    [sizeof(planned_kernel) * KERNELS_MAX <= sizeof(int64_t) * AKR_LAUNCH_WORDS ? 1 : -1];

static planned_kernel *planned_of(akr_plan *plan)
{
    return (planned_kernel *)(void *)plan->launch;
}

/* Evaluates programs whose values must be from low to high. */
static int values_of(int64_t *out, const akr_bundle *b, const program *p, int count,
                     const int64_t *names, int64_t low, int64_t high)
{
    int i;
    for (i = 0; i < count; i++) {
        if (!evaluate(&out[i], b->tokens, p[i], names) || out[i] < low || out[i] > high) {
            return 0;
        }
    }
    return 1;
}

static uint32_t volume(const uint32_t *extents)
{
    return extents[0] * extents[1] * extents[2];
}

static void set_attributes(launch_config *config, launch_attribute *attributes,
                           const planned_kernel *k)
{
    memcpy(config->grid, k->grid, sizeof config->grid);
    memcpy(config->block, k->block, sizeof config->block);
    config->shared_bytes = k->shared_bytes;
    config->attributes = attributes;
    config->attribute_count = 0;
    if (k->cluster[0] > 0) {
        attributes[0].id = LAUNCH_CLUSTER;
        memcpy(attributes[0].as.dimension, k->cluster, sizeof k->cluster);
        config->attribute_count = 1;
    }
    if (k->early) {
        attributes[config->attribute_count].id = LAUNCH_EARLY;
        attributes[config->attribute_count++].as.value = 1;
    }
}

/* Asks the driver how many clusters the device holds at once; a block without a cluster counts as a
   cluster of one. */
static int residents(int64_t *out, const gpu *g, const planned_kernel *k, const uint32_t *cluster)
{
    launch_attribute attribute;
    launch_config config;
    int count = 0, code;
    if (volume(cluster) == 1) {
        code = g->blocks_per_sm(&count, k->function, (int)volume(k->block), k->shared_bytes);
        *out = (int64_t)count * g->sms;
        return code == 0 && count > 0;
    }
    memset(&attribute, 0, sizeof attribute);
    memset(&config, 0, sizeof config);
    attribute.id = LAUNCH_CLUSTER;
    memcpy(attribute.as.dimension, cluster, sizeof k->cluster);
    memcpy(config.block, k->block, sizeof config.block);
    config.grid[0] = cluster[0] * (uint32_t)g->sms * 32; /* an SM holds at most 32 blocks */
    config.grid[1] = cluster[1];
    config.grid[2] = cluster[2];
    config.shared_bytes = k->shared_bytes;
    config.attributes = &attribute;
    config.attribute_count = 1;
    code = g->active_clusters(&count, k->function, &config);
    *out = count;
    return code == 0 && count > 0;
}

/* Encodes a tensor map once for all runs, which put their addresses into copies of it. */
static int plan_map(planned_map *out, const akr_bundle *b, const map_code *m, const int64_t *names)
{
    static const uint32_t ones[MAP_RANK_MAX] = {1, 1, 1, 1, 1};
    const akr_argument *a = &b->info.argument[m->argument];
    int64_t use, workspace, swizzle, promotion, size[MAP_RANK_MAX], stride[MAP_RANK_MAX],
        box[MAP_RANK_MAX];
    uint64_t sizes[MAP_RANK_MAX], strides[MAP_RANK_MAX], packed = akr_dtype_bytes(a->dtype);
    uint32_t boxes[MAP_RANK_MAX];
    tensor_map map;
    int d, code;
    if (!values_of(&use, b, &m->use, 1, names, 0, 1)) {
        return 0;
    }
    if (use == 0) {
        return 1;
    }
    if (!values_of(size, b, m->size, m->rank, names, 1, (int64_t)1 << 32) ||
        !values_of(box, b, m->box, m->rank, names, 1, 256) ||
        !values_of(stride, b, m->stride, m->strides, names, 16, (int64_t)1 << 40) ||
        !values_of(&workspace, b, &m->workspace, 1, names, -1, SIZE_LARGEST) ||
        !values_of(&swizzle, b, &m->swizzle, 1, names, 0, 128) ||
        !values_of(&promotion, b, &m->promotion, 1, names, 0, 256)) {
        return 0;
    }
    for (d = 0; d < m->rank; d++) {
        sizes[d] = (uint64_t)size[d];
        boxes[d] = (uint32_t)box[d];
        packed *= sizes[d];
        if (d + 1 < m->rank) {
            strides[d] = m->strides > 0 ? (uint64_t)stride[d] : packed;
        }
    }
    code = b->gpu->map_encode(&map, dtypes[a->dtype].cuda, (unsigned)m->rank, PLACEHOLDER, sizes,
                              strides, boxes, ones, 0,
                              swizzle == 128  ? 3
                              : swizzle == 64 ? 2
                              : swizzle == 32 ? 1
                                              : 0,
                              promotion == 256   ? 3
                              : promotion == 128 ? 2
                              : promotion == 64  ? 1
                                                 : 0,
                              0);
    memcpy(out->map, &map, sizeof out->map);
    out->used = 1;
    out->argument = (unsigned char)m->argument;
    out->in_workspace = workspace >= 0;
    out->offset = workspace >= 0 ? (uint64_t)workspace : 0;
    return code == 0;
}

/* Computes a value that is passed, in its own dtype. Its first bytes are its low ones, because
   every host of such a GPU is little-endian. */
static int plan_value(uint64_t *out, const akr_bundle *b, const pass_code *p, const int64_t *names)
{
    const int bytes = dtypes[p->dtype].bytes;
    const int is_signed = dtypes[p->dtype].kind == SIGNED;
    const int64_t most = bytes == 8 ? SIZE_LARGEST : ((int64_t)1 << (8 * bytes - is_signed)) - 1;
    const int64_t least = !is_signed ? 0 : bytes == 8 ? -most : -most - 1;
    const float single = (float)p->real;
    int64_t whole = 0;
    if (dtypes[p->dtype].kind == FLOAT) {
        memcpy(out, bytes == 4 ? (const void *)&single : &p->real, (size_t)bytes);
        return 1;
    }
    if (!values_of(&whole, b, &p->value, 1, names, least, most)) {
        return 0;
    }
    memcpy(out, &whole, (size_t)bytes);
    return 1;
}

static int plan_passes(planned_kernel *out, const akr_bundle *b, const kernel_code *k,
                       const int64_t *names)
{
    int i;
    out->passes = k->passes;
    for (i = 0; i < k->passes; i++) {
        const pass_code *p = &k->pass[i];
        out->at[i] =
            (unsigned char)(p->kind == PASS_MAP ? (size_t)p->index * sizeof(tensor_map) / 8
                                                : offsetof(launch_frame, values) / 8 + (size_t)i);
        if (p->kind == PASS_BUFFER || p->kind == PASS_WORKSPACE) {
            out->address[out->addresses] = (unsigned char)i;
            out->of[out->addresses++] =
                (unsigned char)(p->kind == PASS_BUFFER ? p->index : AKR_ARGUMENTS_MAX);
        }
        if (p->kind == PASS_VALUE && !plan_value(&out->value[i], b, p, names)) {
            return 0;
        }
    }
    return 1;
}

/* Works out the launch of one kernel at a size. Returns NULL, or a text that says what is not
   possible. *used is 0 if the kernel is not launched at this size. */
static const char *plan_kernel(planned_kernel *out, int *used, const akr_bundle *b,
                               const variant *v, const kernel_code *k, const int64_t *size)
{
    int64_t names[NAMES_MAX] = {0}, found[3];
    uint32_t cluster[3];
    int i, which = v->has_own_size && k->specialised != NULL &&
                   memcmp(v->own_size, size, (size_t)b->info.size_count * sizeof *size) == 0;
    memcpy(names, size, (size_t)b->info.size_count * sizeof *size);
    if (!values_of(found, b, &k->use, 1, names, 0, INT32_MAX)) {
        return "whether a kernel is used cannot be told";
    }
    *used = found[0] != 0;
    if (!*used) {
        return NULL;
    }
    for (i = 0; i < k->lets; i++) {
        if (!evaluate(&names[b->info.size_count + 1 + i], b->tokens, k->let[i], names)) {
            return "a value of the launch does not exist";
        }
    }
    out->function = k->function[which];
    if (!values_of(found, b, k->block, 3, names, 1, 1024)) {
        return "the block is not possible";
    }
    for (i = 0; i < 3; i++) {
        out->block[i] = (uint32_t)found[i];
    }
    if (!values_of(found, b, k->cluster, 3, names, 1, 16)) {
        return "the cluster is not possible";
    }
    for (i = 0; i < 3; i++) {
        cluster[i] = (uint32_t)found[i];
    }
    if ((int64_t)out->block[0] * out->block[1] * out->block[2] > k->threads_max[which] ||
        !values_of(found, b, &k->shared, 1, names, 0, b->gpu->shared_max) ||
        !values_of(found + 1, b, &k->early, 1, names, 0, 1)) {
        return "the block or its shared memory does not fit the device";
    }
    out->shared_bytes = (uint32_t)found[0];
    out->early = (int)found[1];
    if (volume(cluster) > PORTABLE_CLUSTER &&
        b->gpu->function_set(out->function, FUNCTION_LARGE_CLUSTER, 1) != 0) {
        return "the device has no such clusters";
    }
    if (k->asks_residents && !residents(&names[b->info.size_count], b->gpu, out, cluster)) {
        return "no block or cluster fits the device";
    }
    if (volume(cluster) > 1 && k->cluster_set[which] == 0) {
        memcpy(out->cluster, cluster, sizeof cluster);
    }
    if (!values_of(found, b, k->grid, 1, names, 1, INT32_MAX) ||
        !values_of(found + 1, b, k->grid + 1, 2, names, 1, 65535)) {
        return "the grid is not possible";
    }
    for (i = 0; i < 3; i++) {
        out->grid[i] = (uint32_t)found[i];
        if (out->grid[i] % cluster[i] != 0) {
            return "the grid is not a multiple of the cluster";
        }
    }
    out->maps = k->maps;
    for (i = 0; i < k->maps; i++) {
        if (!plan_map(&out->map[i], b, &k->map[i], names)) {
            return "a tensor map is not possible";
        }
    }
    return plan_passes(out, b, k, names) ? NULL : "an argument of the kernel is not possible";
}

static akr_status unsupported(akr_error *err, const akr_bundle *b, const int64_t *size,
                              const char *why)
{
    char text[160];
    size_t length = 0;
    int i;
    text[0] = 0;
    for (i = 0; i < b->info.size_count && length < sizeof text; i++) {
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%.20s=%lld",
                                   i == 0 ? "" : ",", b->info.size_name[i], (long long)size[i]);
    }
    return fail(err, AKR_UNSUPPORTED, "%s: %s", text, why);
}

/* Works out the launches of a plan. All questions to the driver are asked here, none in a run. */
static akr_status plan_launch(akr_plan *plan, const akr_bundle *b, akr_error *err)
{
    const variant *v = &b->variants[plan->variant];
    const char *wrong = NULL;
    int i, entered, used, code = enter_gpu(b->gpu, &entered);
    if (code != 0) {
        return fail(err, AKR_DRIVER, "the context of the bundle is gone: %s",
                    code_text(b->gpu, code));
    }
    for (i = 0; i < v->kernel_count && wrong == NULL; i++) {
        used = 0;
        wrong =
            plan_kernel(&planned_of(plan)[plan->kernels], &used, b, v, &v->kernels[i], plan->size);
        plan->kernels += used;
    }
    leave_gpu(b->gpu, entered);
    return wrong == NULL && plan->kernels == 0
               ? unsupported(err, b, plan->size, "no kernel is left to launch")
           : wrong != NULL ? unsupported(err, b, plan->size, wrong)
                           : AKR_OK;
}

/* ---- queries --------------------------------------------------------------------------------- */

/* Returns the distance between two sets of sizes: the sum of the squares of ln(a / b). */
static double distance(const int64_t *a, const int64_t *b, int count)
{
    double sum = 0;
    int i;
    for (i = 0; i < count; i++) {
        double d = log((double)a[i] / (double)b[i]);
        sum += d * d;
    }
    return sum;
}

/* Finds the variant for plan->size: its own if that was measured, else the one from the nearest
   measured size whose variant gives right results here, too. */
static akr_status find_variant(akr_plan *plan, const akr_bundle *b, akr_error *err)
{
    const int count = b->info.size_count;
    double best = 0;
    int i, found = -1;
    int64_t workspace, threads;
    for (i = 0; i < b->info.measured_count; i++) {
        const measured *m = &b->sizes[i];
        const variant *v = &b->variants[m->variant];
        int64_t holds;
        double d;
        if (memcmp(m->size, plan->size, (size_t)count * sizeof *m->size) == 0) {
            plan->variant = m->variant;
            plan->measured = 1;
            plan->threads = m->threads;
            plan->workspace_bytes = m->workspace_bytes;
            return AKR_OK;
        }
        d = distance(m->size, plan->size, count);
        if ((found < 0 || d < best) && v->workspace.count > 0 &&
            evaluate(&holds, b->tokens, v->when, plan->size) && holds != 0) {
            found = m->variant;
            best = d;
        }
    }
    if (found < 0) {
        return unsupported(err, b, plan->size, "no variant of the bundle is right for these sizes");
    }
    if (!evaluate(&workspace, b->tokens, b->variants[found].workspace, plan->size) ||
        !evaluate(&threads, b->tokens, b->variants[found].threads, plan->size) || workspace < 0 ||
        workspace > SIZE_LARGEST || threads < 1 || threads > THREADS_MAX) {
        return unsupported(err, b, plan->size, "workspace or threads are not possible");
    }
    plan->variant = found;
    plan->threads = (int)threads;
    plan->workspace_bytes = (size_t)workspace;
    return AKR_OK;
}

/* Computes extents, pitch and bytes of an argument. Returns 0 if they are not possible. */
static int measure(akr_plan *plan, const akr_bundle *b, int i)
{
    const akr_argument *a = &b->info.argument[i];
    int64_t rows = 1, row = 1, pitch, span;
    int d;
    for (d = 0; d < a->rank; d++) {
        if (!evaluate(&plan->extent[i][d], b->tokens, b->shape[i][d], plan->size) ||
            plan->extent[i][d] < 1) {
            return 0;
        }
        row = plan->extent[i][d];
        if (d + 1 < a->rank && __builtin_mul_overflow(rows, row, &rows)) {
            return 0;
        }
    }
    pitch = row;
    if (b->pitch[i].count > 0 &&
        (!evaluate(&pitch, b->tokens, b->pitch[i], plan->size) || pitch < row)) {
        return 0;
    }
    plan->pitch[i] = pitch;
    return !__builtin_mul_overflow(rows - 1, pitch, &span) &&
           !__builtin_add_overflow(span, row, &span) &&
           !__builtin_mul_overflow((size_t)span, akr_dtype_bytes(a->dtype), &plan->bytes[i]) &&
           plan->bytes[i] <= (size_t)SIZE_LARGEST;
}

akr_status akr_query(akr_plan *out, const akr_bundle *bundle, const int64_t *size, akr_error *err)
{
    akr_plan plan;
    int i;
    if (out == NULL || bundle == NULL || size == NULL) {
        return fail(err, AKR_INVALID, "akr_query: a null pointer");
    }
    memset(&plan, 0, sizeof plan);
    plan.bundle = bundle;
    for (i = 0; i < bundle->info.size_count; i++) {
        if (size[i] < 1 || size[i] > SIZE_LARGEST) {
            return unsupported(err, bundle, size, "every size must be from 1 to 2^53");
        }
        plan.size[i] = size[i];
    }
    DO(find_variant(&plan, bundle, err));
    for (i = 0; i < bundle->info.argument_count; i++) {
        if (!measure(&plan, bundle, i)) {
            return unsupported(err, bundle, size, "an argument would have no possible shape");
        }
    }
    DO(bundle->gpu != NULL && bundle->loaded ? plan_launch(&plan, bundle, err) : AKR_OK);
    *out = plan;
    return AKR_OK;
}

/* Returns the value that a size has in all measured sizes, if the bundle serves no others; 0 if
   there is no such value. */
static int64_t only_value(const akr_bundle *b, int at)
{
    const int64_t value = b->info.measured_count > 0 ? b->sizes[0].size[at] : 0;
    int i;
    for (i = 0; i < b->info.measured_count; i++) {
        const measured *m = &b->sizes[i];
        if (m->size[at] != value || b->variants[m->variant].workspace.count > 0) {
            return 0;
        }
    }
    return value;
}

/* Infers the sizes from the extents of the arguments: an extent whose program is only the name of a
   size gives that size. A size with only one possible value gets that. Fails if a size remains
   unknown. */
static akr_status infer_sizes(int64_t *size, const akr_bundle *b, const akr_tensor *tensors,
                              akr_error *err)
{
    int i, d;
    for (i = 0; i < AKR_SIZES_MAX; i++) {
        size[i] = 0;
    }
    for (i = 0; i < b->info.argument_count; i++) {
        const akr_argument *a = &b->info.argument[i];
        for (d = 0; d < a->rank && tensors[i].rank == a->rank; d++) {
            program p = b->shape[i][d];
            const token *t = &b->tokens[p.first];
            if (p.count == 1 && t->op == OP_SIZE && size[t->value] == 0) {
                size[t->value] = tensors[i].shape[d];
            }
        }
    }
    for (i = 0; i < b->info.size_count; i++) {
        size[i] = size[i] == 0 ? only_value(b, i) : size[i];
        if (size[i] == 0) {
            return fail(err, AKR_SHAPE,
                        "the size %s cannot be told from the shapes of the arguments: use "
                        "akr_query",
                        b->info.size_name[i]);
        }
    }
    return AKR_OK;
}

static akr_status check_tensor(const akr_plan *plan, const akr_bundle *b, int i,
                               const akr_tensor *t, akr_error *err)
{
    const akr_argument *a = &b->info.argument[i];
    int64_t stride = 1;
    int d, single = 1;
    if (a->unused && t->rank < 0) {
        return AKR_OK;
    }
    if (t->dtype != a->dtype) {
        return fail(err, AKR_DTYPE, "%s: has dtype %s, and the bundle is for %s", a->name,
                    is_dtype(t->dtype) ? akr_dtype_text(t->dtype) : "unknown",
                    akr_dtype_text(a->dtype));
    }
    for (d = 0; d < a->rank; d++) {
        single = single && plan->extent[i][d] == 1;
    }
    for (d = 0; single && d < t->rank && d < AKR_RANK_MAX; d++) {
        single = t->shape[d] == 1;
    }
    if (single && t->rank >= 0) {
        return AKR_OK; /* a single element may be given with any rank */
    }
    if (t->rank != a->rank) {
        return fail(err, AKR_SHAPE, "%s: has %d extent%s instead of %d", a->name, t->rank,
                    t->rank == 1 ? "" : "s", a->rank);
    }
    for (d = a->rank - 1; d >= 0; d--) {
        int64_t extent = plan->extent[i][d];
        if (t->shape[d] != extent) {
            return fail(err, AKR_SHAPE, "%s: extent %d is %lld instead of %lld", a->name, d,
                        (long long)t->shape[d], (long long)extent);
        }
        if (extent > 1 && t->stride[d] != stride) {
            return fail(err, AKR_SHAPE,
                        "%s: the stride of extent %d is %lld instead of %lld element%s", a->name, d,
                        (long long)t->stride[d], (long long)stride, stride == 1 ? "" : "s");
        }
        stride = d == a->rank - 1 ? plan->pitch[i] : stride * extent;
    }
    return AKR_OK;
}

akr_status akr_match(akr_plan *out, const akr_bundle *bundle, const akr_tensor *tensors, int count,
                     akr_error *err)
{
    int64_t size[AKR_SIZES_MAX];
    akr_plan plan;
    int i;
    if (out == NULL || bundle == NULL || tensors == NULL) {
        return fail(err, AKR_INVALID, "akr_match: a null pointer");
    }
    if (count != bundle->info.argument_count) {
        return fail(err, AKR_INVALID, "%s has %d arguments; %d were given", bundle->info.name,
                    bundle->info.argument_count, count);
    }
    DO(infer_sizes(size, bundle, tensors, err));
    DO(akr_query(&plan, bundle, size, err));
    for (i = 0; i < count; i++) {
        DO(check_tensor(&plan, bundle, i, &tensors[i], err));
    }
    *out = plan;
    return AKR_OK;
}

/* ---- threads --------------------------------------------------------------------------------- */

/* Each worker has a slot. To start the worker, the caller changes `go`; the worker copies the
   number to `done` when it has ended. A worker that wants to sleep sets `asleep`, reads `go` once
   more, and sleeps (futex) while `go` is unchanged. The caller changes `go`, then wakes the worker
   if `asleep` is set. These accesses are sequentially consistent: either the worker sees the new
   number, or the caller sees `asleep`, so no start is lost. A region is one call of pool_parallel;
   words that different threads write in every region are a cache line apart. */
#define LINE        64
#define SPIN_NS     100000
#define SPIN_STEP   16
#define YIELD_AFTER 50 /* steps, 10 to 30 us; then yield: threads may share a core */

typedef struct slot {
    uint32_t go, asleep;
    char apart[LINE];
    uint32_t done;
    char apart_too[LINE];
    pthread_t thread;
    akr_pool *pool;
    int index;
} slot;

struct akr_pool {
    int threads, started, ending, crowded;
    unsigned forks; /* fork_count when the pool was opened */
    uint32_t busy, region;
    int n; /* threads of the running region; written only while no worker runs */
    void (*task)(void *context, int thread, int n);
    void *context;
    char apart[LINE];
    uint32_t arrived;
    char apart_too[LINE];
    uint32_t turn;
    char apart_three[LINE];
    slot *slots; /* slot 0 belongs to the caller and is not used */
};

static void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Waits until *word equals `value` or, if `equal` is 0, differs from it. It spins and never sleeps,
   because the threads that change the word are running. */
static void wait_until(const akr_pool *pool, const uint32_t *word, uint32_t value, int equal)
{
    int steps, i;
    for (steps = 0;; steps += steps <= YIELD_AFTER) {
        for (i = 0; i < SPIN_STEP; i++) {
            if ((__atomic_load_n(word, __ATOMIC_ACQUIRE) == value) == equal) {
                return;
            }
            pause_briefly();
        }
        if (pool->crowded || steps > YIELD_AFTER) {
            (void)sched_yield();
        }
    }
}

static void wait_idle(slot *s, uint32_t last)
{
    int64_t end = now_ns() + (s->pool->crowded ? 0 : SPIN_NS);
    int steps, i;
    for (steps = 0;; steps++) {
        for (i = 0; i < SPIN_STEP; i++) {
            if (__atomic_load_n(&s->go, __ATOMIC_ACQUIRE) != last) {
                return;
            }
            pause_briefly();
        }
        if (now_ns() >= end) {
            break;
        }
        if (steps > YIELD_AFTER) {
            (void)sched_yield();
        }
    }
    __atomic_store_n(&s->asleep, 1u, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&s->go, __ATOMIC_SEQ_CST) == last) {
        (void)syscall(SYS_futex, &s->go, FUTEX_WAIT_PRIVATE, last, NULL, NULL, 0);
    }
    __atomic_store_n(&s->asleep, 0u, __ATOMIC_SEQ_CST);
}

static void start_slot(slot *s, uint32_t region)
{
    __atomic_store_n(&s->go, region, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&s->asleep, __ATOMIC_SEQ_CST) != 0) {
        (void)syscall(SYS_futex, &s->go, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

static void *work(void *argument)
{
    slot *s = (slot *)argument;
    akr_pool *pool = s->pool;
    uint32_t last = 0;
    for (;;) {
        wait_idle(s, last);
        last = __atomic_load_n(&s->go, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&pool->ending, __ATOMIC_SEQ_CST) != 0) {
            return NULL;
        }
        pool->task(pool->context, s->index, pool->n);
        __atomic_store_n(&s->done, last, __ATOMIC_RELEASE);
    }
}

/* Number of forks between the process that opened the first pool and this one. The child of a fork
   lacks the threads of its parent, so a pool serves only the process that opened it. */
static unsigned fork_count;
static pthread_once_t fork_watch = PTHREAD_ONCE_INIT;

static void count_fork(void)
{
    fork_count++;
}

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, count_fork);
}

akr_status akr_pool_open(akr_pool **out, int threads, akr_error *err)
{
    cpu_set_t cpus;
    akr_pool *pool;
    int i;
    if (out == NULL || threads < 1 || threads > THREADS_MAX) {
        return fail(err, AKR_INVALID, "a pool of %d threads: there may be 1 to %d", threads,
                    THREADS_MAX);
    }
    pool = (akr_pool *)calloc(1, sizeof *pool);
    if (pool == NULL || (pool->slots = (slot *)calloc((size_t)threads, sizeof(slot))) == NULL) {
        free(pool);
        return fail_memory(err);
    }
    (void)pthread_once(&fork_watch, watch_forks);
    pool->forks = fork_count;
    pool->threads = threads;
    pool->n = 1;
    pool->crowded = sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) < threads;
    for (i = 1; i < threads; i++) {
        slot *s = &pool->slots[i];
        s->pool = pool;
        s->index = i;
        if (pthread_create(&s->thread, NULL, work, s) != 0) {
            akr_pool_close(pool);
            return fail(err, AKR_SYSTEM, "thread %d of %d could not be started", i + 1, threads);
        }
        pool->started = i;
    }
    *out = pool;
    return AKR_OK;
}

void akr_pool_close(akr_pool *pool)
{
    int i;
    if (pool == NULL) {
        return;
    }
    __atomic_store_n(&pool->ending, 1, __ATOMIC_SEQ_CST);
    for (i = 1; i <= pool->started && pool->forks == fork_count; i++) {
        start_slot(&pool->slots[i], pool->region + 1);
        (void)pthread_join(pool->slots[i].thread, NULL);
    }
    free(pool->slots);
    free(pool);
}

static void pool_parallel(void *opaque, int n, void (*task)(void *context, int thread, int n),
                          void *context)
{
    akr_pool *pool = (akr_pool *)opaque;
    uint32_t region;
    int i;
    n = n < 1 ? 1 : n > pool->threads ? pool->threads : n;
    pool->n = n;
    pool->task = task;
    pool->context = context;
    region = ++pool->region;
    for (i = 1; i < n; i++) {
        start_slot(&pool->slots[i], region);
    }
    task(context, 0, n);
    for (i = 1; i < n; i++) {
        wait_until(pool, &pool->slots[i].done, region, 1);
    }
    pool->n = 1; /* so that a barrier outside of a region does not wait */
}

static void pool_barrier(void *opaque)
{
    akr_pool *pool = (akr_pool *)opaque;
    uint32_t turn;
    if (pool->n < 2) {
        return;
    }
    turn = __atomic_load_n(&pool->turn, __ATOMIC_RELAXED);
    if (__atomic_add_fetch(&pool->arrived, 1u, __ATOMIC_SEQ_CST) == (uint32_t)pool->n) {
        __atomic_store_n(&pool->arrived, 0u, __ATOMIC_RELAXED);
        __atomic_store_n(&pool->turn, turn + 1, __ATOMIC_RELEASE);
    } else {
        wait_until(pool, &pool->turn, turn, 0);
    }
}

static void alone_parallel(void *opaque, int n, void (*task)(void *context, int thread, int n),
                           void *context)
{
    (void)opaque, (void)n;
    task(context, 0, 1);
}

static void alone_barrier(void *opaque)
{
    (void)opaque;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static int misaligned(const void *p, size_t alignment)
{
    return ((uintptr_t)p & (alignment - 1)) != 0;
}

static int overlaps(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return x < y ? y - x < a_bytes : x - y < b_bytes;
}

static akr_status check_pointers(const akr_bundle *b, const akr_plan *plan, void *const *arg,
                                 const void *workspace, akr_error *err)
{
    int i, k;
    for (i = 0; i < b->info.argument_count; i++) {
        const akr_argument *a = &b->info.argument[i];
        if (a->unused) {
            continue;
        }
        if (arg[i] == NULL) {
            return fail(err, AKR_POINTER, "%s: is a null pointer", a->name);
        }
        if (misaligned(arg[i], a->alignment)) {
            return fail(err, AKR_POINTER, "%s: must be aligned to %zu bytes", a->name,
                        a->alignment);
        }
        if (plan->workspace_bytes > 0 &&
            overlaps(arg[i], plan->bytes[i], workspace, plan->workspace_bytes)) {
            return fail(err, AKR_POINTER, "%s: overlaps the workspace", a->name);
        }
        for (k = 0; k < i; k++) {
            const akr_argument *other = &b->info.argument[k];
            if ((a->access != AKR_IN || other->access != AKR_IN) && !other->unused &&
                overlaps(arg[i], plan->bytes[i], arg[k], plan->bytes[k])) {
                return fail(err, AKR_POINTER, "%s: overlaps %s, and one of them is written",
                            a->name, other->name);
            }
        }
    }
    return AKR_OK;
}

static akr_status check_call(const akr_bundle *b, const akr_plan *plan, void *const *arg,
                             const void *workspace, size_t workspace_bytes, akr_error *err)
{
    if (b == NULL || plan == NULL || arg == NULL) {
        return fail(err, AKR_INVALID, "akr_run: a null pointer");
    }
    if (plan->bundle != b) {
        return fail(err, AKR_INVALID, "akr_run: the plan is not of this bundle");
    }
    if (!b->loaded) {
        return fail(err, AKR_DEVICE, "the bundle was opened to be looked at: it cannot be run");
    }
    if (plan->workspace_bytes > 0 &&
        (workspace == NULL || workspace_bytes < plan->workspace_bytes ||
         misaligned(workspace, b->info.alignment))) {
        return fail(
            err, AKR_WORKSPACE, "the workspace must have %zu bytes, aligned to %zu; it has %zu%s",
            plan->workspace_bytes, b->info.alignment, workspace == NULL ? 0 : workspace_bytes,
            misaligned(workspace, b->info.alignment) ? " and is misaligned" : "");
    }
    return check_pointers(b, plan, arg, workspace, err);
}

/* Stands for an unused argument that the caller gave as NULL, so that the kernel gets an address
   that is aligned and may be read. Its first element is a NaN in every type that has one, so that a
   result into which it went does not look right. */
static const struct {
    unsigned char bytes[LINE];
} __attribute__((aligned(LINE))) nothing = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

akr_status akr_run_team(const akr_bundle *bundle, const akr_plan *plan, void *const *arg,
                        void *workspace, size_t workspace_bytes, const akr_team *team,
                        akr_error *err)
{
    static const akr_team alone = {1, alone_parallel, alone_barrier, NULL};
    void *given[AKR_ARGUMENTS_MAX];
    host_call call;
    int i;
    DO(check_call(bundle, plan, arg, workspace, workspace_bytes, err));
    if (bundle->gpu != NULL) {
        return fail(err, AKR_INVALID, "%s is for a GPU: akr_run_stream runs it", bundle->info.name);
    }
    team = team == NULL ? &alone : team;
    if (team->threads < plan->threads) {
        return fail(err, AKR_THREADS, "%d threads are needed and there %s %d: open a larger pool",
                    plan->threads, team->threads == 1 ? "is" : "are", team->threads);
    }
    for (i = 0; i < bundle->info.argument_count; i++) {
        given[i] = arg[i];
        if (bundle->info.argument[i].unused && arg[i] == NULL) {
            given[i] = (void *)(uintptr_t)nothing.bytes;
        }
    }
    call.size = plan->size;
    call.choice = bundle->choice;
    call.number = bundle->number;
    call.arg = given;
    call.pitch = plan->pitch;
    call.workspace = workspace;
    call.threads = plan->threads;
    call.parallel = team->parallel;
    call.barrier = team->barrier;
    call.pool = team->pool;
    bundle->variants[plan->variant].kernel(&call);
    return AKR_OK;
}

akr_status akr_run(const akr_bundle *bundle, const akr_plan *plan, void *const *arg,
                   void *workspace, size_t workspace_bytes, akr_pool *pool, akr_error *err)
{
    akr_team team;
    akr_status status;
    if (pool == NULL) {
        return akr_run_team(bundle, plan, arg, workspace, workspace_bytes, NULL, err);
    }
    if (pool->forks != fork_count) {
        return fail(err, AKR_THREADS,
                    "the pool's threads are in the process that this one was forked from: open one "
                    "here");
    }
    if (__atomic_exchange_n(&pool->busy, 1u, __ATOMIC_ACQUIRE) != 0) {
        return fail(err, AKR_BUSY, "the pool serves another call: each thread needs its own");
    }
    team.threads = pool->threads;
    team.parallel = pool_parallel;
    team.barrier = pool_barrier;
    team.pool = pool;
    status = akr_run_team(bundle, plan, arg, workspace, workspace_bytes, &team, err);
    __atomic_store_n(&pool->busy, 0u, __ATOMIC_RELEASE);
    return status;
}

/* Fills in a frame: the constants, the tensor maps and the addresses of this call. */
static int bind_kernel(launch_frame *frame, void **pointers, const gpu *g, const planned_kernel *k,
                       void *const *arg, void *workspace)
{
    int i, code = 0;
    for (i = 0; i < k->maps && code == 0; i++) {
        const planned_map *m = &k->map[i];
        memcpy(&frame->maps[i], m->map, sizeof frame->maps[i]);
        if (m->used) {
            code = g->map_move(&frame->maps[i], m->in_workspace ? (char *)workspace + m->offset
                                                                : (char *)arg[m->argument]);
        }
    }
    memcpy(frame->values, k->value, (size_t)k->passes * sizeof *k->value);
    for (i = 0; i < k->addresses; i++) {
        frame->values[k->address[i]] =
            (uint64_t)(uintptr_t)(k->of[i] == AKR_ARGUMENTS_MAX ? workspace : arg[k->of[i]]);
    }
    for (i = 0; i < k->passes; i++) {
        pointers[i] = (uint64_t *)(void *)frame + k->at[i];
    }
    return code;
}

akr_status akr_run_stream(const akr_bundle *bundle, const akr_plan *plan, void *const *arg,
                          void *workspace, size_t workspace_bytes, void *stream, akr_error *err)
{
    launch_frame frame;
    void *pointers[PASSES_MAX];
    launch_attribute attributes[2];
    launch_config config;
    const planned_kernel *k;
    int i, entered, code;
    DO(check_call(bundle, plan, arg, workspace, workspace_bytes, err));
    if (bundle->gpu == NULL) {
        return fail(err, AKR_INVALID, "%s is for the CPU: akr_run runs it", bundle->info.name);
    }
    k = (const planned_kernel *)(const void *)plan->launch;
    code = enter_gpu(bundle->gpu, &entered);
    for (i = 0; i < plan->kernels && code == 0; i++) {
        code = bind_kernel(&frame, pointers, bundle->gpu, &k[i], arg, workspace);
        if (code == 0) {
            set_attributes(&config, attributes, &k[i]);
            config.stream = stream;
            code = bundle->gpu->launch(&config, k[i].function, pointers, NULL);
        }
    }
    leave_gpu(bundle->gpu, entered);
    return code == 0 ? AKR_OK
                     : fail(err, AKR_DRIVER, "%s: the driver refuses the launch: %s",
                            bundle->info.name, code_text(bundle->gpu, code));
}

akr_status akr_run_call(const akr_call *call)
{
    if (call == NULL) {
        return AKR_INVALID;
    }
    return call->bundle != NULL && call->bundle->gpu == NULL
               ? akr_run(call->bundle, call->plan, call->arg, call->workspace,
                         call->workspace_bytes, (akr_pool *)call->stream, call->err)
               : akr_run_stream(call->bundle, call->plan, call->arg, call->workspace,
                                call->workspace_bytes, call->stream, call->err);
}
