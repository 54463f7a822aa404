/*
 * zones.h: a right kernel, and the same with a write where it may not write: for the host, where
 * tests/unit/test_zones.c makes it the source of a candidate, and for the fake CUDA driver, which
 * runs it as the kernel `zones_kernel`.
 *
 *     Z[r][c] = X[r][c], or Y[r][c] where the sign of X[r][c] is set           not in place
 *     Z[r][c] = Z[r][c], or X[r][c] where the sign of Z[r][c] is set           in place
 *
 * Elements are moved as they are, whatever their type: no arithmetic would change a NaN on its way.
 */
#ifndef AK_FAKE_ZONES_H
#define AK_FAKE_ZONES_H

#include <stdint.h>
#include <string.h>

enum zones_write {
    ZONES_NONE,
    ZONES_ONE_MORE,      /* the loop runs to i <= n */
    ZONES_ONE_BEFORE,    /* and begins at -1 */
    ZONES_BOTH_SIDES,    /* from -1 to n + 40 */
    ZONES_FAR,           /* 12000 bytes behind the end */
    ZONES_COPY_PAST,     /* memcpy(z, x, more than n) */
    ZONES_SHIFTED_COPY,  /* z[n + 3] = x[n] */
    ZONES_ZERO,          /* behind the end */
    ZONES_ONES,          /* all bits set, in front of the start */
    ZONES_QUIET_NAN,     /* 0x7FFA in every half word */
    ZONES_OTHER_ZONE,    /* x[n] = y[n]: zones of arguments that are only read */
    ZONES_LAST_BYTE,     /* one bit, at the very end of a zone */
    ZONES_SUM,           /* z[n] = 2 * x[n] + y[n], in the dtype where C has it */
    ZONES_MAXIMUM,       /* z[n] = the larger of z[n] and x[n], as comparisons have it */
    ZONES_BETWEEN_ROWS,  /* the loop over columns runs to c <= cols */
    ZONES_GAP_COPY,      /* what is between the rows of X */
    ZONES_WORKSPACE,     /* zeros behind its end */
    ZONES_WORKSPACE_OWN, /* a copy of its zone's beginning, a little further on */
    ZONES_READ,          /* reads on both sides, and uses nothing of it */
    ZONES_COUNT
};

typedef struct zones_call {
    void *x, *y, *z, *workspace;
    int64_t rows, cols, pitch, workspace_bytes;
    int write, in_place, bytes;
    int is_f32, is_f64, is_i32;
} zones_call;

static void *zones_at(void *array, int64_t i, const zones_call *c)
{
    return (unsigned char *)array + i * c->bytes;
}

/* One element, by its place in the arrays. */
static void zones_element(const zones_call *c, int64_t i)
{
    void *x = zones_at(c->x, i, c), *y = zones_at(c->y, i, c), *z = zones_at(c->z, i, c);
    const unsigned char *sign = (const unsigned char *)(c->in_place ? z : x) + c->bytes - 1;
    if (*sign >> 7) {
        memmove(z, c->in_place ? x : y, (size_t)c->bytes);
    } else if (!c->in_place) {
        memmove(z, x, (size_t)c->bytes);
    }
}

static void zones_sum(const zones_call *c, int64_t i)
{
    void *x = zones_at(c->x, i, c), *y = zones_at(c->y, i, c), *z = zones_at(c->z, i, c);
    if (c->is_f32) {
        *(volatile float *)z = 2 * *(volatile float *)x + *(volatile float *)y;
    } else if (c->is_f64) {
        *(volatile double *)z = 2 * *(volatile double *)x + *(volatile double *)y;
    } else if (c->is_i32) {
        *(volatile uint32_t *)z = 2 * *(volatile uint32_t *)x + *(volatile uint32_t *)y;
    } else if (c->bytes == 1) { /* a number that depends on both */
        *(volatile uint8_t *)z = (uint8_t)(2 * *(volatile uint8_t *)x + *(volatile uint8_t *)y);
    } else { /* bf16 through f32; f16 in the same way is no sum, but a number that depends on both
              */
        uint32_t a = (uint32_t) * (uint16_t *)x << 16, b = (uint32_t) * (uint16_t *)y << 16;
        volatile float u, v;
        memcpy((void *)&u, &a, 4);
        memcpy((void *)&v, &b, 4);
        u = 2 * u + v;
        memcpy(&a, (void *)&u, 4);
        *(volatile uint16_t *)z = (uint16_t)(a >> 16);
    }
}

