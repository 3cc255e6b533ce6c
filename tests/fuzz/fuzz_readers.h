/*
 * What the fuzz targets share: a file of any bytes is read by one reader, and whatever trace comes
 * out goes through every report and every export to a stream; and the same of records.
 */
#ifndef NVT_FUZZ_READERS_H
#define NVT_FUZZ_READERS_H

#include <stddef.h>
#include <stdint.h>

#include "../../analyze/readers/reader.h"
#include "../../analyze/input/runs.h"

/* Always 0, as libFuzzer wants it. Aborts when a failure has no message, or one of several lines.
 */
int fuzz_reader(const struct nvt_reader *reader, const uint8_t *data, size_t size);

/* fuzz_reader for a file of ours, of that version, with checksums, magic numbers and sizes of its chunks made right. */
int fuzz_chunks(const struct nvt_reader *reader, unsigned version, const uint8_t *data,
                size_t size);

/* Put records through every report and every layout of a published file, and free them. */
void fuzz_runs(struct nvt_runs *runs);

#endif
