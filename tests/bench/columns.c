/*
 * What device rows cost as columns and one after the other, for the recorder that writes them and for a
 * report that wants times, correlations and names: a batch as a traced process sends it, launches and
 * the kernels of a training step. Processor time, the median of rounds in turn.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "lib/device_columns.h"

enum { ROUNDS = 51, TIMES = 20, ROOM = 256 * 1024 };
enum { ROWS_PACK, COLUMNS_MAKE, COLUMNS_PACK, ROWS_READ, COLUMNS_READ, STEPS };

static const char *const steps[STEPS] = {"rows: zstd", "columns: making them", "columns: zstd",
                                         "rows: reading all fields",
                                         "columns: reading four fields"};

static double cpu_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static uint64_t between(uint64_t *state, uint64_t low, uint64_t high)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return low + (*state >> 33) % (high - low);
}

static void fill(struct nvt_device_batch *batch)
{
    uint64_t random = 1, now = UINT64_C(100000000000000), stream = 0;
    for (uint64_t id = 1;; id++) {
        uint64_t start = now + between(&random, 200, 1200);
        uint64_t end = start + between(&random, 2000, 6000), number = between(&random, 1, 21);
        uint64_t from = end + 1500 > stream ? end + 1500 : stream + 800;
        const uint64_t call[NVT_CALL_FIELDS] = {start, end, id, NVT_CALL_RUNTIME, 0, 1000, 0};
        stream = from + between(&random, 1000, 2000 + 1000 * number);
        const uint64_t kernel[NVT_KERNEL_FIELDS] = {from, stream, id, number, 0,   1, 7, 0,
                                                    0,    256,    1,  1,      128, 1, 1, 64};
        if (nvt_device_batch_add(batch, NVT_DEVICE_API, call, NVT_CALL_FIELDS) ||
            nvt_device_batch_add(batch, NVT_DEVICE_KERNEL, kernel, NVT_KERNEL_FIELDS))
            return;
        now = end + between(&random, 100, 900);
    }
}

/* Bytes when packed, as a trace file has them. */
static size_t pack(void *to, const void *bytes, size_t size)
{
#ifdef HAVE_ZSTD
    return ZSTD_compress(to, 2 * ROOM, bytes, size, 1);
#else
    memcpy(to, bytes, size);
    return size;
#endif
}

static uint64_t read_rows(const uint8_t *rows, size_t size)
{
    struct nvt_device_reader reader = {rows, rows + size, 0};
    struct nvt_device_row row;
    uint64_t sum = 0;
    while (nvt_device_reader_next(&reader, &row) == 1)
        sum += row.fields[NVT_ROW_END] - row.fields[NVT_ROW_START] + row.fields[2] + row.fields[3];
    return sum;
}

static uint64_t read_columns(const uint8_t *bytes, size_t size)
{
    static struct nvt_device_columns columns;
    uint64_t values[4][256], sum = 0;
    if (nvt_device_columns_open(&columns, bytes, bytes + size))
        abort();
    for (uint32_t g = 0; g < columns.groups; g++)
        for (uint32_t left = columns.group[g].rows, count; left; left -= count) {
            count = left < 256 ? left : 256;
            for (int i = 0; i < 4; i++)
                nvt_packed_take(&columns.group[g].column[i], values[i], count);
            for (uint32_t i = 0; i < count; i++)
                sum += (uint64_t)nvt_unzigzag(values[1][i]) + values[2][i] + values[3][i];
        }
    return sum;
}

static int ascending(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

int main(void)
{
    static struct nvt_device_batch batch;
    static uint8_t memory[ROOM], packed[2 * ROOM];
    static double ns[STEPS][ROUNDS];
    struct nvt_buffer columns = {0};
    uint64_t sums[2] = {0, 0};
    size_t size, packed_rows = 0, packed_columns = 0;
    nvt_device_batch_init(&batch, memory, sizeof(memory));
    fill(&batch);
    const uint8_t *rows = nvt_device_batch_rows(&batch, &size);
    for (int round = 0; round < ROUNDS; round++)
        for (int step = 0; step < STEPS; step++) {
            double start = cpu_ns();
            for (int i = 0; i < TIMES; i++) {
                columns.size = step == COLUMNS_MAKE ? 0 : columns.size;
                if (step == ROWS_PACK)
                    packed_rows = pack(packed, rows, size);
                else if (step == COLUMNS_MAKE && nvt_device_columns_put(&columns, rows, size))
                    return 2;
                else if (step == COLUMNS_PACK)
                    packed_columns = pack(packed, columns.data, columns.size);
                else if (step == ROWS_READ)
                    sums[0] = read_rows(rows, size);
                else if (step == COLUMNS_READ)
                    sums[1] = read_columns(columns.data, columns.size);
            }
            ns[step][round] = (cpu_ns() - start) / TIMES / batch.rows;
        }
    if (sums[0] != sums[1]) {
        fputs("columns: not what the rows said\n", stderr);
        return 2;
    }
    printf("%-32s %9s   %s\n", "device rows, a row", "ns", "5 % - 95 %");
    for (int step = 0; step < STEPS; step++) {
        qsort(ns[step], ROUNDS, sizeof(double), ascending);
        printf("%-32s %9.1f   %.1f - %.1f\n", steps[step], ns[step][ROUNDS / 2],
               ns[step][ROUNDS / 20], ns[step][ROUNDS - 1 - ROUNDS / 20]);
    }
    printf(
        "bytes a row: %.1f and packed %.1f one after the other, %.1f and packed %.1f as columns\n",
        (double)size / batch.rows, (double)packed_rows / batch.rows,
        (double)columns.size / batch.rows, (double)packed_columns / batch.rows);
    nvt_buffer_free(&columns);
    return 0;
}
