#include "compare_machine.h"

#include <math.h>
#include <stdio.h>

#define CLOCK_APART 0.02 /* of it */
#define READY_APART                                                                                \
    0.25              /* threads a processor, where one side has more than there are processors */
#define TAKEN_APART 2 /* % */

static void add_clocks(struct nvt_machine_sum *sum, const struct nvt_trace *trace,
                       const struct nvt_used_devices *devices,
                       const struct nvt_counter_courses *courses)
{
    for (uint32_t i = 0; i < devices->count; i++) {
        const struct nvt_used_device *device = &devices->items[i];
        uint32_t gpu = nvt_device_gpu(trace, device->process, device->device);
        nvt_machine_add_work(trace, device, courses,
                             nvt_machine_gpu_counter(trace, gpu, NVT_MACHINE_SM_CLOCK),
                             trace->first_ns, trace->last_ns, sum);
    }
}

static void add_ready(struct nvt_machine_sum *sum, const struct nvt_trace *trace,
                      const struct nvt_counter_courses *courses)
{
    struct nvt_machine_sum ready = {0, 0}, processors = {0, 0};
    nvt_machine_add(courses, nvt_machine_host_counter(trace, NVT_MACHINE_RUNNABLE), trace->first_ns,
                    trace->last_ns, &ready);
    nvt_machine_add(courses, nvt_machine_host_counter(trace, NVT_MACHINE_PROCESSORS),
                    trace->first_ns, trace->last_ns, &processors);
    if (processors.integral > 0) {
        sum->integral += ready.integral / nvt_machine_average(&processors);
        sum->ns += ready.ns;
    }
}

static int add_trace(struct nvt_compared_machine *machine, size_t side,
                     const struct nvt_trace *trace, struct nvt_error *err)
{
    struct nvt_counter_courses courses;
    struct nvt_used_devices devices = {0};
    int has = nvt_machine_courses(trace, &courses, err);
    int status = has < 0 || (has && nvt_used_gpus_make(&devices, trace, 0, err)) ? -1 : 0;
    if (has > 0 && !status) {
        add_clocks(&machine->clock[side], trace, &devices, &courses);
        add_ready(&machine->ready[side], trace, &courses);
        nvt_machine_add(&courses, nvt_machine_host_counter(trace, NVT_MACHINE_STOLEN),
                        trace->first_ns, trace->last_ns, &machine->taken[side]);
    }
    nvt_used_devices_free(&devices);
    nvt_counter_courses_free(&courses);
    return status;
}

int nvt_compared_machine_add(struct nvt_compared_machine *machine, size_t side,
                             const struct nvt_input *input, struct nvt_error *err)
{
    for (size_t i = 0; i < input->trace_count; i++)
        if (add_trace(machine, side, input->traces[i].trace, err))
            return -1;
    return 0;
}

/* --- telling -------------------------------------------------------------------------------------------- */

static int are_clocks_apart(double a, double b)
{
    return fabs(a - b) > CLOCK_APART * fmax(a, b);
}

static int is_ready_apart(double a, double b)
{
    return fmax(a, b) > 1 && fabs(a - b) > READY_APART;
}

static int is_taken_apart(double a, double b)
{
    return fabs(a - b) > TAKEN_APART;
}

/* "…: 1980 MHz on side A, 1755 MHz on side B"; of sides for which it is known. 0 or -1. */
static int tell(const struct nvt_machine_sum *sums, size_t sides, int (*apart)(double, double),
                const char *what, const char *unit, struct nvt_buffer *out)
{
    double first = nvt_machine_average(&sums[0]);
    int differs = 0;
    for (size_t i = 1; i < sides; i++) {
        double value = nvt_machine_average(&sums[i]);
        differs |= !isnan(first) && !isnan(value) && apart(first, value);
    }
    if (!differs)
        return 0;
    int status = nvt_buffer_printf(out, "%s%s: ", out->size ? "; " : "", what);
    for (size_t i = 0, told = 0; i < sides; i++) {
        char number[32];
        double value = nvt_machine_average(&sums[i]);
        if (isnan(value))
            continue;
        snprintf(number, sizeof(number), "%.*f", value < 100, value);
        status |= nvt_buffer_printf(out, "%s%s%s on side %c", told++ ? ", " : "", number, unit,
                                    (char)('A' + i));
    }
    return status ? -1 : 0;
}

int nvt_compared_machine_text(const struct nvt_compared_machine *machine, size_t sides,
                              struct nvt_buffer *out)
{
    return tell(machine->clock, sides, are_clocks_apart, "the SM clock under load differs", " MHz",
                out) ||
                   tell(machine->ready, sides, is_ready_apart,
                        "the number of threads ready to run per core differs", "", out) ||
                   tell(machine->taken, sides, is_taken_apart, "CPU steal time differs", " %", out)
               ? -1
               : 0;
}
