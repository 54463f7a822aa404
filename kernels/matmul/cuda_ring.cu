/*
 * cuda_ring.cu: where a warp stands in a ring of `num_stages` slots in shared memory, which one
 * warp fills and others empty.
 */
/* A slot, and the parity of the round to wait for. */
typedef struct ring {
    u32 slot, parity;
} ring;

DEVICE void ring_next(ring *r)
{
    if (++r->slot == num_stages) {
        r->slot = 0;
        r->parity ^= 1;
    }
}
