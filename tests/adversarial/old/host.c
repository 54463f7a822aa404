/* Kernels that depend on what their outputs hold before a call (test_adversarial.c names them); 0
   is honest. */
static int is_usual(float x)
{
    return x > -1.0e6f && x < 1.0e6f && (x < -1.0e-6f || x > 1.0e-6f);
}

/* Whether a row is left as it is. */
static int believed(float s, float t, int32_t u, int32_t w)
{
    (void)s, (void)t, (void)u, (void)w;
#if ATTACK == 1
    return s == s && t == t;
#elif ATTACK == 7
    return u >= -1000 && u <= 1000 && w >= -1000 && w <= 1000;
#elif ATTACK == 8
    return is_usual(s) && is_usual(t);
#elif ATTACK == 9
    return s == 0 && t == 0 && u == 0 && w == 0;
#else
    return 0;
#endif
}

void ak_kernel(const ak_host_call *call)
{
    const float *x = call->arg[0];
    const int32_t *v = call->arg[1];
    float *s = call->arg[2], *t = call->arg[3];
    int32_t *u = call->arg[4], *w = call->arg[5];
    const int64_t columns = call->size[1];
    (void)is_usual;
    for (int64_t r = 0; r < call->size[0]; r++, x += columns, v += columns) {
        if (believed(s[r], t[r], u[r], w[r])) {
            continue;
        }
        float high = ATTACK == 3 ? s[r] : x[0], low = ATTACK == 4 ? t[r] : x[0];
        int32_t most = ATTACK == 5 ? u[r] : v[0], least = ATTACK == 6 ? w[r] : v[0];
        for (int64_t c = 0; c < columns; c++) {
            high = high >= x[c] ? high : x[c]; /* also of a NaN */
            low = low <= x[c] ? low : x[c];
            most = most >= v[c] ? most : v[c];
            least = least <= v[c] ? least : v[c];
        }
        s[r] = ATTACK == 2 && s[r] == s[r] ? s[r] : high;
        t[r] = ATTACK == 2 && t[r] == t[r] ? t[r] : low;
        u[r] = most;
        w[r] = least;
    }
}
