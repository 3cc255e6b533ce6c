/* Sources of Arrow's streams: the tables of the model, whose columns are borrowed, and tables of results, which are copied. */
#ifndef NVT_ARROW_TABLES_H
#define NVT_ARROW_TABLES_H

#include "../../lib/table.h"
#include "../sql/model.h"
#include "arrow.h"

/* Texts of a trace as a dictionary: well-formed UTF-8, whatever they are. */
struct nvt_arrow_texts {
    int64_t *offsets;
    char *bytes;
    int64_t count;
};

/* A model that streams are made of, and what they need of it. */
struct nvt_arrow_model {
    struct nvt_arrow_owner *owner; /* of the traces; streams and arrays hold it */
    struct nvt_model *model;
    struct nvt_arrow_texts *texts; /* of each trace, made when they are needed */
    struct nvt_arrow_texts *paths;
};

void nvt_arrow_model_free(struct nvt_arrow_model *model);

/*
 * A table of the model, a batch for each trace. Names are 32-bit indices of a dictionary of texts. A column is borrowed but
 * for id, rank and duration, those that refer to rows where there are several traces or the reference is stored with 1
 * added, and numbers that are. 0, or -1 with err filled.
 */
int nvt_arrow_of_model(struct nvt_arrow_model *model, const struct nvt_shown_table *table,
                       struct ArrowArrayStream *out, struct nvt_error *err);

/* A table of a result, one batch; `owner` is that of the texts of its columns, and of the table. 0, or -1 with err filled. */
int nvt_arrow_of_table(const struct nvt_table *table, struct nvt_arrow_owner *owner,
                       struct ArrowArrayStream *out, struct nvt_error *err);

/* Append a text as well-formed UTF-8. */
struct nvt_buffer;
void nvt_arrow_append_text(struct nvt_buffer *out, const char *text);

#endif
