#include "random_kit.h"

#include <math.h>
#include <stdint.h>

static uint64_t state = 88172645463325252u;

/* George Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8(14), 2003. */
double kit_uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

double kit_normal(void)
{
    return sqrt(-2 * log(kit_uniform())) * cos(6.283185307179586 * kit_uniform());
}
