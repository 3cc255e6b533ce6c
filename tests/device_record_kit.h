/*
 * Recordings of tests/clients/device.c, on a made-up device: the collector in it talks to tests/cupti/stand_in.c as it
 * would to libcupti.
 */
#ifndef NVT_TESTS_DEVICE_RECORD_KIT_H
#define NVT_TESTS_DEVICE_RECORD_KIT_H

#include <stdint.h>

#include "../analyze/readers/reader.h"

/* Run the client under `record --trace levels [--capture capture]`. */
struct device_record {
    const char *how, *levels, *capture; /* levels NULL: the default */
    const char *refuses;                /* what the stand-in does not do */
    const char *library;                /* in place of the stand-in */
    int status, signal;                 /* as which it must end */
};

/*
 * The trace, the caller's, of a run that has to end as it says; messages (NULL: nobody's) gets what was said on stderr,
 * owned.
 */
struct nvt_trace *device_record(const struct device_record *run, char **messages);

/* device_record of a run that refuses nothing and ends with status 0. */
struct nvt_trace *device_record_plainly(const char *how, const char *levels);

/* Whether the notes of a trace hold a text. */
int device_has_note(const struct nvt_trace *trace, const char *text);

/* Operations of a kind. */
uint32_t device_count_ops(const struct nvt_trace *trace, enum nvt_op_kind kind);

/* The first range of a name, without which the test fails; how many there are. */
uint32_t device_find_range(const struct nvt_trace *trace, const char *name);
uint32_t device_count_ranges(const struct nvt_trace *trace, const char *name);

/* Kernels whose launching call lies within the range, on its thread. */
uint32_t device_launched_in(const struct nvt_trace *trace, uint32_t range);

/* Such a recording takes so many seconds: longer on a machine that has more to do, but not each of CLI_TRIES times. */
void device_expect_seconds(void (*recording)(void), double least, double most);

/* What the client launches in its ranges is linked to them. */
void device_assert_plain_links(const struct nvt_trace *trace);

#endif
