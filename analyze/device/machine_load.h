/*
 * Samples of the machine (record --trace machine), found by quantity and averaged over the time in which a device
 * worked. A level holds from a sample to the next; it is unknown after the last one.
 */
#ifndef NVT_MACHINE_LOAD_H
#define NVT_MACHINE_LOAD_H

#include "../../lib/machine_quantities.h"
#include "../model/counters.h"
#include "devices.h"

/* The courses of a trace's counters: 1, 0 where it has no samples, or -1 with err (out of memory). In any case release them
 * with nvt_counter_courses_free. */
int nvt_machine_courses(const struct nvt_trace *trace, struct nvt_counter_courses *courses,
                        struct nvt_error *err);

/* The counter of a quantity of the host, or of a device: that which `gpu` is (nvt_device_gpu). NVT_NONE when there is none. */
uint32_t nvt_machine_host_counter(const struct nvt_trace *trace, enum nvt_machine_host id);
uint32_t nvt_machine_gpu_counter(const struct nvt_trace *trace, uint32_t gpu,
                                 enum nvt_machine_gpu id);

/* A sum over time: of a level times the time that it held, and of that time. Their quotient is the average. */
struct nvt_machine_sum {
    double integral; /* in the counter's unit times ns */
    double ns;
};

/* Add the part of [from, to] for which the level is known. NVT_NONE adds nothing. */
void nvt_machine_add(const struct nvt_counter_courses *courses, uint32_t counter, int64_t from,
                     int64_t to, struct nvt_machine_sum *sum);

/* The average of a quantity of the host over [from, to]; NaN: it is not known. */
double nvt_machine_host_average(const struct nvt_trace *trace,
                                const struct nvt_counter_courses *courses, enum nvt_machine_host id,
                                int64_t from, int64_t to);

/* Add the parts of [from, to] for which the level is known and in which the device had an operation that began in it. */
void nvt_machine_add_work(const struct nvt_trace *trace, const struct nvt_used_device *device,
                          const struct nvt_counter_courses *courses, uint32_t counter, int64_t from,
                          int64_t to, struct nvt_machine_sum *sum);

/* The average; NaN where nothing is known. */
double nvt_machine_average(const struct nvt_machine_sum *sum);

#endif
