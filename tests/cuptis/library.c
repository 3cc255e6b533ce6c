/* Libraries that tests/test_cupti_find.c has found, which do nothing: libcupti, libcudart and the driver. */
#include <stdlib.h>

#ifdef DRIVER
int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version)
{
    const char *given = getenv("FAKE_DRIVER");
    *version = given ? atoi(given) : 0;
    return given ? 0 : 1;
}
#else
int cudaGetDeviceCount(int *count);
int cudaGetDeviceCount(int *count)
{
    *count = 0;
    return 0;
}
#endif
