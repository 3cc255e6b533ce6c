/*
 * Values of a table's cells, made of plain ones by their types: how nvt_table_put (table.h) takes
 * integers, doubles and texts as they are, without a conversion that loses something.
 */
#ifndef NVT_CELLS_H
#define NVT_CELLS_H

#include <stdint.h>

#include "sample.h"

enum nvt_cell_kind {
    NVT_CELL_NULL,
    NVT_CELL_INT,
    NVT_CELL_REAL,
    NVT_CELL_TEXT,
    NVT_CELL_SUMMARY,
    NVT_CELL_END
};

struct nvt_cell {
    enum nvt_cell_kind kind;
    union {
        int64_t integer;
        double real;
        const char *text;
        const struct nvt_summary *summary;
    };
};

static inline struct nvt_cell nvt_cell_int(int64_t value)
{
    return (struct nvt_cell){NVT_CELL_INT, {.integer = value}};
}

static inline struct nvt_cell nvt_cell_unsigned(uint64_t value)
{
    return (struct nvt_cell){NVT_CELL_INT, {.integer = (int64_t)value}};
}

static inline struct nvt_cell nvt_cell_real(double value)
{
    return (struct nvt_cell){NVT_CELL_REAL, {.real = value}};
}

static inline struct nvt_cell nvt_cell_text(const char *value)
{
    return (struct nvt_cell){NVT_CELL_TEXT, {.text = value}};
}

static inline struct nvt_cell nvt_cell_summary(const struct nvt_summary *value)
{
    return (struct nvt_cell){NVT_CELL_SUMMARY, {.summary = value}};
}

static inline struct nvt_cell nvt_cell_same(struct nvt_cell value)
{
    return value;
}

#define NVT_NULL      ((struct nvt_cell){NVT_CELL_NULL, {0}})
#define NVT_CELLS_END ((struct nvt_cell){NVT_CELL_END, {0}})

#ifdef NVT_CPPCHECK /* it takes no _Generic (packaging/cppcheck.cfg) */
#define NVT_CELL(value) nvt_cell_int((int64_t)(value))
#else
#define NVT_CELL(value)                                                                            \
    _Generic((value), char *                                                                       \
             : nvt_cell_text, const char *                                                         \
             : nvt_cell_text, double                                                               \
             : nvt_cell_real, float                                                                \
             : nvt_cell_real, unsigned long                                                        \
             : nvt_cell_unsigned, unsigned long long                                               \
             : nvt_cell_unsigned, struct nvt_summary *                                             \
             : nvt_cell_summary, const struct nvt_summary *                                        \
             : nvt_cell_summary, struct nvt_cell                                                   \
             : nvt_cell_same, default                                                              \
             : nvt_cell_int)(value)
#endif

/* NVT_CELL of each of up to 24 values. */
#define NVT_CELLS_1(v)       NVT_CELL(v)
#define NVT_CELLS_2(v, ...)  NVT_CELL(v), NVT_CELLS_1(__VA_ARGS__)
#define NVT_CELLS_3(v, ...)  NVT_CELL(v), NVT_CELLS_2(__VA_ARGS__)
#define NVT_CELLS_4(v, ...)  NVT_CELL(v), NVT_CELLS_3(__VA_ARGS__)
#define NVT_CELLS_5(v, ...)  NVT_CELL(v), NVT_CELLS_4(__VA_ARGS__)
#define NVT_CELLS_6(v, ...)  NVT_CELL(v), NVT_CELLS_5(__VA_ARGS__)
#define NVT_CELLS_7(v, ...)  NVT_CELL(v), NVT_CELLS_6(__VA_ARGS__)
#define NVT_CELLS_8(v, ...)  NVT_CELL(v), NVT_CELLS_7(__VA_ARGS__)
#define NVT_CELLS_9(v, ...)  NVT_CELL(v), NVT_CELLS_8(__VA_ARGS__)
#define NVT_CELLS_10(v, ...) NVT_CELL(v), NVT_CELLS_9(__VA_ARGS__)
#define NVT_CELLS_11(v, ...) NVT_CELL(v), NVT_CELLS_10(__VA_ARGS__)
#define NVT_CELLS_12(v, ...) NVT_CELL(v), NVT_CELLS_11(__VA_ARGS__)
#define NVT_CELLS_13(v, ...) NVT_CELL(v), NVT_CELLS_12(__VA_ARGS__)
#define NVT_CELLS_14(v, ...) NVT_CELL(v), NVT_CELLS_13(__VA_ARGS__)
#define NVT_CELLS_15(v, ...) NVT_CELL(v), NVT_CELLS_14(__VA_ARGS__)
#define NVT_CELLS_16(v, ...) NVT_CELL(v), NVT_CELLS_15(__VA_ARGS__)
#define NVT_CELLS_17(v, ...) NVT_CELL(v), NVT_CELLS_16(__VA_ARGS__)
#define NVT_CELLS_18(v, ...) NVT_CELL(v), NVT_CELLS_17(__VA_ARGS__)
#define NVT_CELLS_19(v, ...) NVT_CELL(v), NVT_CELLS_18(__VA_ARGS__)
#define NVT_CELLS_20(v, ...) NVT_CELL(v), NVT_CELLS_19(__VA_ARGS__)
#define NVT_CELLS_21(v, ...) NVT_CELL(v), NVT_CELLS_20(__VA_ARGS__)
#define NVT_CELLS_22(v, ...) NVT_CELL(v), NVT_CELLS_21(__VA_ARGS__)
#define NVT_CELLS_23(v, ...) NVT_CELL(v), NVT_CELLS_22(__VA_ARGS__)
#define NVT_CELLS_24(v, ...) NVT_CELL(v), NVT_CELLS_23(__VA_ARGS__)
#define NVT_CELLS_PICK(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, \
                       _18, _19, _20, _21, _22, _23, _24, pick, ...)                               \
    pick
#ifdef NVT_CPPCHECK /* which takes no _Generic (packaging/cppcheck.cfg) */
#define NVT_CELLS(...) __VA_ARGS__
#else
#define NVT_CELLS(...)                                                                             \
    NVT_CELLS_PICK(__VA_ARGS__, NVT_CELLS_24, NVT_CELLS_23, NVT_CELLS_22, NVT_CELLS_21,            \
                   NVT_CELLS_20, NVT_CELLS_19, NVT_CELLS_18, NVT_CELLS_17, NVT_CELLS_16,           \
                   NVT_CELLS_15, NVT_CELLS_14, NVT_CELLS_13, NVT_CELLS_12, NVT_CELLS_11,           \
                   NVT_CELLS_10, NVT_CELLS_9, NVT_CELLS_8, NVT_CELLS_7, NVT_CELLS_6, NVT_CELLS_5,  \
                   NVT_CELLS_4, NVT_CELLS_3, NVT_CELLS_2, NVT_CELLS_1, 0)                          \
    (__VA_ARGS__)
#endif

#endif
