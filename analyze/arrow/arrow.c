#include "arrow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/buffer.h"

void nvt_arrow_hold(struct nvt_arrow_owner *owner)
{
    if (owner)
        __atomic_fetch_add(&owner->references, 1, __ATOMIC_RELAXED);
}

void nvt_arrow_drop(struct nvt_arrow_owner *owner)
{
    if (owner && __atomic_sub_fetch(&owner->references, 1, __ATOMIC_ACQ_REL) == 0)
        owner->end(owner);
}

/* --- arrays --- */

/* What an array has. */
struct held {
    const void *buffers[3];
    void *owned[3];
    struct nvt_arrow_owner *owner;
    struct ArrowArray dictionary;
    void *children; /* of a batch: pointers, and behind them what they point at */
};

/* Where there are no values: not every reader takes NULL. */
static const int64_t nothing[8];

static void release_array(struct ArrowArray *array)
{
    struct held *held = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++)
        if (array->children[i]->release)
            array->children[i]->release(array->children[i]);
    if (array->dictionary && array->dictionary->release)
        array->dictionary->release(array->dictionary);
    for (int i = 0; i < 3; i++)
        free(held->owned[i]);
    free(held->children);
    nvt_arrow_drop(held->owner);
    free(held);
    array->release = NULL;
}

int nvt_arrow_array(struct ArrowArray *array, const struct nvt_arrow_buffers *from)
{
    struct held *held = calloc(1, sizeof(*held));
    if (!held) {
        free(from->validity);
        free(from->offsets);
        if (!from->owner)
            free((void *)(uintptr_t)from->values);
        return -1;
    }
    int count = 0;
    held->buffers[count] = held->owned[count] = from->validity;
    count++;
    if (from->offsets) {
        held->buffers[count] = held->owned[count] = from->offsets;
        count++;
    }
    held->buffers[count] = from->values ? from->values : nothing;
    if (!from->owner)
        held->owned[count] = (void *)(uintptr_t)from->values;
    count++;
    held->owner = from->owner;
    nvt_arrow_hold(from->owner);
    *array = (struct ArrowArray){.length = from->length,
                                 .null_count = from->nulls,
                                 .n_buffers = count,
                                 .buffers = held->buffers,
                                 .release = release_array,
                                 .private_data = held};
    return 0;
}

int nvt_arrow_set_dictionary(struct ArrowArray *array, struct nvt_arrow_owner *owner,
                             const int64_t *offsets, const char *bytes, int64_t count)
{
    struct held *held = array->private_data;
    struct held *texts = calloc(1, sizeof(*texts));
    if (!texts) {
        array->release(array);
        return -1;
    }
    texts->buffers[1] = offsets;
    texts->buffers[2] = bytes ? bytes : (const char *)nothing;
    texts->owner = owner;
    nvt_arrow_hold(owner);
    held->dictionary = (struct ArrowArray){.length = count,
                                           .n_buffers = 3,
                                           .buffers = texts->buffers,
                                           .release = release_array,
                                           .private_data = texts};
    array->dictionary = &held->dictionary;
    return 0;
}

uint8_t *nvt_arrow_bits(int64_t length)
{
    const size_t bytes = (size_t)(length + 7) / 8 + 1;
    uint8_t *bits = malloc(bytes);
    if (bits)
        memset(bits, 0xff, bytes);
    return bits;
}

int nvt_arrow_set_null(struct nvt_arrow_buffers *buffers, int64_t row)
{
    if (!buffers->validity)
        buffers->validity = nvt_arrow_bits(buffers->length);
    if (!buffers->validity)
        return -1;
    nvt_arrow_clear(buffers->validity, row);
    buffers->nulls++;
    return 0;
}

/* --- schemas --- */

struct schema {
    void *children; /* of a batch's: pointers, and behind them what they point at */
    struct ArrowSchema dictionary;
    char *name, *metadata;
};

static void release_schema(struct ArrowSchema *schema)
{
    struct schema *held = schema->private_data;
    for (int64_t i = 0; i < schema->n_children; i++)
        if (schema->children[i]->release)
            schema->children[i]->release(schema->children[i]);
    if (held) {
        free(held->children);
        free(held->name);
        free(held->metadata);
        free(held);
    }
    schema->release = NULL;
}

/* A number of 32 bits and a text behind its length, as metadata is written. */
static void put_text(struct nvt_buffer *out, const char *text)
{
    const int32_t length = (int32_t)strlen(text);
    (void)nvt_buffer_append(out, &length, sizeof(length));
    (void)nvt_buffer_append(out, text, (size_t)length);
}

