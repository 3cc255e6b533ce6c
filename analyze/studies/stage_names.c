#include "stage_names.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../model/trace.h"

/*
 * %s is the number of a stage, %m that of a micro-batch; a leading %* stands for nothing or a path that ends in '.', one at the end for
 * anything.
 *
 * Not here are frameworks that name forward passes alone, as waits of a backward pass would count for the next forward one: DeepSpeed's
 * PipelineEngine ("DeepSpeedEngine.forward"), Pipe of fairscale and old PyTorch ("chunk0-part1"). Their messages say the same.
 */
static const struct {
    const char *pattern;
    enum nvt_step_kind kind;
} names[] = {
    /* torch.distributed.pipelining, schedules.py: _get_profiler_function_name, of each action of a schedule (PyTorch 2.6 and later) */
    {"PP:%sF%m", NVT_STEP_FORWARD},
    {"PP:%sB%m", NVT_STEP_BACKWARD},
    {"PP:%sI%m", NVT_STEP_BACKWARD},
    {"PP:%sW%m", NVT_STEP_OTHER},
    {"PP:(%*", NVT_STEP_OTHER},
    {"PP:%sRECV_F%m", NVT_STEP_FROM_PREVIOUS},
    {"PP:%sRECV_B%m", NVT_STEP_FROM_NEXT},
    /* the same, GPipe and 1F1B of a single stage */
    {"Forward %m", NVT_STEP_FORWARD},
    {"Backward %m", NVT_STEP_BACKWARD},
    /* the same before PyTorch 2.5, and PiPPy: looped schedules */
    {"Stage %s Forward", NVT_STEP_FORWARD},
    {"Stage %s Backward", NVT_STEP_BACKWARD},
    /* Megatron-Core, schedules.py, as programs annotate it */
    {"%*forward_step", NVT_STEP_FORWARD},
    {"%*backward_step", NVT_STEP_BACKWARD},
    /* Megatron-Core, p2p_communication.py with nvtx_decorator (--nvtx-ranges): the path of the function */
    {"%*recv_forward", NVT_STEP_FROM_PREVIOUS},
    {"%*send_backward_recv_forward", NVT_STEP_FROM_PREVIOUS},
    {"%*send_forward_recv_forward", NVT_STEP_FROM_PREVIOUS},
    {"%*recv_backward", NVT_STEP_FROM_NEXT},
    {"%*send_forward_recv_backward", NVT_STEP_FROM_NEXT},
    {"%*send_backward_recv_backward", NVT_STEP_FROM_NEXT},
};

/* Digits, at most nine of them; NULL: there are none. */
static const char *read_number(const char *at, uint32_t *number)
{
    char *end;
    if (*at < '0' || *at > '9')
        return NULL;
    const unsigned long value = strtoul(at, &end, 10);
    *number = (uint32_t)value;
    return end - at > 9 ? NULL : end;
}

static int ends_with(const char *name, const char *end)
{
    const size_t length = strlen(name), wanted = strlen(end);
    return length >= wanted && !strcmp(name + length - wanted, end) &&
           (length == wanted || name[length - wanted - 1] == '.');
}

static int matches(const char *pattern, const char *name, struct nvt_stage_name *says)
{
    if (!strncmp(pattern, "%*", 2))
        return ends_with(name, pattern + 2);
    for (; *pattern; pattern++) {
        if (*pattern != '%') {
            if (*pattern != *name++)
                return 0;
            continue;
        }
        if (*++pattern == '*')
            return 1;
        name = read_number(name, *pattern == 's' ? &says->stage : &says->batch);
        if (!name)
            return 0;
    }
    return !*name;
}

struct nvt_stage_name nvt_stage_name(const char *name)
{
    for (size_t i = 0; i < NVT_COUNT_OF(names); i++) {
        struct nvt_stage_name says = {names[i].kind, NVT_NONE, NVT_NONE};
        if (matches(names[i].pattern, name, &says))
            return says;
    }
    return (struct nvt_stage_name){NVT_STEP_NONE, NVT_NONE, NVT_NONE};
}
