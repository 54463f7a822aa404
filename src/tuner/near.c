#include "tuner/near.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double ak_near_sizes(bool *alike, const char *a, const char *b)
{
    double sum = 0;
    bool same = true;
    while (*a != 0 && *b != 0) {
        size_t name = strcspn(a, "=");
        if (a[name] != '=' || strncmp(a, b, name + 1) != 0) {
            return (double)INFINITY;
        }
        char *end_a, *end_b;
        const long long x = strtoll(a + name + 1, &end_a, 10);
        const long long y = strtoll(b + name + 1, &end_b, 10);
        if (x < 1 || y < 1 || *end_a != *end_b) {
            return (double)INFINITY;
        }
        sum += fabs(log2((double)x / (double)y));
        same = same && (x % 8 == 0) == (y % 8 == 0);
        a = end_a + (*end_a == ',' ? 1 : 0);
        b = end_b + (*end_b == ',' ? 1 : 0);
    }
    if (alike != NULL) {
        *alike = same;
    }
    return *a == *b ? sum : (double)INFINITY;
}
