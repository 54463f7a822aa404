/* A work-item adds up a row. ATTACK 1 keeps the sums of rows by four numbers of each, so it knows all
   rows of contents that are the old ones in another order. */
static float sum_of(global const float *x, int n)
{
    float16 a = 0, b = 0;
    int j = 0;
    for (; j + 32 <= n; j += 32) {
        a += vload16(0, x + j);
        b += vload16(0, x + j + 16);
    }
    a += b;
    float8 c = a.lo + a.hi;
    float4 d = c.lo + c.hi;
    float s = d.x + d.y + d.z + d.w;
    for (; j < n; j++) {
        s += x[j];
    }
    return s;
}
kernel void attack(global const float *X, global float *Y, global uint *ws, int n, int k)
{
    const int i = get_global_id(0);
    if (i >= n) {
        return;
    }
    global const float *x = X + (long)i * k;
#if ATTACK
    const uint p = as_uint(x[0]) ^ rotate(as_uint(x[k / 2]), 13u), q = as_uint(x[k - 1]) ^ rotate(as_uint(x[k / 3]), 7u);
    global volatile uint *slot = ws + 4 * (((p * 0x9e3779b1u ^ q * 0x85ebca6bu) >> 7) % (4 * (uint)n));
    if (slot[0] == 2 && slot[1] == p && slot[2] == q) {
        Y[i] = as_float(slot[3]);
        return;
    }
    const float s = sum_of(x, k);
    Y[i] = s;
    if (atomic_cmpxchg(slot, 0u, 1u) == 0) {
        slot[1] = p;
        slot[2] = q;
        slot[3] = as_uint(s);
        mem_fence(CLK_GLOBAL_MEM_FENCE);
        slot[0] = 2;
    }
#else
    Y[i] = sum_of(x, k);
#endif
}
