#include "random_kit.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t state;

uint64_t kit_seed(uint64_t standard)
{
    static uint64_t shown;
    static bool is_shown;
    const char *text = getenv("NVTALLY_SEED");
    uint64_t seed = standard;
    if (text && *text) {
        char *end;
        errno = 0;
        seed = strtoull(text, &end, 10);
        if (errno || *end)
            fail_msg("NVTALLY_SEED is a number from 0, not '%s'", text);
    }
    if (!is_shown || seed != shown)
        print_message("random seed %" PRIu64 " (NVTALLY_SEED sets it)\n", seed);
    shown = seed;
    is_shown = true;
    return seed;
}

void kit_srand(unsigned standard)
{
    srand((unsigned)kit_seed(standard));
}

/* George Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8(14), 2003. */
double kit_uniform(void)
{
    static const uint64_t standard = 88172645463325252u;
    if (!state) /* it is never 0 again, unless the seed is */
        state = kit_seed(standard) ? kit_seed(standard) : standard;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

double kit_normal(void)
{
    return sqrt(-2 * log(kit_uniform())) * cos(6.283185307179586 * kit_uniform());
}
