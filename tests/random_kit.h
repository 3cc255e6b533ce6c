/*
 * Numbers at random for tests, the same in each run of a program.
 */
#ifndef NVT_TESTS_RANDOM_KIT_H
#define NVT_TESTS_RANDOM_KIT_H

/* Between 0 and 1, and as a standard normal distribution has them. */
double kit_uniform(void);
double kit_normal(void);

#endif
