/* The tables of the benchmark of diagnosis. */
#include <stdio.h>

#include "bench.h"

static void put_share(unsigned part, unsigned whole)
{
    if (whole)
        printf(" %9.1f %%", 100.0 * part / whole);
    else
        printf(" %11s", "-");
}

static void put_score(const char *name, const struct score *score)
{
    printf("%-26s %6u", name, score->cases + score->silent_cases);
    put_share(score->found, score->cases);
    put_share(score->first, score->found);
    put_share(score->placed, score->placeable);
    put_share(score->sized, score->sizeable);
    put_share(score->silent, score->silent_cases);
    putchar('\n');
}

static void put_heading(const char *what)
{
    printf("\n%-26s %6s %11s %11s %11s %11s %11s\n", what, "cases", "found", "first", "right place",
           "size +-20 %", "silent");
}

static void print_sweeps(const struct bench *bench)
{
    printf("\n%-26s %6s %11s %11s\n", "sweep", "cases", "found", "within 10 %");
    for (size_t i = 0; i < bench->sweep_count; i++) {
        const struct bench_sweep *sweep = &bench->sweeps[i];
        printf("%-26s %6u", sweep->name, sweep->cases);
        put_share(sweep->found, sweep->cases);
        put_share(sweep->right, sweep->is_healthy ? 0 : sweep->found);
        puts(sweep->is_healthy ? "   false" : "");
    }
}

static void print_recorded(const char *where, const struct bench_recorded *recorded)
{
    char heading[64];
    if (!recorded->forms[0].cases)
        return;
    snprintf(heading, sizeof(heading), "%s, read as", where);
    printf("\n%-26s %6s %11s %11s %11s   false\n", heading, "cases", "found", "first",
           "size +-20 %");
    for (size_t i = 0; i < BENCH_FORMS; i++) {
        const struct bench_recorded_form *form = &recorded->forms[i];
        printf("%-28s %4u", bench_form_name(i), form->cases);
        put_share(form->found, form->cases);
        put_share(form->first, form->found);
        put_share(form->sized, form->sizeable);
        printf(" %7u\n", form->also);
    }
}

void bench_print(const struct bench *bench)
{
    unsigned healthy = 0, wrong = 0;
    put_heading("trouble");
    for (size_t i = 0; i < bench_trouble_count; i++)
        put_score(bench_troubles[i].name, &bench->troubles[i]);
    put_score("all", &bench->all);
    put_heading("variant");
    for (size_t i = 0; i < VARIANTS; i++)
        put_score(bench_variant_names[i], &bench->variants[i]);
    printf("\n%-26s %6s %15s\n", "healthy", "traces", "false findings");
    for (size_t i = 0; i < bench_healthy_count; i++) {
        printf("%-26s %6u %15u\n", bench_healthy[i].name, bench->healthy[i],
               bench->healthy_false[i]);
        healthy += bench->healthy[i];
        wrong += bench->healthy_false[i];
    }
    printf("%-26s %6u %15u   %.3f a trace\n", "all", healthy, wrong,
           healthy ? (double)wrong / healthy : 0);
    print_sweeps(bench);
    print_recorded("planted, H100", &bench->recorded);
    print_recorded("planted, emulated", &bench->emulated);
    printf("\n%-26s %6s %11s\n", "confidence", "told", "right");
    for (int i = 0; i < NVT_CONFIDENCES; i++) {
        printf("%-26s %6u", nvt_confidence_name((enum nvt_confidence)i),
               bench->confidences[i].told);
        put_share(bench->confidences[i].right, bench->confidences[i].told);
        putchar('\n');
    }
}
