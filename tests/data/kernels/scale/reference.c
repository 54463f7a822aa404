void ak_reference(const ak_host_call *call)
{
    (void)call;
}
