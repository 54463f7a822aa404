/* The public header stands alone, in C and in C++. */
#include <autokernel/autokernel.h>

static ak_error fault = AK_ERROR_INIT;

int main(void)
{
    return (int)fault.status;
}
