#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/bisect.h"
#include "../device/project.h"
#include "../input/ranks.h"
#include "../model/sort.h"

void nvt_model_free(struct nvt_model *model)
{
    for (size_t i = 0; model->parts && i < model->count; i++) {
        struct nvt_model_part *part = &model->parts[i];
        for (size_t k = 0; k < NVT_TABLE_COUNT; k++)
            for (size_t c = 0; c < NVT_SHOWN_COLUMNS_MOST; c++)
                free(part->orders[k][c].rows);
        free(part->op_ranges);
        free(part->op_range_names);
        free(part->ranks);
    }
    free(model->parts);
    *model = (struct nvt_model){0};
}

static int make_part(struct nvt_model_part *part, const struct nvt_input_trace *from)
{
    const struct nvt_trace *trace = part->trace = from->trace;
    part->ranks = calloc((size_t)trace->processes.count + 1, sizeof(*part->ranks));
    if (!part->ranks)
        return -1;
    part->rank = nvt_input_rank(from, 0);
    for (uint32_t i = 0; i < trace->processes.count; i++) {
        part->ranks[i] = nvt_input_rank(from, i);
        if (part->ranks[i] != part->ranks[0])
            part->rank = NVT_NONE;
    }
    return 0;
}

int nvt_model_make(struct nvt_model *model, const struct nvt_input *input, struct nvt_error *err)
{
    const struct nvt_shown_table *tables = nvt_shown_tables();
    int64_t base[NVT_TABLE_COUNT] = {0};
    *model = (struct nvt_model){.input = input, .count = input->trace_count};
    model->parts = calloc(model->count + 1, sizeof(*model->parts));
    if (!model->parts)
        return nvt_fail(err, "out of memory");
    for (size_t i = 0; i < model->count; i++) {
        if (make_part(&model->parts[i], &input->traces[i])) {
            nvt_model_free(model);
            return nvt_fail(err, "out of memory");
        }
        memcpy(model->parts[i].base, base, sizeof(base));
        for (size_t k = 0; k < NVT_TABLE_COUNT; k++)
            base[k] += nvt_layout_rows(model->parts[i].trace, tables[k].layout);
    }
    return 0;
}

int64_t nvt_model_rows(const struct nvt_model *model, const struct nvt_shown_table *table)
{
    int64_t rows = 0;
    for (size_t i = 0; i < model->count; i++)
        rows += nvt_layout_rows(model->parts[i].trace, table->layout);
    return rows;
}

/* --- what has to be worked out --- */

static int visit_op(void *context, uint32_t op, const uint32_t *ranges, uint32_t count)
{
    ((uint32_t *)context)[op] = count ? ranges[count - 1] : NVT_NONE;
    return 0;
}

static int project_part(struct nvt_model_part *part, unsigned projection, struct nvt_error *err)
{
    const struct nvt_trace *trace = part->trace;
    const size_t size = ((size_t)trace->ops.count + 1) * sizeof(uint32_t);
    uint32_t *ranges = malloc(size), *names = malloc(size);
    int status = ranges && names ? 0 : nvt_fail(err, "out of memory");
    if (!status) {
        memset(ranges, 0xff, size);
        status = nvt_project(trace, projection, visit_op, ranges, err);
    }
    if (status) {
        free(ranges);
        free(names);
        return -1;
    }
    for (uint32_t i = 0; i < trace->ops.count; i++)
        names[i] = ranges[i] == NVT_NONE ? 0 : trace->ranges.name[ranges[i]];
    part->op_ranges = ranges;
    part->op_range_names = names;
    return 0;
}

int nvt_model_prepare(struct nvt_model *model, const struct nvt_shown_column *column,
                      struct nvt_error *err)
{
    if (column->kind != NVT_SHOWN_RANGE && column->kind != NVT_SHOWN_RANGE_NAME)
        return 0;
    for (size_t i = 0; i < model->count; i++)
        if (!model->parts[i].op_ranges &&
            project_part(&model->parts[i], nvt_input_projection(model->input), err))
            return -1;
    return 0;
}

/* --- values --- */

uint64_t nvt_model_stored(const struct nvt_trace *trace, const struct nvt_layout_table *table,
                          uint32_t column, uint32_t row)
{
    const struct nvt_layout_column *what = &table->columns[column];
    const void *values = nvt_layout_values(trace, table, column);
    /* Not by nvt_layout_take: this is asked for each row of a statement. */
    switch (what->width) {
    case 1:
        return ((const uint8_t *)values)[row];
    case 2:
        return ((const uint16_t *)values)[row];
    case 4:
        return what->meaning == NVT_MEANS_SIGNED ? (uint64_t)(int64_t)((const int32_t *)values)[row]
                                                 : ((const uint32_t *)values)[row];
    default:
        return ((const uint64_t *)values)[row];
    }
}

