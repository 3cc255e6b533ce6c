#include "ipc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flat.h"

/* Numbers of Arrow's Schema.fbs and Message.fbs. */
enum { VERSION_5 = 4 };
enum { HEADER_SCHEMA = 1, HEADER_DICTIONARY = 2, HEADER_BATCH = 3 };
enum { TYPE_INT = 2, TYPE_REAL = 3, TYPE_LARGE_TEXT = 20 };
enum { PRECISION_DOUBLE = 2 };

#define MAGIC "ARROW1"

struct node {
    int64_t length, nulls;
};

/* A buffer of a message's body; `owned` is freed. */
struct piece {
    const void *data;
    size_t size;
    void *owned;
};

struct body {
    struct node *nodes;
    struct piece *pieces;
    uint32_t node_count, piece_count;
};

/* Where a message is, as the footer says. */
struct block {
    uint64_t offset, head, body;
};

struct file {
    FILE *out;
    uint64_t at;
    const struct ArrowSchema *schema;
    const struct ArrowArray *batch;
    const struct nvt_arrow_choice *choice;
    struct block *dictionaries, rows;
    uint32_t dictionary_count;
};

static void put_bytes(struct file *file, const void *data, size_t size)
{
    file->at += size;
    if (size)
        (void)fwrite(data, 1, size, file->out); /* an error stays with the stream */
}

static void pad(struct file *file)
{
    static const char zeros[8];
    put_bytes(file, zeros, (8 - file->at % 8) % 8);
}

/* Bytes of a value; 0: none that is written. */
static uint32_t width_of(const char *format)
{
    static const char formats[] = "cCsSiIlLg";
    static const uint8_t widths[] = {1, 1, 2, 2, 4, 4, 8, 8, 8};
    const char *at = format[0] && !format[1] ? strchr(formats, format[0]) : NULL;
    return at ? widths[at - formats] : 0;
}

/* --- the schema --- */

static uint32_t put_integer_type(struct nvt_buffer *out, const char *format)
{
    uint32_t places[2];
    const uint32_t table = nvt_flat_table(out, (const uint8_t[]){4, 1}, 2, places);
    nvt_flat_put(out, places[0], 8 * (uint64_t)width_of(format), 4);
    nvt_flat_put(out, places[1], format[0] >= 'a', 1);
    return table;
}

static uint32_t put_type(struct nvt_buffer *out, const char *format, uint8_t *number)
{
    uint32_t places[1];
    *number = TYPE_INT;
    if (*format == 'U') {
        *number = TYPE_LARGE_TEXT;
        return nvt_flat_table(out, NULL, 0, places);
    }
    if (*format != 'g')
        return put_integer_type(out, format);
    *number = TYPE_REAL;
    const uint32_t table = nvt_flat_table(out, (const uint8_t[]){2}, 1, places);
    nvt_flat_put(out, places[0], PRECISION_DOUBLE, 2);
    return table;
}

static int32_t take_length(const char **at)
{
    int32_t length;
    memcpy(&length, *at, sizeof(length));
    *at += sizeof(length);
    return length;
}

/* Pairs of texts, which the C data interface has behind their lengths. */
static void put_metadata(struct nvt_buffer *out, uint32_t place, const char *metadata)
{
    const int32_t count = take_length(&metadata);
    const uint32_t vector = nvt_flat_vector(out, (uint32_t)count, 4);
    nvt_flat_link(out, place, vector - 4);
    for (int32_t i = 0; i < count; i++) {
        uint32_t places[2];
        nvt_flat_link(out, vector + 4 * (uint32_t)i,
                      nvt_flat_table(out, (const uint8_t[]){4, 4}, 2, places));
        for (int k = 0; k < 2; k++) {
            const int32_t length = take_length(&metadata);
            nvt_flat_link(out, places[k], nvt_flat_text(out, metadata, (uint32_t)length));
            metadata += length;
        }
    }
}

