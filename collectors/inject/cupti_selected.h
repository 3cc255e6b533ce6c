/*
 * Smaller records of CUPTI: those of its second interface may have selected fields alone ("user-defined activity records", in its manual),
 * and we read less than half of a kernel's. All kinds have them or none. CUPTI says with each buffer where the fields of a record lie;
 * the decoder gets each record as the whole one that it knows, with zeros in what was not selected.
 *
 * They are asked for by $NVTALLY_SELECTED_RECORDS: they have not run on a device. The interface is declared here, as headers of before
 * CUDA 13.2 have none of it.
 */
#ifndef NVT_CUPTI_SELECTED_H
#define NVT_CUPTI_SELECTED_H

#ifdef HAVE_CUPTI

#include "cupti_api.h"

/* CUpti_ActivityFieldLayoutEntry, …RecordLayout, …FieldSelection, …Config and CUpti_BufferCallbackCompleteInfo. */
struct nvt_cupti_place {
    size_t size;
    int field;
    size_t offset, bytes, alignment;
};
struct nvt_cupti_layout {
    size_t size;
    struct nvt_cupti_place *places;
    size_t count, bytes;
};
struct nvt_cupti_selection {
    size_t size, count;
    int *fields;
};
struct nvt_cupti_config {
    size_t size;
    struct nvt_cupti_selection selection;
    void *options;
};
struct nvt_cupti_completion {
    size_t size;
    uint64_t thread;
    struct nvt_cupti_layout **layouts; /* by kind; NULL: that one has no selected fields */
    size_t count;
};

/* A field: CUPTI's number of it (CUpti_Activity…FieldIds), where the whole record has it, and what it takes there. A selected one may be
 * larger: numbers of calls and threads have 8 bytes. */
struct nvt_cupti_field {
    int number;
    uint16_t offset, bytes;
};

#define NVT_CUPTI_FIELDS_MOST 24

/* The fields that are selected of a kind, the kind itself first; NULL: it has none. */
const struct nvt_cupti_field *nvt_cupti_fields(CUpti_ActivityKind kind, size_t *count);

/* What CUPTI takes for a kind, and keeps no pointer to. `numbers` has room for NVT_CUPTI_FIELDS_MOST. 0, or -1: it has no fields. */
int nvt_cupti_select(CUpti_ActivityKind kind, int *numbers, struct nvt_cupti_config *config);

/* A buffer is complete: where its fields lie. From any thread. */
void nvt_cupti_learn_layouts(const struct nvt_cupti_completion *info);

/* The whole record of one with selected fields, in `whole`, of NVT_CUPTI_WHOLE bytes; NULL: its layout is unknown. */
#define NVT_CUPTI_WHOLE 512
const CUpti_Activity *nvt_cupti_whole(const CUpti_Activity *record, void *whole);

#endif
#endif