static const struct nvt_value no_value;

static struct nvt_value integer(int64_t value)
{
    return (struct nvt_value){.type = NVT_VALUE_IS_INT, .integer = value};
}

static struct nvt_value number_unless(uint64_t value, uint32_t none)
{
    return value == none ? no_value : integer((int64_t)value);
}

static struct nvt_value string_of(const struct nvt_trace *trace, uint32_t id)
{
    struct nvt_value value = {.type = NVT_VALUE_IS_TEXT};
    value.text = nvt_strings_get(trace->strings, id, &value.length);
    return value;
}

static struct nvt_value text_of(const struct nvt_trace *trace, const struct nvt_layout_column *what,
                                uint32_t id)
{
    return !id && strcmp(what->name, "name") != 0 ? no_value : string_of(trace, id);
}

/* Of an operation: its kernel's row, or a copy's. */
static struct nvt_value detail_of(const struct nvt_model_part *part, uint32_t row)
{
    const struct nvt_ops *ops = &part->trace->ops;
    const int table = ops->kind[row] == NVT_OP_KERNEL ? NVT_TABLE_kernels : NVT_TABLE_migrations;
    return ops->detail[row] == NVT_NONE ? no_value : integer(part->base[table] + ops->detail[row]);
}

static struct nvt_value number_of(const struct nvt_shown_column *column,
                                  const struct nvt_layout_column *what, uint64_t stored)
{
    const uint64_t ones = what->width == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * what->width) - 1;
    switch (column->unknown) {
    case NVT_UNKNOWN_ZERO:
        return stored ? integer((int64_t)stored) : no_value;
    case NVT_UNKNOWN_NONE:
        return stored == ones ? no_value : integer((int64_t)stored);
    case NVT_UNKNOWN_LEAST:
        return (int64_t)stored == INT32_MIN ? no_value : integer((int64_t)stored);
    case NVT_UNKNOWN_MINUS:
        return (int64_t)stored == -1 ? no_value : integer((int64_t)stored);
    case NVT_UNKNOWN_AND_1:
        return stored ? integer((int64_t)stored - 1) : no_value;
    default:
        return integer((int64_t)stored);
    }
}

static struct nvt_value stored_value(const struct nvt_shown_table *table,
                                     const struct nvt_shown_column *column,
                                     const struct nvt_model_part *part, uint32_t row)
{
    const struct nvt_layout_column *what = &table->layout->columns[column->stored];
    const uint64_t stored = nvt_model_stored(part->trace, table->layout, column->stored, row);
    struct nvt_value real = {.type = NVT_VALUE_IS_REAL};
    switch (what->meaning) {
    case NVT_MEANS_TEXT:
        return text_of(part->trace, what, (uint32_t)stored);
    case NVT_MEANS_REAL:
        memcpy(&real.real, &stored, sizeof(real.real));
        return real;
    case NVT_MEANS_ROW_AND_1:
        return stored ? integer(part->base[column->target] + (int64_t)stored - 1) : no_value;
    case NVT_MEANS_DETAIL:
        return detail_of(part, row);
    case NVT_MEANS_TIME_OR_NONE:
        return (int64_t)stored == INT64_MIN ? no_value : integer((int64_t)stored);
    default:
        if (column->unknown == NVT_UNKNOWN_WITH_REGISTERS && !stored &&
            !part->trace->kernels.registers[row])
            return no_value;
        if (column->target == NVT_TABLE_COUNT)
            return number_of(column, what, stored);
        return stored == NVT_NONE ? no_value
                                  : integer(part->base[column->target] + (int64_t)stored);
    }
}

/* The column that says whose a row is, as NVT_TABLES has it or else by what it refers to; NVT_NONE: none does. */
static uint32_t owner_of(const struct nvt_layout_table *table)
{
    if (table->owner != NVT_NONE)
        return table->owner;
    for (uint32_t i = 0; i < table->count; i++)
        if ((table->columns[i].meaning == NVT_MEANS_ROW ||
             table->columns[i].meaning == NVT_MEANS_ROW_OR_NONE) &&
            (table->columns[i].target == NVT_TABLE_processes ||
             table->columns[i].target == NVT_TABLE_threads))
            return i;
    return NVT_NONE;
}

static struct nvt_value rank_of(const struct nvt_shown_table *table,
                                const struct nvt_model_part *part, uint32_t row)
{
    const struct nvt_trace *trace = part->trace;
    const uint32_t column = owner_of(table->layout);
    uint32_t owner;
    if (table->number == NVT_TABLE_processes)
        return number_unless(part->ranks[row], NVT_NONE);
    if (column == NVT_NONE)
        return number_unless(part->rank, NVT_NONE);
    owner = (uint32_t)nvt_model_stored(trace, table->layout, column, row);
    if (owner == NVT_NONE)
        return number_unless(part->rank, NVT_NONE);
    if (table->layout->columns[column].target == NVT_TABLE_counters)
        owner = trace->counters.process[owner];
    else if (table->layout->columns[column].target == NVT_TABLE_threads)
        owner = trace->threads.process[owner];
    return number_unless(part->ranks[owner], NVT_NONE);
}