static uint32_t put_field(struct nvt_buffer *out, const struct ArrowSchema *field, uint64_t id)
{
    enum { NAME, NULLABLE, TYPE_NUMBER, TYPE, DICTIONARY, CHILDREN, METADATA, FIELDS };
    const uint8_t sizes[FIELDS] = {
        4, 1, 1, 4, field->dictionary ? 4 : 0, 4, field->metadata ? 4 : 0};
    uint32_t places[FIELDS], inner[2];
    uint8_t number;
    const uint32_t table = nvt_flat_table(out, sizes, FIELDS, places);
    nvt_flat_link(out, places[NAME],
                  nvt_flat_text(out, field->name, (uint32_t)strlen(field->name)));
    nvt_flat_put(out, places[NULLABLE], 1, 1);
    const char *format = field->dictionary ? field->dictionary->format : field->format;
    nvt_flat_link(out, places[TYPE], put_type(out, format, &number));
    nvt_flat_put(out, places[TYPE_NUMBER], number, 1);
    if (field->dictionary) {
        nvt_flat_link(out, places[DICTIONARY],
                      nvt_flat_table(out, (const uint8_t[]){8, 4}, 2, inner));
        nvt_flat_put(out, inner[0], id, 8);
        nvt_flat_link(out, inner[1], put_integer_type(out, field->format));
    }
    nvt_flat_link(out, places[CHILDREN], nvt_flat_vector(out, 0, 4) - 4);
    if (field->metadata)
        put_metadata(out, places[METADATA], field->metadata);
    return table;
}

static uint32_t put_schema(struct nvt_buffer *out, const struct file *file)
{
    const struct ArrowSchema *schema = file->schema;
    uint32_t places[2], at = 0;
    const uint32_t table = nvt_flat_table(out, (const uint8_t[]){0, 4}, 2, places);
    const uint32_t vector =
        nvt_flat_vector(out, (uint32_t)(schema->n_children - (file->choice->skipped >= 0)), 4);
    nvt_flat_link(out, places[1], vector - 4);
    for (int64_t i = 0; i < schema->n_children; i++)
        if (i != file->choice->skipped)
            nvt_flat_link(out, vector + 4 * at++, put_field(out, schema->children[i], (uint64_t)i));
    return table;
}

/* --- messages --- */

/* Begin one: where its header is entered. */
static uint32_t begin_message(struct nvt_buffer *out, int header, uint64_t body)
{
    uint32_t places[4];
    const uint32_t root = nvt_flat_root(out);
    nvt_flat_link(out, root, nvt_flat_table(out, (const uint8_t[]){2, 1, 4, 8}, 4, places));
    nvt_flat_put(out, places[0], VERSION_5, 2);
    nvt_flat_put(out, places[1], (uint64_t)header, 1);
    nvt_flat_put(out, places[3], body, 8);
    return places[2];
}

static int write_head(struct file *file, struct nvt_buffer *head, struct block *block)
{
    const uint32_t length = (uint32_t)(head->size + 7) / 8 * 8, before[] = {UINT32_MAX, length};
    const int failed = head->failed;
    block->offset = file->at;
    block->head = sizeof(before) + length;
    if (!failed) {
        put_bytes(file, before, sizeof(before));
        put_bytes(file, head->data, head->size);
        pad(file);
    }
    nvt_buffer_free(head);
    return failed ? -1 : 0;
}

static uint64_t padded(uint64_t size)
{
    return (size + 7) / 8 * 8;
}

