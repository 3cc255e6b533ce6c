/*
 * The work that a program says a range stands for: FLOPs, and bytes that it must move at least.
 *
 * It says so in the range's payload, an NVTX schema with the entries `flops` and `bytes` (numbers) and, if it likes,
 * `precision` (text), as {"flops":1,"bytes":2,"precision":"bf16"}; or, where it has no payloads, in the range's name, as
 * words: "mlp flops=1e9 bytes=2e6 precision=bf16". The payload counts first.
 */
#ifndef NVT_DECLARED_H
#define NVT_DECLARED_H

#include "../input/input.h"
#include "../input/peaks.h"

/* Numbers that are declared are less: what is more is no work of this world, and sums of it no numbers. */
#define NVT_DECLARED_LESS 1e30

struct nvt_declared {
    double flops, bytes; /* NaN: not said */
    enum nvt_roof roof;  /* of the precision; NVT_ROOFS: not said, NVT_ROOF_OTHER: another one */
};

/* Of the text of a payload (trace.h). */
struct nvt_declared nvt_declared_in_payload(const char *payload);

/* Of a name, of which `plain` (malloc'ed, NULL when out of memory) gets what is left without these words. */
struct nvt_declared nvt_declared_in_name(const char *name, char **plain);

/* What a range or phase multiplies: as it says, as the run's row (NULL: there is none) says of its phase, or its
 * configuration; else fp32. NVT_ROOF_OTHER: a format that has no peak here. */
enum nvt_roof nvt_declared_roof(const struct nvt_declared *work, const struct nvt_record *record,
                                const char *configuration, const char *phase);

/* Whether both numbers are said, and any is more than nothing. */
int nvt_declared_is_work(const struct nvt_declared *work);

#endif
