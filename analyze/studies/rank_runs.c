#include "rank_runs.h"

#include <inttypes.h>
#include <stdlib.h>

#include "../../lib/buffer.h"
#include "../../lib/map.h"
#include "../input/ranks.h"
#include "rank_digest.h"

struct runs {
    const struct nvt_input *input;
    size_t *numbers;
    struct nvt_strings *texts; /* of groups */
    struct nvt_map last;       /* the last trace that named a group, by its text */
};

/* Trace `at` names a group: it is of the run of the one that did so before, if they ran at once. 0, or -1 when out of memory. */
static int add_text(struct runs *runs, size_t at, const char *text)
{
    const uint32_t id = nvt_strings_add_text(runs->texts, text);
    uint32_t *last = id == NVT_NO_STRING ? NULL : nvt_map_at(&runs->last, id);
    if (!last)
        return -1;
    if (*last != NVT_MAP_NONE && *last != at &&
        nvt_input_at_once(runs->input->traces[*last].trace, runs->input->traces[at].trace)) {
        const size_t own = runs->numbers[at], other = runs->numbers[*last];
        for (size_t i = 0; i < runs->input->trace_count && own != other; i++)
            if (runs->numbers[i] == own)
                runs->numbers[i] = other;
    }
    *last = (uint32_t)at;
    return 0;
}

/* The groups that a trace names with their ranks: those of its digest, or, where it has none, of its collectives. */
static int add_groups(struct runs *runs, size_t at)
{
    const struct nvt_ranks *digest = runs->input->traces[at].digest;
    const struct nvt_trace *trace = runs->input->traces[at].trace;
    const struct nvt_collectives *rows = &trace->collectives;
    int failed = 0;
    for (uint32_t i = 0; digest && i < digest->group_count && !failed; i++)
        if (digest->groups[i].members && digest->groups[i].size > 1)
            failed =
                add_text(runs, at, nvt_strings_get(digest->names, digest->groups[i].key, NULL));
    for (uint32_t i = 0; !digest && i < rows->count && !failed; i++) {
        struct nvt_buffer key = {0};
        if (!rows->members[i] || rows->ranks[i] < 2)
            continue;
        failed = nvt_buffer_printf(&key, "group %s %s %" PRIu32, nvt_name(trace, rows->group[i]),
                                   nvt_name(trace, rows->members[i]), rows->ranks[i]) ||
                 nvt_buffer_append(&key, "", 1) || add_text(runs, at, (const char *)key.data);
        nvt_buffer_free(&key);
    }
    return failed ? -1 : 0;
}

size_t *nvt_rank_run_numbers(const struct nvt_input *input, size_t *count)
{
    struct runs runs = {
        .input = input, .numbers = nvt_input_run_numbers(input, count), .texts = nvt_strings_new()};
    int failed = !runs.numbers || !runs.texts;
    for (size_t i = 0; i < input->trace_count && !failed; i++)
        if (!input->traces[i].runs && nvt_input_trace_rank(&input->traces[i]) == NVT_NONE)
            failed = add_groups(&runs, i);
    nvt_strings_free(runs.texts);
    nvt_map_free(&runs.last);
    if (!failed)
        return runs.numbers;
    free(runs.numbers);
    return NULL;
}
