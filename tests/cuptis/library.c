/* Libraries that tests/test_cupti_find.c has found, which do nothing: libcupti, libcudart and the driver, which ends whom asks
 * it while it is coming up. */
#include <stdlib.h>

#ifdef DRIVER
int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version)
{
    (void)version;
    abort();
}
#else
int cudaGetDeviceCount(int *count);
int cudaGetDeviceCount(int *count)
{
    *count = 0;
    return 0;
}
#endif
