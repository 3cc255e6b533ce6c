/*
 * What the recorder makes of samples: names of functions out of ELF files, sound and damaged; stacks of Python's functions and
 * the libraries' that they call; chunks that a reader must refuse.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include "../collectors/drain_cpu.h"
#include "../collectors/functions.h"
#include "../collectors/output.h"
#include "../collectors/symbols.h"
#include "../lib/buffer.h"
#include "../lib/count_of.h"
#include "../lib/trace_file.h"
#include "read_kit.h"
#include "cli.h"

/* --- functions that are asked for --------------------------------------------------------------------- */

/* Named as Python's loop, for a copy of this program whose name is that of Python's library. */
/* NOLINTNEXTLINE(bugprone-reserved-identifier): Python's name */
__attribute__((noinline, used)) void *_PyEval_EvalFrameDefault(int value);
__attribute__((noinline, used)) void *run_of_python(int value);
__attribute__((noinline, used)) void *called_function(int value);

void *_PyEval_EvalFrameDefault(int value)
{
    __asm__ volatile("# loop");
    return malloc((size_t)value + 1);
}

void *run_of_python(int value)
{
    __asm__ volatile("# run");
    return malloc((size_t)value + 2);
}

void *called_function(int value)
{
    __asm__ volatile("# called");
    return malloc((size_t)value + 3);
}

/* Where a function lies in its file. */
static uint64_t place_of(void *address, const char **path)
{
    Dl_info info;
    struct link_map *map;
    assert_true(dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) != 0);
    if (path)
        *path = info.dli_fname;
    return (uintptr_t)address - map->l_addr;
}

static const char *own_program(void)
{
    static char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    assert_true(length > 0);
    path[length] = 0;
    return path;
}

/* --- symbols ------------------------------------------------------------------------------------------ */

static void functions_are_found_by_place(void **state)
{
    const char *libc;
    (void)state;
    uint64_t place = place_of((void *)(uintptr_t)called_function, NULL);
    struct nvt_symbols *symbols = nvt_symbols_read(own_program());
    assert_non_null(symbols);
    assert_string_equal(nvt_symbols_find(symbols, place), "called_function");
    assert_string_equal(nvt_symbols_find(symbols, place + 3), "called_function");
    const char *before = nvt_symbols_find(symbols, place - 1);
    assert_true(!before || strcmp(before, "called_function") != 0);
    assert_string_equal(
        nvt_symbols_find(symbols, place_of((void *)(uintptr_t)functions_are_found_by_place, NULL)),
        "functions_are_found_by_place"); /* a static one */
    assert_null(nvt_symbols_find(symbols, 0));
    assert_null(nvt_symbols_find(symbols, UINT64_MAX));
    nvt_symbols_free(symbols);
    place = place_of(dlsym(RTLD_DEFAULT, "qsort_r"), &libc);
    symbols = nvt_symbols_read(libc);
    assert_non_null(symbols);
    const char *name = nvt_symbols_find(symbols, place + 1);
    assert_true(name && strstr(name, "qsort_r"));
    nvt_symbols_free(symbols);
}

static void what_is_no_program_has_no_functions(void **state)
{
    static const char *const paths[] = {"/nonexistent", "/dev/zero", "/", "/proc/self/maps", ""};
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(paths); i++) {
        struct nvt_symbols *symbols = nvt_symbols_read(paths[i]);
        assert_non_null(symbols);
        assert_null(nvt_symbols_find(symbols, 4096));
        nvt_symbols_free(symbols);
    }
}