/* Whether both ends of a span were seen. */
static int is_whole(const struct nvt_shown_table *table, const struct nvt_trace *trace,
                    uint32_t row)
{
    switch (table->number) {
    case NVT_TABLE_ranges:
        return !(trace->ranges.flags[row] & NVT_RANGE_PARTIAL);
    case NVT_TABLE_os_calls:
        return !(trace->os_calls.flags[row] & NVT_RANGE_PARTIAL);
    case NVT_TABLE_mpi_calls:
        return !(trace->mpi_calls.flags[row] & NVT_RANGE_PARTIAL);
    default:
        return 1;
    }
}

static struct nvt_value of_kernel(const struct nvt_shown_column *column,
                                  const struct nvt_model_part *part, uint32_t row)
{
    const struct nvt_shown_table *kernels = &nvt_shown_tables()[NVT_TABLE_kernels];
    const struct nvt_ops *ops = &part->trace->ops;
    return ops->kind[row] != NVT_OP_KERNEL || ops->detail[row] == NVT_NONE
               ? no_value
               : stored_value(kernels, &kernels->columns[column->stored], part, ops->detail[row]);
}

struct nvt_value nvt_model_value(const struct nvt_model *model, const struct nvt_shown_table *table,
                                 uint32_t column, size_t part, uint32_t row)
{
    const struct nvt_shown_column *what = &table->columns[column];
    const struct nvt_model_part *in = &model->parts[part];
    const struct nvt_trace *trace = in->trace;
    switch (what->kind) {
    case NVT_SHOWN_ID:
        return integer(in->base[table->number] + row);
    case NVT_SHOWN_FILE:
        return (struct nvt_value){
            .type = NVT_VALUE_IS_TEXT, .text = trace->path, .length = strlen(trace->path)};
    case NVT_SHOWN_RANK:
        return rank_of(table, in, row);
    case NVT_SHOWN_DURATION:
        return is_whole(table, trace, row) ? integer(nvt_layout_ends(trace, table->layout)[row] -
                                                     nvt_layout_starts(trace, table->layout)[row])
                                           : no_value;
    case NVT_SHOWN_RANGE:
        return in->op_ranges[row] == NVT_NONE
                   ? no_value
                   : integer(in->base[NVT_TABLE_ranges] + in->op_ranges[row]);
    case NVT_SHOWN_RANGE_NAME:
        return in->op_ranges[row] == NVT_NONE ? no_value
                                              : string_of(trace, in->op_range_names[row]);
    case NVT_SHOWN_OF_KERNEL:
        return of_kernel(what, in, row);
    default:
        return stored_value(table, what, in, row);
    }
}

uint64_t nvt_model_key(const struct nvt_model *model, const struct nvt_shown_table *table,
                       uint32_t column, size_t part, uint32_t row)
{
    const struct nvt_shown_column *what = &table->columns[column];
    const struct nvt_model_part *in = &model->parts[part];
    struct nvt_value value;
    switch (what->kind) {
    case NVT_SHOWN_ID:
        return row;
    case NVT_SHOWN_FILE:
        return 0;
    case NVT_SHOWN_RANK:
    case NVT_SHOWN_DURATION:
    case NVT_SHOWN_OF_KERNEL: /* none is below zero */
        value = nvt_model_value(model, table, column, part, row);
        return value.type == NVT_VALUE_IS_NULL ? UINT64_MAX : (uint64_t)value.integer;
    case NVT_SHOWN_RANGE:
        return in->op_ranges[row];
    case NVT_SHOWN_RANGE_NAME:
        return in->op_ranges[row] == NVT_NONE ? UINT64_MAX : in->op_range_names[row];
    default:
        if (what->unknown == NVT_UNKNOWN_WITH_REGISTERS &&
            nvt_model_value(model, table, column, part, row).type == NVT_VALUE_IS_NULL)
            return UINT64_MAX;
        return nvt_model_stored(in->trace, table->layout, what->stored, row);
    }
}