static uint32_t put_batch(struct nvt_buffer *out, const struct body *body, int64_t length)
{
    uint32_t places[3];
    uint64_t offset = 0;
    const uint32_t table = nvt_flat_table(out, (const uint8_t[]){8, 4, 4}, 3, places);
    nvt_flat_put(out, places[0], (uint64_t)length, 8);
    uint32_t vector = nvt_flat_vector(out, body->node_count, 16);
    nvt_flat_link(out, places[1], vector - 4);
    for (uint32_t i = 0; i < body->node_count; i++, vector += 16) {
        nvt_flat_put(out, vector, (uint64_t)body->nodes[i].length, 8);
        nvt_flat_put(out, vector + 8, (uint64_t)body->nodes[i].nulls, 8);
    }
    vector = nvt_flat_vector(out, body->piece_count, 16);
    nvt_flat_link(out, places[2], vector - 4);
    for (uint32_t i = 0; i < body->piece_count; i++, vector += 16) {
        nvt_flat_put(out, vector, offset, 8);
        nvt_flat_put(out, vector + 8, body->pieces[i].size, 8);
        offset += padded(body->pieces[i].size);
    }
    return table;
}

/* A record batch, or with an id a dictionary. */
static int write_batch(struct file *file, const struct body *body, int64_t length, int64_t id,
                       struct block *block)
{
    struct nvt_buffer head = {0};
    uint32_t places[2];
    block->body = 0;
    for (uint32_t i = 0; i < body->piece_count; i++)
        block->body += padded(body->pieces[i].size);
    uint32_t place = begin_message(&head, id < 0 ? HEADER_BATCH : HEADER_DICTIONARY, block->body);
    if (id >= 0) {
        nvt_flat_link(&head, place, nvt_flat_table(&head, (const uint8_t[]){8, 4}, 2, places));
        nvt_flat_put(&head, places[0], (uint64_t)id, 8);
        place = places[1];
    }
    nvt_flat_link(&head, place, put_batch(&head, body, length));
    if (write_head(file, &head, block))
        return -1;
    for (uint32_t i = 0; i < body->piece_count; i++) {
        put_bytes(file, body->pieces[i].data, body->pieces[i].size);
        pad(file);
    }
    return 0;
}

/* --- columns --- */

static int write_dictionary(struct file *file, const struct ArrowArray *texts, int64_t id)
{
    const int64_t *offsets = texts->buffers[1];
    struct node node = {texts->length, 0};
    struct piece pieces[] = {{NULL, 0, NULL},
                             {offsets, ((size_t)texts->length + 1) * sizeof(*offsets), NULL},
                             {texts->buffers[2], (size_t)offsets[texts->length], NULL}};
    const struct body body = {&node, pieces, 1, 3};
    return write_batch(file, &body, texts->length, id,
                       &file->dictionaries[file->dictionary_count++]);
}

/* The chosen rows of values, and of bits that say which are null. 0, or -1 when out of memory. */
static int gather(const struct nvt_arrow_choice *choice, const struct ArrowArray *array,
                  uint32_t width, struct node *node, struct piece pieces[2])
{
    const uint8_t *bits = array->buffers[0], *values = array->buffers[1];
    const size_t count = (size_t)choice->count;
    uint8_t *out = pieces[1].owned = malloc(count * width + 1);
    uint8_t *valid = pieces[0].owned = bits ? nvt_arrow_bits(choice->count) : NULL;
    if (!out || (bits && !valid))
        return -1;
    node->nulls = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t row = choice->rows[i];
        memcpy(out + i * width, values + (size_t)row * width, width);
        if (bits && !(bits[row / 8] >> row % 8 & 1)) {
            nvt_arrow_clear(valid, (int64_t)i);
            node->nulls++;
        }
    }
    pieces[0].data = valid;
    pieces[1].data = out;
    return 0;
}

/* 0, or -1 when out of memory, or of a column of another kind. */
static int take_column(const struct file *file, int64_t column, struct body *body)
{
    const struct ArrowArray *array = file->batch->children[column];
    const uint32_t width = width_of(file->schema->children[column]->format);
    struct node *node = &body->nodes[body->node_count++];
    struct piece *pieces = &body->pieces[body->piece_count];
    body->piece_count += 2;
    *node =
        (struct node){file->choice->rows ? file->choice->count : array->length, array->null_count};
    pieces[0] = (struct piece){array->buffers[0], 0, NULL};
    pieces[1] = (struct piece){width ? array->buffers[1] : NULL, 0, NULL};
    if (!width || array->offset || array->n_buffers != 2) {
        errno = EINVAL;
        return -1;
    }
    if (file->choice->rows && gather(file->choice, array, width, node, pieces))
        return -1;
    pieces[0].size = pieces[0].data ? (size_t)(node->length + 7) / 8 : 0;
    pieces[1].size = (size_t)node->length * width;
    return 0;
}

