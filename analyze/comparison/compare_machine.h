/*
 * What the machine was like on each side of a comparison, where it was sampled (record --trace machine): a clock or a load
 * that differs is not a change of the program, and looks like one.
 */
#ifndef NVT_COMPARE_MACHINE_H
#define NVT_COMPARE_MACHINE_H

#include "../../lib/buffer.h"
#include "../device/machine_load.h"
#include "compare_sides.h"

/* Zero-initialise. */
struct nvt_compared_machine {
    struct nvt_machine_sum clock[NVT_SIDES]; /* of the SMs while devices worked, MHz */
    struct nvt_machine_sum ready[NVT_SIDES]; /* threads ready to run for each processor */
    struct nvt_machine_sum taken[NVT_SIDES]; /* by the hypervisor, % */
};

/* Add an input (its traces read) to a side. 0, or -1 with err. */
int nvt_compared_machine_add(struct nvt_compared_machine *machine, size_t side,
                             const struct nvt_input *input, struct nvt_error *err);

/* Append a sentence for each that differs between the first and another of the sides, by more than noise and by enough to
 * matter: clocks by 2 %, threads by a quarter for each processor, taken time by 2 % of all. 0, or -1 when out of memory. */
int nvt_compared_machine_text(const struct nvt_compared_machine *machine, size_t sides,
                              struct nvt_buffer *out);

#endif