static uint64_t next_random(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

/* Where damage matters: the file's header, that of its sections, and the table of symbols. */
static size_t interesting(const char *bytes, size_t size, uint64_t random)
{
    Elf64_Ehdr header;
    memcpy(&header, bytes, sizeof(header));
    size_t sections = (size_t)header.e_shnum * sizeof(Elf64_Shdr);
    switch (random % 4) {
    case 0:
        return random / 4 % sizeof(header);
    case 1:
    case 2:
        return (header.e_shoff + random / 4 % sections) % size;
    default:
        return random / 4 % size;
    }
}

static void damaged_programs_do_no_harm(void **state)
{
    size_t size;
    uint64_t random = 88172645463325252u;
    int some = 0, none = 0;
    (void)state;
    char *bytes = cli_read_file(cli_built("libnvtally-pytorch.so"), &size);
    assert_non_null(bytes);
    char *copy = malloc(size);
    assert_non_null(copy);
    const char *path = cli_in(cli_folder, "damaged.so");
    for (int i = 0; i < 4000; i++) {
        size_t length = i % 4 ? size : next_random(&random) % (size + 1);
        memcpy(copy, bytes, size);
        for (int flips = i % 4 ? 1 + i % 7 : 0; flips; flips--)
            copy[interesting(bytes, size, next_random(&random))] ^=
                (char)(1 << next_random(&random) % 8);
        cli_write_file(path, copy, length);
        struct nvt_symbols *symbols = nvt_symbols_read(path);
        assert_non_null(symbols);
        int found = 0;
        for (uint64_t place = 0; place < size; place += 64) {
            const char *name = nvt_symbols_find(symbols, place);
            found += name && strlen(name) < size;
        }
        some += found > 0;
        none += !found;
        nvt_symbols_free(symbols);
    }
    assert_true(some > 500 && none > 500);
    free(copy);
    free(bytes);
}

/* --- stacks ------------------------------------------------------------------------------------------- */

/* A recording in the making, with one thread. */
static struct nvt_output *begin_output(const char *path, struct nvt_drain_cpu *cpu)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_costs costs;
    memset(&costs, 0, sizeof(costs));
    struct nvt_output *output = nvt_output_new(path, 0, &err);
    assert_non_null(output);
    nvt_output_take_samples(output);
    assert_int_equal(nvt_output_begin(output, &err), 0);
    assert_int_equal(nvt_output_clock(output, NVT_CLOCK_MONOTONIC, &err), 0);
    uint32_t process = nvt_output_process(output, 7, 1, 1000, "program", &costs);
    *cpu = (struct nvt_drain_cpu){.output = output,
                                  .process = process,
                                  .thread = nvt_output_thread(output, process, 7, "program")};
    return output;
}

/* A record as threads write it. */
static void take(struct nvt_drain_cpu *cpu, uint64_t ticks, const uint64_t *frames, uint32_t count,
                 const char *text)
{
    struct nvt_buffer bytes = {0};
    const struct nvt_ring_cpu_sample sample = {
        .cpu_ns = 5000000, .frames = count, .text = (uint32_t)strlen(text)};
    assert_int_equal(nvt_buffer_append(&bytes, &sample, sizeof(sample)), 0);
    assert_int_equal(nvt_buffer_append(&bytes, frames, count * sizeof(*frames)), 0);
    assert_int_equal(nvt_buffer_append(&bytes, text, strlen(text)), 0);
    /* Records are whole slots. */
    while (bytes.size % 16)
        assert_int_equal(nvt_buffer_append(&bytes, "", 1), 0);
    nvt_drain_cpu_take(cpu, ticks, bytes.data, bytes.size);
    nvt_buffer_free(&bytes);
}

/* Functions from the outermost on, with ; between them. */
static const char *stack_of(const struct nvt_trace *trace, uint32_t sample)
{
    static char text[4096];
    uint32_t path[64], count = 0;
    for (uint32_t at = trace->cpu_samples.frame[sample]; at && count < 64;
         at = trace->call_frames.parent[at - 1])
        path[count++] = at - 1;
    size_t used = 0;
    text[0] = 0;
    while (count--)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? ";" : "",
                                 nvt_name(trace, trace->call_frames.name[path[count]]));
    return text;
}

static const char text_of_two[] = "Current thread 0x00007f0000000000 (most recent call first):\n"
                                  "  File \"/home/x/a b.py\", line 12 in inner\n"
                                  "  File \"<frozen importlib._bootstrap>\", line 241 in _call\n"
                                  "  File \"/p/__init__.py\", line 3 in <module>\n"
                                  "  File \"/p/cut";

static void take_good_ones(struct nvt_drain_cpu *cpu)
{
    uint64_t loop = place_of((void *)(uintptr_t)_PyEval_EvalFrameDefault, NULL) + 1,
             run = place_of((void *)(uintptr_t)run_of_python, NULL) + 1,
             called = place_of((void *)(uintptr_t)called_function, NULL) + 1;
    /* A library's function that Python's calls, with the interpreter around it. */
    const uint64_t calls[] = {NVT_CPU_FRAME(1, called), NVT_CPU_FRAME(2, run),
                              NVT_CPU_FRAME(2, loop), NVT_CPU_FRAME(2, run), NVT_CPU_FRAME(1, run)};
    take(cpu, 1000, calls, 5, text_of_two);
    /* The interpreter alone; without a text; what is ours, and what nobody knows. */
    take(cpu, 2000, calls + 2, 3, text_of_two);
    take(cpu, 3000, calls, 5, "");
    const uint64_t ours[] = {NVT_CPU_FRAME(1, called), NVT_CPU_FRAME(3, 77), NVT_CPU_FRAME(9, 5)};
    take(cpu, 4000, ours, 3, "");
    take(cpu, 5000, ours + 1, 1, ""); /* the collector's own is no sample */
}

