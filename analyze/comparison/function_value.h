/*
 * A function's CPU time estimated from samples, with its uncertainty.
 *
 * With k of n samples, I iterations and u ns a sample on average, the value is log((time + u / 2) / I), and its squared error
 *
 *     (1 - k / (n + 1)) / (k + 1/2)  where iterations show how much n varies: k is binomial,
 *     1 / (k + 1/2)                  where they do not: k is of Poisson's distribution,
 *
 * with half a sample more, so that what one side has not at all has a ratio, too (Anscombe, "On estimating binomial response
 * relations", 1956; Gart and Zweifel, "On the bias of various estimators of the logit and its variance with application to quantal
 * bioassay", 1967). Where samples stand for different times, k and n are those of equal ones that would vary as much: (sum of
 * times)² / sum of their squares (Kish, "Survey Sampling", 1965).
 *
 * Of fewer than NVT_FUNCTION_FEW samples a run this error is the least that several runs can show: of a function that no run of a
 * side calls they all say the same.
 *
 * Iterations differ by more than chance. From five iterations on, the spread between eight parts of them, one after the
 * other, gives an error, too, and the larger one is taken. Samples of a program are no independent draws; that errors
 * are right nevertheless is measured (tests/test_compare_functions.c).
 */
#ifndef NVT_FUNCTION_VALUE_H
#define NVT_FUNCTION_VALUE_H

#include <stdint.h>

#include "../studies/typical.h"

/* Samples of a run from which on the spread between runs says how sure they are. */
#define NVT_FUNCTION_FEW 30

/* Parts of the iterations. */
#define NVT_FUNCTION_PARTS 8

/* Samples of a run: of a function, and of all that is compared. Times are ns, or samples where these do not say it. */
struct nvt_function_samples {
    double time, all_time;
    uint64_t samples, all_samples; /* all_samples: one at least */
    double spread;       /* n sum of squares / (sum of times)² of all: 1 where all are equal */
    uint32_t iterations; /* 1: there are none, and all of the run is one */
    uint32_t parts;      /* of them, one after the other; 0: not known */
    /* over the parts: of the square of the function's time over the part's iterations */
    double squares;
};

/* The logarithm is of the time an iteration, total is `time`, n are the samples; the rank is NVT_NO_RANK. */
struct nvt_typical nvt_function_value(const struct nvt_function_samples *samples);

#endif
