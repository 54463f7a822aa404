void ak_kernel(const ak_host_call *call)
{
    (void)call;
}