static void take_malformed_ones(struct nvt_drain_cpu *cpu)
{
    static const struct nvt_ring_cpu_sample wrong[] = {
        {.cpu_ns = 1, .frames = 1000, .text = 0},
        {.cpu_ns = 1, .frames = 0, .text = UINT32_MAX},
        {.cpu_ns = 1, .frames = UINT32_MAX, .text = UINT32_MAX}};
    for (size_t i = 0; i < 3; i++)
        nvt_drain_cpu_take(cpu, 6000, (const uint8_t *)&wrong[i], sizeof(wrong[i]));
    nvt_drain_cpu_take(cpu, 6000, (const uint8_t *)&wrong[0], 3);
}

/* This program under the name that Python's library has. */
static const char *own_python(void)
{
    size_t size;
    const char *path = cli_in(cli_folder, "libpython3.99.so.1.0");
    char *bytes = cli_read_file(own_program(), &size);
    assert_non_null(bytes);
    cli_write_file(path, bytes, size);
    free(bytes);
    return path;
}

static void python_takes_the_place_of_its_interpreter(void **state)
{
    struct nvt_drain_cpu cpu;
    struct nvt_drain_totals totals;
    struct nvt_error err = NVT_ERROR_INIT;
    (void)state;
    memset(&totals, 0, sizeof(totals));
    const char *path = cli_in(cli_folder, "made.nvt"), *python = own_python();
    struct nvt_output *output = begin_output(path, &cpu);
    nvt_drain_cpu_define(&cpu, 1, own_program(), strlen(own_program()));
    nvt_drain_cpu_define(&cpu, 2, python, strlen(python));
    nvt_drain_cpu_define(&cpu, 3, "/x/libnvtally-cpu-samples.so", 28);
    take_good_ones(&cpu);
    take_malformed_ones(&cpu);
    nvt_drain_cpu_flush(&cpu, 1, &totals);
    assert_int_equal(totals.cpu_samples, 4);
    assert_int_equal(totals.unwritten, 0);
    nvt_drain_cpu_free(&cpu);
    assert_int_equal(nvt_output_clock(output, NVT_CLOCK_MONOTONIC, &err), 0);
    assert_int_equal(nvt_output_close(output, 0, 0, &err), 0);
    struct nvt_trace *trace = kit_read(path);
    assert_int_equal(trace->cpu_samples.count, 4);
    assert_string_equal(stack_of(trace, 0),
                        "<module> (p/__init__.py:3);inner (a b.py:12);called_function");
    assert_string_equal(stack_of(trace, 1), "<module> (p/__init__.py:3);inner (a b.py:12)");
    assert_string_equal(stack_of(trace, 2),
                        "run_of_python;run_of_python;_PyEval_EvalFrameDefault;run_of_python;"
                        "called_function");
    assert_string_equal(stack_of(trace, 3), "[code of no file];called_function");
    nvt_trace_free(trace);
}

/* --- chunks ------------------------------------------------------------------------------------------- */

static void put(struct nvt_buffer *out, uint64_t value)
{
    assert_int_equal(nvt_buffer_varint(out, value), 0);
}

static void put_number(struct nvt_buffer *out, uint64_t value)
{
    assert_int_equal(nvt_buffer_append(out, &value, 8), 0);
}

static void put_chunk(struct nvt_trace_writer *writer, enum nvt_chunk_kind kind, uint32_t process,
                      uint32_t thread, uint32_t count, struct nvt_buffer *bytes)
{
    struct nvt_error err = NVT_ERROR_INIT;
    const struct nvt_chunk chunk = {.kind = (uint16_t)kind,
                                    .process = process,
                                    .thread = thread,
                                    .count = count,
                                    .first = kind == NVT_CHUNK_CPU_SAMPLES ? 5000 : 0,
                                    .last = kind == NVT_CHUNK_CPU_SAMPLES ? 9000 : 0};
    assert_int_equal(nvt_trace_writer_chunk(writer, &chunk, bytes->data, bytes->size, &err), 0);
    bytes->size = 0;
}

