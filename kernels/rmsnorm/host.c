/* rmsnorm, host implementation: unpacks the call. The template is norm.h of layernorm. */
void ak_kernel(const ak_host_call *call)
{
    norm_run(call, (norm){
                       .rows = call->size[0],
                       .cols = call->size[1],
                       .x = call->arg[0],
                       .weight = call->arg[1],
                       .y = call->arg[2],
                   });
}
