/* near.c: see near.h. */
#include "tuner/near.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double ak_near_sizes(const char *a, const char *b)
{
    double sum = 0;
    while (*a != 0 && *b != 0) {
        size_t name = strcspn(a, "=");
        if (a[name] != '=' || strncmp(a, b, name + 1) != 0) {
            return (double)INFINITY;
        }
        char *end_a, *end_b;
        double x = (double)strtoll(a + name + 1, &end_a, 10);
        double y = (double)strtoll(b + name + 1, &end_b, 10);
        if (x < 1 || y < 1 || *end_a != *end_b) {
            return (double)INFINITY;
        }
        sum += fabs(log2(x / y));
        a = end_a + (*end_a == ',' ? 1 : 0);
        b = end_b + (*end_b == ',' ? 1 : 0);
    }
    return *a == *b ? sum : (double)INFINITY;
}
