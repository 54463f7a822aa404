/* Not a kernel that anybody runs: a text for prompts. */
void ak_kernel(const ak_host_call *call)
{
#if LAYOUT_is_rows
    for (long row = 0; row < call->size[0]; row += TILE) {
        twice(call, row, TILE, UNROLL);
    }
#endif
}
