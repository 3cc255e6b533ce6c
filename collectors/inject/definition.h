/*
 * A definition in the making: integers are little-endian 64-bit, texts a length and bytes. It lies in pages of
 * its own, as a program's stack may be small and its heap locked.
 */
#ifndef NVT_INJECT_DEFINITION_H
#define NVT_INJECT_DEFINITION_H

#include <nvtx3/nvToolsExtSemanticsCounters.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that are kept of a text in a definition. */
#define NVT_TEXT_MOST 4096

/* What does not fit is left out. */
struct nvt_definition_writer {
    char *data;
    size_t size, capacity;
};

/* Room for at least so many bytes. 0, or -1 when there is no memory. */
int nvt_definition_new(struct nvt_definition_writer *out, size_t bytes);
void nvt_definition_free(struct nvt_definition_writer *out);

void nvt_put(struct nvt_definition_writer *out, const void *data, size_t size);
void nvt_put_number(struct nvt_definition_writer *out, uint64_t number);
void nvt_put_text(struct nvt_definition_writer *out, const char *text); /* NULL: empty */

/* Bytes of a text, up to the length that is kept; NULL has none. */
size_t nvt_text_length(const char *text);

/* The element of NVTX's list of semantics that has this id and, at least, so many bytes. NULL: there is none. */
const nvtxSemanticsHeader_t *nvt_semantics_find(const nvtxSemanticsHeader_t *list, uint16_t id,
                                                size_t size);

/* What a counter's values are: flags, numerator and denominator of their scale, unit. Zeros and no unit
 * where `semantics` is NULL. Bytes that this takes, at most, besides the unit: NVT_MEANING_BYTES. */
void nvt_put_meaning(struct nvt_definition_writer *out, const nvtxSemanticsCounter_t *semantics);
#define NVT_MEANING_BYTES (4 * 8)

/* The counter's semantics in a list, or NULL. */
const nvtxSemanticsCounter_t *nvt_counter_semantics(const nvtxSemanticsHeader_t *list);

#endif
