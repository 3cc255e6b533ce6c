#include "costs.h"

#include <stdio.h>

#include "../../lib/costs.h"

/* The costs on record for what was read: "21.4" or "20.9 to 21.4"; 0 when there is none. */
static int costs_text(const struct nvt_input *input, enum nvt_cost what, char *text, size_t size)
{
    uint32_t low = UINT32_MAX, high = 0;
    for (size_t t = 0; t < input->trace_count; t++) {
        const struct nvt_event_costs *costs = &input->traces[t].trace->event_costs;
        for (uint32_t i = 0; i < costs->count; i++) {
            if (costs->what[i] != what)
                continue;
            low = costs->ps[i] < low ? costs->ps[i] : low;
            high = costs->ps[i] > high ? costs->ps[i] : high;
        }
    }
    if (!high)
        return 0;
    int length = snprintf(text, size, "%.1f", low / 1e3);
    if (high / 50 > low / 50)
        snprintf(text + length, size - (size_t)length, " to %.1f", high / 1e3);
    return 1;
}

void nvt_note_costs(struct nvt_input *input)
{
    char pair[64] = "?", attributes[64] = "?", start_end[64] = "?", mark[64] = "?";
    if (!input->compensate)
        return;
    costs_text(input, NVT_COST_PUSH_POP, pair, sizeof(pair));
    costs_text(input, NVT_COST_ATTRIBUTES, attributes, sizeof(attributes));
    costs_text(input, NVT_COST_START_END, start_end, sizeof(start_end));
    costs_text(input, NVT_COST_MARK, mark, sizeof(mark));
    nvt_note(input,
             "note: subtracted, in ns: %s per push/pop pair, %s per pair with attributes or in a "
             "domain, %s per start/end pair, %s per mark",
             pair, attributes, start_end, mark);
}

void nvt_costs_title(const struct nvt_input *input, const char *title, char *out, size_t size)
{
    char pair[64];
    if (input->compensate && costs_text(input, NVT_COST_PUSH_POP, pair, sizeof(pair)))
        snprintf(out, size, "%s, without the collector's own cost of %s ns per push/pop pair",
                 title, pair);
    else
        snprintf(out, size, "%s", title);
}
