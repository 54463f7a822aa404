/* header.c: the public header compiles by itself, in C and in C++. */
#include <autokernel/autokernel.h>

static ak_error fault = AK_ERROR_INIT;

int main(void)
{
    return (int)fault.status;
}