/* A trace whose only thread has this chunk of samples. */
static const char *trace_of(const void *payload, size_t size, uint32_t count, uint32_t thread)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_buffer bytes = {0};
    const char *path = cli_in(cli_folder, "chunks.nvt");
    struct nvt_trace_writer *writer = nvt_trace_writer_new(path, 0, &err);
    static const char strings[] = "\0\1a\1b";
    static const uint64_t process[] = {7, 1, 1000, 1};
    assert_non_null(writer);
    for (uint64_t i = 0; i < 2; i++) {
        for (int k = 0; k < 3; k++)
            put_number(&bytes, 1000 + i * 1000000000);
        put_chunk(writer, NVT_CHUNK_CLOCK, NVT_NO_INDEX, NVT_NO_INDEX, 1, &bytes);
    }
    assert_int_equal(nvt_buffer_append(&bytes, strings, 5), 0);
    put_chunk(writer, NVT_CHUNK_STRINGS, NVT_NO_INDEX, NVT_NO_INDEX, 3, &bytes);
    for (size_t i = 0; i < 4; i++)
        put(&bytes, process[i]);
    put_chunk(writer, NVT_CHUNK_PROCESS, 0, NVT_NO_INDEX, 1, &bytes);
    put(&bytes, 7);
    put(&bytes, 1);
    put_chunk(writer, NVT_CHUNK_THREAD, 0, 0, 1, &bytes);
    assert_int_equal(nvt_buffer_append(&bytes, payload, size), 0);
    put_chunk(writer, NVT_CHUNK_CPU_SAMPLES, 0, thread, count, &bytes);
    put(&bytes, 0);
    put(&bytes, 0);
    put_chunk(writer, NVT_CHUNK_END, NVT_NO_INDEX, NVT_NO_INDEX, 1, &bytes);
    assert_int_equal(nvt_trace_writer_close(writer, &err), 0);
    nvt_buffer_free(&bytes);
    return path;
}

/* How many samples a reader takes; -1: it refuses the file. */
static int samples_of(const uint64_t *fields, size_t field_count, size_t cut, uint32_t count,
                      uint32_t thread)
{
    struct nvt_buffer bytes = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    for (size_t i = 0; i < field_count; i++)
        put(&bytes, fields[i]);
    struct nvt_trace *trace = nvt_trace_read(
        trace_of(bytes.data, cut < bytes.size ? bytes.size - cut : 0, count, thread), &err);
    int samples = trace ? (int)trace->cpu_samples.count : -1;
    for (int i = 0; i < samples; i++)
        stack_of(trace, (uint32_t)i);
    nvt_trace_free(trace);
    nvt_buffer_free(&bytes);
    return samples;
}

/* Two frames, the second below the first, and two rows. */
static const uint64_t good[] = {2, 3, 0, 1, 2, 1, 2, 0, 4, 10, 5000000, 2, 0, 20, 5000000, 1, 1};
#define FIELDS NVT_COUNT_OF(good)

static void malformed_chunks_are_refused(void **state)
{
    static const uint64_t extremes[] = {0,          1,
                                        3,          127,
                                        128,        65535,
                                        UINT32_MAX, (uint64_t)UINT32_MAX + 1,
                                        INT64_MAX,  INT64_MAX / 4,
                                        UINT64_MAX};
    uint64_t fields[FIELDS];
    (void)state;
    assert_int_equal(samples_of(good, FIELDS, 0, 2, 0), 2);
    for (size_t cut = 1; cut < 24; cut++)
        assert_true(samples_of(good, FIELDS, cut, 2, 0) <= 1); /* rows before the damage */
    assert_true(samples_of(good, FIELDS, 0, 3, 0) <= 2);
    assert_true(samples_of(good, FIELDS, 0, UINT32_MAX, 0) <= 2);
    assert_true(samples_of(good, FIELDS, 0, 2, 1) <= 0);
    assert_true(samples_of(good, FIELDS, 0, 2, NVT_NO_INDEX) <= 0);
    for (size_t i = 0; i < FIELDS; i++)
        for (size_t k = 0; k < NVT_COUNT_OF(extremes); k++) {
            memcpy(fields, good, sizeof(good));
            fields[i] = extremes[k];
            int samples = samples_of(fields, FIELDS, 0, 2, 0);
            assert_true(samples <= 2);
            /* A frame that is no earlier one's, or is none of the chunk. */
            if ((i == 2 || i == 5 || i == 11) && extremes[k] > 2)
                assert_true(samples <= 0);
            /* More processor time, or later, than there can be. */
            if ((i == 10 && extremes[k] > INT64_MAX / 4) || (i == 9 && extremes[k] == UINT64_MAX))
                assert_true(samples <= 0);
        }
}

static void random_chunks_do_no_harm(void **state)
{
    uint64_t random = 88172645463325252u, fields[FIELDS];
    (void)state;
    for (int i = 0; i < 3000; i++) {
        memcpy(fields, good, sizeof(good));
        for (int k = 0; k < 1 + i % 3; k++)
            fields[next_random(&random) % FIELDS] =
                next_random(&random) >> next_random(&random) % 64;
        assert_true(samples_of(fields, FIELDS, next_random(&random) % 3, 2, 0) <= 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_found_by_place),
        cmocka_unit_test(what_is_no_program_has_no_functions),
        cmocka_unit_test(damaged_programs_do_no_harm),
        cmocka_unit_test(python_takes_the_place_of_its_interpreter),
        cmocka_unit_test(malformed_chunks_are_refused),
        cmocka_unit_test(random_chunks_do_no_harm),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