/* What a column means, as metadata; NULL: nothing is known, or out of memory. */
static char *metadata_of(const struct nvt_arrow_field *field)
{
    struct nvt_buffer out = {0};
    const int has_unit = field->unit && *field->unit, has_about = field->about && *field->about;
    const int32_t count = has_unit + has_about;
    if (!count)
        return NULL;
    (void)nvt_buffer_append(&out, &count, sizeof(count));
    if (has_unit) {
        put_text(&out, "unit");
        put_text(&out, field->unit);
    }
    if (has_about) {
        put_text(&out, "about");
        put_text(&out, field->about);
    }
    if (out.failed) {
        nvt_buffer_free(&out);
        return NULL;
    }
    return (char *)out.data;
}

static void release_texts(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

/* 0, or -1 when out of memory. */
static int set_field(struct ArrowSchema *schema, const struct nvt_arrow_field *field)
{
    struct schema *held = calloc(1, sizeof(*held));
    if (!held)
        return -1;
    held->name = strdup(field->name);
    held->metadata = metadata_of(field);
    if (!held->name) {
        free(held->metadata);
        free(held);
        return -1;
    }
    *schema = (struct ArrowSchema){.format = field->dictionary ? field->dictionary : field->format,
                                   .name = held->name,
                                   .metadata = held->metadata,
                                   .flags = ARROW_FLAG_NULLABLE,
                                   .release = release_schema,
                                   .private_data = held};
    if (!field->dictionary)
        return 0;
    held->dictionary =
        (struct ArrowSchema){.format = field->format, .name = "", .release = release_texts};
    schema->dictionary = &held->dictionary;
    return 0;
}

/* --- streams --- */

struct stream {
    struct nvt_arrow_source source;
    size_t at;
};

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    const struct nvt_arrow_source *source = &((struct stream *)stream->private_data)->source;
    struct schema *held = calloc(1, sizeof(*held));
    struct ArrowSchema **children =
        calloc(source->columns + 1, sizeof(*children) + sizeof(**children));
    if (!held || !children) {
        free(held);
        free(children);
        return ENOMEM;
    }
    held->children = children;
    for (size_t i = 0; i < source->columns; i++)
        children[i] = (struct ArrowSchema *)(void *)(children + source->columns + 1) + i;
    *out = (struct ArrowSchema){.format = "+s",
                                .name = "",
                                .n_children = (int64_t)source->columns,
                                .children = children,
                                .release = release_schema,
                                .private_data = held};
    for (size_t i = 0; i < source->columns; i++) {
        struct nvt_arrow_field field = {0};
        source->field(source, i, &field);
        if (set_field(children[i], &field)) {
            release_schema(out);
            return ENOMEM;
        }
    }
    return 0;
}

static int make_batch(const struct nvt_arrow_source *source, size_t batch, struct ArrowArray *out)
{
    struct held *held = calloc(1, sizeof(*held));
    struct ArrowArray **children =
        calloc(source->columns + 1, sizeof(*children) + sizeof(**children));
    if (!held || !children) {
        free(held);
        free(children);
        return -1;
    }
    held->children = children;
    for (size_t i = 0; i < source->columns; i++)
        children[i] = (struct ArrowArray *)(void *)(children + source->columns + 1) + i;
    *out = (struct ArrowArray){.length = source->rows(source, batch),
                               .n_buffers = 1,
                               .n_children = (int64_t)source->columns,
                               .buffers = held->buffers,
                               .children = children,
                               .release = release_array,
                               .private_data = held};
    for (size_t i = 0; i < source->columns; i++)
        if (source->fill(source, batch, i, children[i])) {
            release_array(out);
            return -1;
        }
    return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct stream *held = stream->private_data;
    *out = (struct ArrowArray){0};
    if (held->at == held->source.batches)
        return 0;
    return make_batch(&held->source, held->at++, out) ? ENOMEM : 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "out of memory";
}

static void release_stream(struct ArrowArrayStream *stream)
{
    struct stream *held = stream->private_data;
    nvt_arrow_drop(held->source.owner);
    free(held);
    stream->release = NULL;
}

int nvt_arrow_stream(const struct nvt_arrow_source *source, struct ArrowArrayStream *out)
{
    struct stream *held = calloc(1, sizeof(*held));
    if (!held)
        return -1;
    held->source = *source;
    nvt_arrow_hold(source->owner);
    *out = (struct ArrowArrayStream){get_schema, get_next, get_last_error, release_stream, held};
    /* cppcheck-suppress memleak ; it is the stream's */
    return 0;
}
