/*
 * Random numbers for tests. A program draws the same ones in each run, or those of NVTALLY_SEED=N, a number from 0. Where it draws
 * the first, it prints the seed, so that a failure can be repeated.
 */
#ifndef NVT_TESTS_RANDOM_KIT_H
#define NVT_TESTS_RANDOM_KIT_H

#include <stdint.h>

/* The seed of this run: $NVTALLY_SEED, otherwise `standard`, the test's own. The first call prints it. */
uint64_t kit_seed(uint64_t standard);

/* srand() with that seed, for a test that draws with rand(). */
void kit_srand(unsigned standard);

/* Between 0 and 1, and as a standard normal distribution has them. */
double kit_uniform(void);
double kit_normal(void);

#endif
