#include "counter_wish.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "../lib/count_of.h"
#include "../lib/topdown.h"
#include "output.h"
#include "ring.h"

/* Those with columns of their own, in the order of enum nvt_count from NVT_COUNT_CYCLES on. */
static const uint64_t usual[] = {PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS,
                                 PERF_COUNT_HW_CACHE_MISSES, PERF_COUNT_HW_BRANCH_MISSES};
#define USUAL NVT_COUNT_OF(usual)
_Static_assert(NVT_COUNTS_USUAL == (1u << USUAL) - 1, "a bit for each");

/* Which of those a counter is, USUAL: none. */
static unsigned usual_of(const struct nvt_counter_choice *choice)
{
    unsigned i = 0;
    while (i < USUAL && (choice->type != PERF_TYPE_HARDWARE || choice->config != usual[i]))
        i++;
    return i;
}

static int add_choice(struct nvt_counter_wish *wish, const struct nvt_counter_choice *choice,
                      struct nvt_error *err)
{
    const unsigned which = usual_of(choice);
    int is_there = which < USUAL && wish->usual >> which & 1;
    for (uint32_t i = 0; i < wish->chosen; i++)
        is_there |= choice->type == wish->items[i].type && choice->config == wish->items[i].config;
    if (is_there)
        return nvt_fail(err, "--trace counters: %s is counted already", choice->name);
    if (which < USUAL)
        wish->usual |= 1u << which;
    else if (wish->chosen == NVT_CHOSEN_MOST)
        return nvt_fail(err,
                        "--trace counters: %s is one too many: at most four next to cycles, "
                        "instructions, llc-misses and branch-misses",
                        choice->name);
    else
        wish->items[wish->chosen++] = *choice;
    return 0;
}

static int add_topdown(struct nvt_counter_wish *wish, struct nvt_error *err)
{
    const struct nvt_topdown_set *set = nvt_topdown_here();
    if (!set)
        return nvt_fail(err, "--trace counters: topdown is not known of this processor: Intel from "
                             "Ice Lake on with cores of one kind, AMD from Zen 4 on");
    if (wish->chosen)
        return nvt_fail(err, "--trace counters: topdown takes all four places next to cycles, "
                             "instructions, llc-misses and branch-misses");
    for (unsigned i = 0; i < NVT_CHOSEN_MOST; i++) {
        struct nvt_counter_choice choice = {.type = PERF_TYPE_RAW, .config = set->events[i].config};
        snprintf(choice.name, sizeof(choice.name), "%s", set->events[i].name);
        if (add_choice(wish, &choice, err))
            return -1;
    }
    wish->usual |= 3; /* cycles and instructions */
    wish->topdown = set;
    return 0;
}

int nvt_counter_wish_add(struct nvt_counter_wish *wish, const char *name, size_t size,
                         struct nvt_error *err)
{
    char text[NVT_COUNTER_NAME_MAX];
    struct nvt_counter_choice choice;
    struct nvt_error why = NVT_ERROR_INIT;
    snprintf(text, sizeof(text), "%.*s", (int)size, name);
    if (!size || size >= sizeof(text))
        return nvt_fail(err, "--trace counters: '%s' is not the name of a counter", text);
    if (!strcmp(text, "topdown"))
        return add_topdown(wish, err);
    if (nvt_counter_choose(text, &choice, &why))
        return nvt_fail(err, "--trace counters: %s", why.message);
    return add_choice(wish, &choice, err);
}

void nvt_counter_wish_put(const struct nvt_counter_wish *wish, struct nvt_control *control)
{
    control->usual_counters = wish ? wish->usual : NVT_COUNTS_USUAL;
    control->chosen_counters = wish ? wish->chosen : 0;
    for (uint32_t i = 0; i < control->chosen_counters; i++) {
        control->chosen[i].type = wish->items[i].type;
        control->chosen[i].config = wish->items[i].config;
        memcpy(control->chosen[i].name, wish->items[i].name, sizeof(control->chosen[i].name));
    }
    snprintf(control->topdown, sizeof(control->topdown), "%s",
             wish && wish->topdown ? wish->topdown->name : "");
}

int nvt_counter_wish_facts(const struct nvt_control *control, struct nvt_output *output)
{
    char names[NVT_CHOSEN_MOST * (NVT_COUNTER_NAME_MAX + 1)] = "";
    for (uint32_t i = 0; i < control->chosen_counters && i < NVT_CHOSEN_MOST; i++)
        snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%.*s", i ? "," : "",
                 NVT_COUNTER_NAME_MAX - 1, control->chosen[i].name);
    if (*control->topdown && nvt_output_fact(output, NVT_FACT_TOPDOWN, control->topdown))
        return -1;
    return *names ? nvt_output_fact(output, NVT_FACT_CHOSEN, names) : 0;
}
