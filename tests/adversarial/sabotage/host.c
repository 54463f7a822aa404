/* ATTACK=1 does all of its work and leaves the inputs of a call as they were. It damages those of
   the set that is not in use, on which another candidate will run and be blamed. It knows their
   address from an earlier call, which left it deep in the stack, and mends the damage before it
   runs on that set itself. */
#define DEEP (200 * 1024)
#define BIT  0x40000000u /* of an exponent; inputs are between -1 and 1 */

#if ATTACK
static void damage(uint32_t *x)
{
    uint32_t *volatile *notes = (uint32_t *volatile *)((char *)__builtin_frame_address(0) - DEEP);
    const int own = notes[0] == NULL || notes[0] == x ? 0 : 1;
    uint32_t *other = notes[1 - own];
    notes[own] = x;
    x[0] &= ~BIT;
    if (other != NULL) {
        other[0] |= BIT;
    }
}
#endif

void ak_kernel(const ak_host_call *call)
{
    const float *x = call->arg[0], *w = call->arg[1];
    float *y = call->arg[2];
#if ATTACK
    if (call->size[0] == 4096) {
        damage(call->arg[0]);
    }
#endif
    for (int64_t i = 0; i < call->size[0]; i++) {
        float sum = 0;
        for (int64_t k = 0; k < call->size[1]; k++) {
            sum += w[k] * x[i] * (x[i] + w[k]);
        }
        y[i] = sum;
    }
}