static int write_rows(struct file *file)
{
    const size_t columns = (size_t)file->batch->n_children;
    struct body body = {.nodes = calloc(columns + 1, sizeof(*body.nodes)),
                        .pieces = calloc(2 * columns + 1, sizeof(*body.pieces))};
    int status = body.nodes && body.pieces ? 0 : -1;
    for (int64_t i = 0; i < file->batch->n_children && !status; i++)
        if (i != file->choice->skipped)
            status = take_column(file, i, &body);
    if (!status)
        status =
            write_batch(file, &body, file->choice->rows ? file->choice->count : file->batch->length,
                        -1, &file->rows);
    for (uint32_t i = 0; i < body.piece_count; i++)
        free(body.pieces[i].owned);
    free(body.nodes);
    free(body.pieces);
    return status;
}

/* --- the file --- */

static void put_blocks(struct nvt_buffer *out, uint32_t place, const struct block *blocks,
                       uint32_t count)
{
    uint32_t vector = nvt_flat_vector(out, count, 24);
    nvt_flat_link(out, place, vector - 4);
    for (uint32_t i = 0; i < count; i++, vector += 24) {
        nvt_flat_put(out, vector, blocks[i].offset, 8);
        nvt_flat_put(out, vector + 8, blocks[i].head, 4);
        nvt_flat_put(out, vector + 16, blocks[i].body, 8);
    }
}

static int write_footer(struct file *file)
{
    static const uint32_t end[] = {UINT32_MAX, 0};
    struct nvt_buffer footer = {0};
    uint32_t places[4];
    const uint32_t root = nvt_flat_root(&footer);
    nvt_flat_link(&footer, root, nvt_flat_table(&footer, (const uint8_t[]){2, 4, 4, 4}, 4, places));
    nvt_flat_put(&footer, places[0], VERSION_5, 2);
    nvt_flat_link(&footer, places[1], put_schema(&footer, file));
    put_blocks(&footer, places[2], file->dictionaries, file->dictionary_count);
    put_blocks(&footer, places[3], &file->rows, 1);
    put_bytes(file, end, sizeof(end));
    const uint32_t size = (uint32_t)footer.size;
    const int failed = footer.failed;
    if (!failed) {
        put_bytes(file, footer.data, size);
        put_bytes(file, &size, sizeof(size));
        put_bytes(file, MAGIC, sizeof(MAGIC) - 1);
    }
    nvt_buffer_free(&footer);
    return failed ? -1 : 0;
}

int nvt_arrow_write(FILE *out, const struct ArrowSchema *schema, const struct ArrowArray *batch,
                    const struct nvt_arrow_choice *choice)
{
    struct file file = {.out = out, .schema = schema, .batch = batch, .choice = choice};
    struct nvt_buffer head = {0};
    struct block block;
    file.dictionaries = calloc((size_t)schema->n_children + 1, sizeof(*file.dictionaries));
    if (!file.dictionaries)
        return -1;
    put_bytes(&file, MAGIC "\0", sizeof(MAGIC) + 1);
    const uint32_t place = begin_message(&head, HEADER_SCHEMA, 0);
    nvt_flat_link(&head, place, put_schema(&head, &file));
    int status = write_head(&file, &head, &block);
    for (int64_t i = 0; i < schema->n_children && !status; i++)
        if (i != choice->skipped && schema->children[i]->dictionary)
            status = write_dictionary(&file, batch->children[i]->dictionary, i);
    if (!status)
        status = write_rows(&file) || write_footer(&file) || ferror(out) ? -1 : 0;
    free(file.dictionaries);
    return status;
}
