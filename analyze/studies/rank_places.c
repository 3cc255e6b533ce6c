#include "rank_places.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../../lib/count_of.h"

/* Groups of one axis say different places. */
#define DISAGREE (NVT_NONE - 1)

static const struct {
    const char *word;
    enum nvt_rank_axis axis;
} words[] = {
    {"pipeline", NVT_AXIS_PIPELINE}, {"pp", NVT_AXIS_PIPELINE},     {"data", NVT_AXIS_DATA},
    {"dp", NVT_AXIS_DATA},           {"ddp", NVT_AXIS_DATA},        {"fsdp", NVT_AXIS_DATA},
    {"tensor", NVT_AXIS_TENSOR},     {"tp", NVT_AXIS_TENSOR},       {"expert", NVT_AXIS_EXPERT},
    {"ep", NVT_AXIS_EXPERT},         {"context", NVT_AXIS_CONTEXT}, {"cp", NVT_AXIS_CONTEXT}};

const char *nvt_rank_axis_name(enum nvt_rank_axis axis)
{
    static const char *const names[NVT_RANK_AXES] = {"pipeline", "data", "tensor", "expert",
                                                     "context"};
    return names[axis];
}

/* The only axis that a text has a word of; NVT_RANK_AXES: it has none, or several. */
static enum nvt_rank_axis axis_of(const char *text)
{
    unsigned found = 0;
    while (*text) {
        size_t length = 0;
        while (isalpha((unsigned char)text[length]))
            length++;
        for (size_t i = 0; i < NVT_COUNT_OF(words); i++)
            if (strlen(words[i].word) == length && !strncasecmp(words[i].word, text, length))
                found |= 1u << words[i].axis;
        text += length ? length : 1;
    }
    enum nvt_rank_axis axis = 0;
    while (axis < NVT_RANK_AXES && found != 1u << axis)
        axis++;
    return axis;
}

/* The place of a number in "0,1,8"; NVT_NONE: it is not there, or the list is cut or of one rank. */
static uint32_t place_in(const char *members, int64_t number)
{
    uint32_t place = NVT_NONE, count = 0;
    if (strchr(members, '.'))
        return NVT_NONE;
    for (const char *at = members; *at; count++) {
        char *end;
        const long long member = strtoll(at, &end, 10);
        if (end == at)
            return NVT_NONE;
        place = member == number && place == NVT_NONE ? count : place;
        at = end + (*end == ',');
    }
    return count > 1 ? place : NVT_NONE;
}

void nvt_rank_places(const struct nvt_trace *trace, int64_t number, uint32_t places[NVT_RANK_AXES])
{
    const struct nvt_collectives *rows = &trace->collectives;
    for (size_t i = 0; i < NVT_RANK_AXES; i++)
        places[i] = NVT_NONE;
    for (uint32_t i = 0; i < rows->count && number >= 0; i++) {
        enum nvt_rank_axis axis = axis_of(nvt_name(trace, rows->purpose[i]));
        if (axis == NVT_RANK_AXES)
            axis = axis_of(nvt_name(trace, rows->group[i]));
        const uint32_t place = place_in(nvt_name(trace, rows->members[i]), number);
        if (axis == NVT_RANK_AXES || place == NVT_NONE)
            continue;
        places[axis] = places[axis] == NVT_NONE || places[axis] == place ? place : DISAGREE;
    }
    for (size_t i = 0; i < NVT_RANK_AXES; i++)
        places[i] = places[i] == DISAGREE ? NVT_NONE : places[i];
}
