/* Troubles of what a profile of PyTorch on the CPU, or of ranges alone, has: operators and ranges that stay open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../../../lib/count_of.h"
#include "bench.h"

/* One operator, called three times, against none. */
static void put_operator(struct bench_program *program, int64_t ns, int is_well)
{
    for (int i = 0; i < 3; i++)
        bench_operator(program, "aten::index_put_", is_well ? 1000 : ns / 3);
}

/* What lies between two operators. */
static void put_outside(struct bench_program *program, int64_t ns, int is_well)
{
    bench_operator(program, "aten::embedding", program->host_ns / 16);
    program->maker.now += is_well ? 2000 : ns;
    bench_operator(program, "aten::linear", program->host_ns / 16);
}

/* It costs no time. */
static void put_unclosed(struct bench_program *program, int64_t ns, int is_well)
{
    struct maker *maker = &program->maker;
    (void)ns;
    make_range(maker, "decode", maker->now);
    if (!is_well)
        maker->trace->ranges.flags[maker->trace->ranges.count - 1] = NVT_RANGE_UNCLOSED;
}

static const struct bench_trouble troubles[] = {
    {.name = "dominant operator",
     .causes = {"dominant operator"},
     .place = "index_put_",
     .least = 0.4,
     .put = put_operator,
     .has_operators = 1,
     .is_alone = 1},
    {.name = "time in no operator",
     .causes = {"time in no operator"},
     .place = "embedding",
     .least = 0.15,
     .put = put_outside,
     .has_operators = 1,
     .is_alone = 1},
    {.name = "unclosed ranges",
     .causes = {"unclosed ranges"},
     .place = "decode",
     .put = put_unclosed,
     .is_once = 1,
     .no_size = 1},
};

const struct bench_troubles bench_operator_troubles = {troubles, NVT_COUNT_OF(troubles)};
