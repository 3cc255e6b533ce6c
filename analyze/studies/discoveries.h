/*
 * Many tests at once: how many of them may be called findings, when most tests of something that is not there
 * would still find it now and then.
 */
#ifndef NVT_DISCOVERIES_H
#define NVT_DISCOVERIES_H

#include <stddef.h>

/*
 * How many of `count` p-values, the smallest ones, pass the procedure of Benjamini and Hochberg ("Controlling the false
 * discovery rate", 1995) at `alpha`: where there is nothing to find, the chance that any passes is alpha, and else the
 * share of false ones among those that pass is, on average. It holds for tests that are independent or go together
 * (Benjamini and Yekutieli, "The control of the false discovery rate in multiple testing under dependency", 2001).
 * Sorts p.
 */
size_t nvt_discoveries(double *p, size_t count, double alpha);

#endif