void nvt_model_fetch(const struct nvt_model *model, const struct nvt_shown_table *table,
                     uint32_t column, size_t part, uint32_t row)
{
    const struct nvt_shown_column *what = &table->columns[column];
    const struct nvt_model_part *in = &model->parts[part];
    const struct nvt_layout_column *stored;
    const char *values;
    switch (what->kind) {
    case NVT_SHOWN_DURATION:
        __builtin_prefetch(nvt_layout_starts(in->trace, table->layout) + row);
        __builtin_prefetch(nvt_layout_ends(in->trace, table->layout) + row);
        break;
    case NVT_SHOWN_RANGE:
    case NVT_SHOWN_RANGE_NAME:
        __builtin_prefetch(in->op_ranges + row);
        __builtin_prefetch(in->op_range_names + row);
        break;
    case NVT_SHOWN_OF_KERNEL:
        __builtin_prefetch(in->trace->ops.detail + row);
        break;
    case NVT_SHOWN_STORED:
        stored = &table->layout->columns[what->stored];
        values = nvt_layout_values(in->trace, table->layout, what->stored);
        __builtin_prefetch(values + (size_t)row * stored->width);
        break;
    default:
        break;
    }
}

/* --- finding rows --- */

int nvt_model_can_find(const struct nvt_shown_table *table, uint32_t column)
{
    const struct nvt_shown_column *what = &table->columns[column];
    if (what->kind != NVT_SHOWN_STORED)
        return 0;
    const enum nvt_column_meaning meaning = table->layout->columns[what->stored].meaning;
    return meaning != NVT_MEANS_DETAIL && meaning != NVT_MEANS_REAL;
}

int nvt_model_stored_of(const struct nvt_model *model, const struct nvt_shown_table *table,
                        uint32_t column, size_t part, const struct nvt_value *value,
                        uint64_t *stored)
{
    const struct nvt_shown_column *what = &table->columns[column];
    const struct nvt_layout_column *layout = &table->layout->columns[what->stored];
    const struct nvt_model_part *in = &model->parts[part];
    int64_t number = value->integer;
    if (layout->meaning == NVT_MEANS_TEXT) {
        *stored = nvt_strings_find(in->trace->strings, value->text, value->length);
        return *stored != NVT_NO_STRING;
    }
    if (what->target != NVT_TABLE_COUNT) {
        const struct nvt_shown_table *target = &nvt_shown_tables()[what->target];
        const int64_t base = in->base[what->target];
        if (number < base || number - base >= nvt_layout_rows(in->trace, target->layout))
            return 0;
        number += (layout->meaning == NVT_MEANS_ROW_AND_1) - base;
    } else if (what->unknown == NVT_UNKNOWN_AND_1) {
        if (number < 0 || number == INT64_MAX)
            return 0;
        number++;
    }
    *stored = (uint64_t)number;
    return 1;
}

static int is_before(uint64_t value, uint64_t stored, int or_equal)
{
    return (int64_t)value < (int64_t)stored || (or_equal && value == stored);
}

const struct nvt_model_order *nvt_model_order(struct nvt_model *model,
                                              const struct nvt_shown_table *table, uint32_t column,
                                              size_t part)
{
    struct nvt_model_part *in = &model->parts[part];
    struct nvt_model_order *order = &in->orders[table->number][column];
    const uint32_t rows = nvt_layout_rows(in->trace, table->layout);
    const uint32_t stored = table->columns[column].stored;
    if (order->is_made)
        return order;
    int64_t *keys = malloc(((size_t)rows + 1) * sizeof(*keys));
    if (!keys)
        return NULL;
    if (rows)
        nvt_layout_take(&table->layout->columns[stored],
                        nvt_layout_values(in->trace, table->layout, stored), rows,
                        (uint64_t *)keys);
    order->is_made = !nvt_sort_order(keys, NULL, rows, &order->rows);
    free(keys);
    return order->is_made ? order : NULL;
}

uint32_t nvt_model_place(struct nvt_model *model, const struct nvt_shown_table *table,
                         uint32_t column, size_t part, uint64_t stored, int behind)
{
    const struct nvt_model_part *in = &model->parts[part];
    struct nvt_model_order *order = &model->parts[part].orders[table->number][column];
    const uint32_t count = nvt_layout_rows(in->trace, table->layout), *rows = order->rows;
    const uint32_t number = table->columns[column].stored;
    uint32_t low = 0, high = count, step = 1;
#define IS_BEFORE(place)                                                                           \
    is_before(nvt_model_stored(in->trace, table->layout, number, rows ? rows[place] : (place)),    \
              stored, behind)
    /* Steps that double, from the last place on to one that is not before it, or back to one that is. */
    if (order->last < count && IS_BEFORE(order->last)) {
        low = order->last + 1;
        for (; step < count - low && IS_BEFORE(low + step); step *= 2)
            low += step + 1;
        high = step < count - low ? low + step : count;
    } else if (order->last < count) {
        high = order->last;
        for (; step < high && !IS_BEFORE(high - step); step *= 2)
            high -= step;
        low = step < high ? high - step : 0;
    }
    uint32_t at = low;
    NVT_BISECT(at, high, IS_BEFORE(at));
#undef IS_BEFORE
    order->last = at;
    return at;
}