/* As `z < x ? x : z` has it: a NaN on either side leaves z. */
static void zones_maximum(const zones_call *c, int64_t i)
{
    void *x = zones_at(c->x, i, c), *z = zones_at(c->z, i, c);
    int less;
    if (c->is_f32) {
        less = *(float *)z < *(float *)x;
    } else if (c->is_f64) {
        less = *(double *)z < *(double *)x;
    } else if (c->is_i32) {
        less = *(int32_t *)z < *(int32_t *)x;
    } else if (c->bytes == 1) { /* 0x7C: infinity of e5m2 */
        const int a = *(uint8_t *)z, b = *(uint8_t *)x;
        less = (a & 0x7F) < 0x7C && (b & 0x7F) < 0x7C && (a >> 7 ? b < a : a < b);
    } else { /* numbers of 2 bytes and one sign are in the order of their bits */
        const int a = *(uint16_t *)z, b = *(uint16_t *)x, nan = 0x7C00;
        less = (a & 0x7FFF) <= nan && (b & 0x7FFF) <= nan && (a >> 15 ? b < a : a < b);
    }
    if (less) {
        memmove(z, x, (size_t)c->bytes);
    }
}

static void zones_fault(const zones_call *c)
{
    const int64_t n = (c->rows - 1) * c->pitch + c->cols;
    volatile unsigned char sink = 0;
    unsigned char *end = zones_at(c->z, n, c), *start = c->z, *workspace = c->workspace;
    switch (c->write) {
    case ZONES_ONE_MORE:
        zones_element(c, n);
        break;
    case ZONES_ONE_BEFORE:
        zones_element(c, -1);
        break;
    case ZONES_BOTH_SIDES:
        zones_element(c, -1);
        for (int64_t i = n; i <= n + 40; i++) {
            zones_element(c, i);
        }
        break;
    case ZONES_FAR:
        zones_element(c, n + 12000 / c->bytes);
        break;
    case ZONES_COPY_PAST:
        memcpy(end, zones_at(c->x, n, c), 5 * (size_t)c->bytes);
        break;
    case ZONES_SHIFTED_COPY:
        memcpy(zones_at(c->z, n + 3, c), zones_at(c->x, n, c), 8);
        break;
    case ZONES_ZERO:
        memset(end, 0, (size_t)c->bytes);
        break;
    case ZONES_ONES:
        memset(start - c->bytes, 0xFF, (size_t)c->bytes);
        break;
    case ZONES_QUIET_NAN:
        for (int i = 0; i < c->bytes; i += 2) {
            end[i] = 0xFA;
            end[i + 1] = 0x7F;
        }
        break;
    case ZONES_OTHER_ZONE:
        memcpy(zones_at(c->x, n, c), zones_at(c->y, n, c), 8);
        break;
    case ZONES_LAST_BYTE:
        end[16383] ^= 0x10;
        break;
    case ZONES_SUM:
        zones_sum(c, n);
        break;
    case ZONES_MAXIMUM:
        for (int64_t i = n; i < n + 16; i++) {
            zones_maximum(c, i);
        }
        break;
    case ZONES_BETWEEN_ROWS:
        if (c->rows > 1) {
            zones_element(c, c->cols);
        }
        break;
    case ZONES_GAP_COPY:
        if (c->rows > 1) {
            memcpy(zones_at(c->z, c->cols, c), zones_at(c->x, c->cols, c), 2 * (size_t)c->bytes);
        }
        break;
    case ZONES_WORKSPACE:
        memset(workspace + c->workspace_bytes, 0, 4);
        break;
    case ZONES_WORKSPACE_OWN:
        memcpy(workspace + c->workspace_bytes + 8, workspace + c->workspace_bytes, 8);
        break;
    case ZONES_READ:
        for (int i = 0; i < 64; i++) {
            sink = end[i];
            sink = start[-1 - i];
            sink = workspace[c->workspace_bytes + i];
        }
        break;
    default:
        break;
    }
    (void)sink;
}

static inline void zones_run(const zones_call *c)
{
    for (int64_t r = 0; r < c->rows; r++) {
        for (int64_t col = 0; col < c->cols; col++) {
            zones_element(c, r * c->pitch + col);
        }
    }
    memset(c->workspace, 0, (size_t)c->workspace_bytes);
    zones_fault(c);
}

#endif
