/*
 * A trace from a stranger: names that want to steer a terminal, a browser, a shell, LaTeX or
 * gnuplot come out inert in every format; files made to unpack to more than there is memory are
 * refused, or read within the bound that docs/untrusted.md states.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/buffer.h"
#include "../lib/count_of.h"
#include "../lib/folder.h"
#include "../lib/trace_file.h"
#include "cli.h"

/* --- a hostile trace -------------------------------------------------------------------------- */

/* String 0 is the empty one. Whoever runs one of these makes a file PWNED. */
static const char *const names[] = {
    "",
    "\x1b]0;title\x07\x1b[2J\x1b[31mred\2331m", /* 233 octal: C1, ended by its third digit */
    "two\nlines\r\tand \xe2\x80\xae right to left \302\23331m",
    "<script>alert(1)</script><img src=x onerror=alert(2)>&amp;\"'",
    "$(touch PWNED) `touch PWNED` | touch PWNED ; touch PWNED #",
    "'; system('touch PWNED'); x='",
    "\" ; system(\"touch PWNED\") #",
    "\\input{/etc/passwd} \\write18{touch PWNED} %{}_^~&$x$",
    "]]>--></svg></style></pre></td>",
    "| a | b |\n|--|--|\n![x](http://x/y) [z](javascript:alert(3)) **b**",
    "broken \xff\xfe\xc0\x80 utf-8 %s%n%d",
};
#define NAMES NVT_COUNT_OF(names)

static void put(struct nvt_buffer *out, uint64_t value)
{
    assert_int_equal(nvt_buffer_varint(out, value), 0);
}

static void write_chunk(struct nvt_trace_writer *writer, enum nvt_chunk_kind kind, uint32_t process,
                        uint32_t thread, uint32_t count, struct nvt_buffer *bytes)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_chunk chunk = {
        .kind = (uint16_t)kind, .process = process, .thread = thread, .count = count};
    assert_int_equal(nvt_trace_writer_chunk(writer, &chunk, bytes->data, bytes->size, &err), 0);
    bytes->size = 0;
}

static void put_column(struct nvt_buffer *out, enum nvt_event_column id,
                       const struct nvt_buffer *column)
{
    put(out, id);
    put(out, column->size);
    assert_int_equal(nvt_buffer_append(out, column->data, column->size), 0);
}

static void put_number(struct nvt_buffer *out, uint64_t value)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
    assert_int_equal(nvt_buffer_append(out, bytes, 8), 0);
}

/* Everything up to the events: two moments, strings, facts, a process and its thread. */
static struct nvt_trace_writer *begin_trace(const char *path, int level)
{
    static const char *const facts[] = {"device", "backend", "date", "host", "command"};
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_buffer bytes = {0};
    struct nvt_trace_writer *writer = nvt_trace_writer_new(path, level, &err);
    assert_non_null(writer);
    for (uint64_t i = 0; i < 2; i++) {
        put_number(&bytes, 1000 + i * 1000000000);
        put_number(&bytes, 1000 + i * 1000000000);
        put_number(&bytes, 1000 + i * 1000000000);
        write_chunk(writer, NVT_CHUNK_CLOCK, NVT_NO_INDEX, NVT_NO_INDEX, 1, &bytes);
    }
    for (size_t i = 0; i < NAMES + 5; i++) {
        const char *text = i < NAMES ? names[i] : facts[i - NAMES];
        put(&bytes, strlen(text));
        assert_int_equal(nvt_buffer_append(&bytes, text, strlen(text)), 0);
    }
    write_chunk(writer, NVT_CHUNK_STRINGS, NVT_NO_INDEX, NVT_NO_INDEX, NAMES + 5, &bytes);
    for (size_t i = 0; i < 5; i++) {
        put(&bytes, NAMES + i);
        put(&bytes, 1 + i);
    }
    write_chunk(writer, NVT_CHUNK_META, NVT_NO_INDEX, NVT_NO_INDEX, 5, &bytes);
    static const uint64_t process[] = {7, 1, 1000, 3};
    for (size_t i = 0; i < 4; i++)
        put(&bytes, process[i]);
    write_chunk(writer, NVT_CHUNK_PROCESS, 0, NVT_NO_INDEX, 1, &bytes);
    put(&bytes, 7);
    put(&bytes, 1);
    write_chunk(writer, NVT_CHUNK_THREAD, 0, 0, 1, &bytes);
    nvt_buffer_free(&bytes);
    return writer;
}

static void end_trace(struct nvt_trace_writer *writer)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_buffer bytes = {0};
    put(&bytes, 0);
    put(&bytes, 0);
    write_chunk(writer, NVT_CHUNK_END, NVT_NO_INDEX, NVT_NO_INDEX, 1, &bytes);
    assert_int_equal(nvt_trace_writer_close(writer, &err), 0);
    nvt_buffer_free(&bytes);
}

/* Ranges of every name within each other, in a domain of such a name. */
static const char *hostile_trace(void)
{
    static char path[4096]; /* cli_in's own does not last */
    snprintf(path, sizeof(path), "%s", cli_in(cli_folder, "hostile.nvt"));
    struct nvt_buffer bytes = {0}, tokens = {0}, times = {0}, domains = {0};
    struct nvt_trace_writer *writer = begin_trace(path, 0);
    put(&bytes, NVT_DEFINITION_DOMAIN);
    put(&bytes, 1);
    put(&bytes, 1);
    put(&bytes, 0);
    put(&bytes, strlen(names[3]));
    assert_int_equal(nvt_buffer_append(&bytes, names[3], strlen(names[3])), 0);
    write_chunk(writer, NVT_CHUNK_DEFINITIONS, 0, NVT_NO_INDEX, 1, &bytes);
    for (uint64_t i = 1; i < NAMES; i++) {
        put(&tokens, i << 3 | NVT_TOKEN_PUSH);
        put(&times, 100000);
    }
    for (uint64_t i = 1; i < NAMES; i++) {
        put(&tokens, NVT_TOKEN_POP);
        put(&times, 100000);
    }
    put(&domains, 1);
    put(&domains, 2 * (NAMES - 1));
    put_column(&bytes, NVT_COLUMN_TOKENS, &tokens);
    put_column(&bytes, NVT_COLUMN_TIMES, &times);
    put_column(&bytes, NVT_COLUMN_DOMAINS, &domains);
    write_chunk(writer, NVT_CHUNK_EVENTS, 0, 0, 2 * (NAMES - 1), &bytes);
    end_trace(writer);
    nvt_buffer_free(&bytes);
    nvt_buffer_free(&tokens);
    nvt_buffer_free(&times);
    nvt_buffer_free(&domains);
    return path;
}

/* The same names on kernels and calls. */
static const char *hostile_json(void)
{
    static char path[4096];
    snprintf(path, sizeof(path), "%s", cli_in(cli_folder, "hostile.json"));
    struct nvt_buffer text = {0};
    assert_int_equal(nvt_buffer_printf(&text, "{\"schemaVersion\": 1, \"traceEvents\": ["), 0);
    for (size_t i = 1; i < NAMES; i++) {
        char name[1024], *out = name;
        for (const char *at = names[i]; *at; at++)
            out += (unsigned char)*at < 0x20 || strchr("\"\\", *at) ? sprintf(out, "\\u%04x", *at)
                                                                    : sprintf(out, "%c", *at);
        nvt_buffer_printf(
            &text,
            "%s{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"%s\", \"pid\": "
            "7, \"tid\": 7, \"ts\": %zu, \"dur\": 90}, {\"ph\": \"X\", \"cat\": "
            "\"cuda_runtime\", \"name\": \"%s\", \"pid\": 7, \"tid\": 7, \"ts\": %zu, "
            "\"dur\": 2, \"args\": {\"correlation\": %zu}}, {\"ph\": \"X\", \"cat\": "
            "\"kernel\", \"name\": \"%s\", \"pid\": 0, \"tid\": 7, \"ts\": %zu, \"dur\": "
            "30, \"args\": {\"device\": 0, \"stream\": 7, \"correlation\": %zu}}, {\"ph\": "
            "\"X\", \"cat\": \"python_function\", \"name\": \"a.py(1): %s\", \"pid\": 7, \"tid\": "
            "7, \"ts\": %zu, \"dur\": 9}",
            i > 1 ? ", " : "", name, 100 * i, name, 100 * i + 1, i, name, 100 * i + 5, i, name,
            100 * i);
    }
    nvt_buffer_printf(&text, "]}");
    cli_write_file(path, text.data, text.size);
    nvt_buffer_free(&text);
    return path;
}

/* --- what comes out of it --------------------------------------------------------------------- */

/* No byte that a terminal would obey: C0 but line ends (and tabs where they part columns), DEL, C1,
 * and what turns the direction of writing. */
static void expect_tame(const char *what, const char *text, size_t size, const char *but)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)text[i], next = (unsigned char)text[i + 1];
        int is_c1 = byte == 0xc2 && next >= 0x80 && next < 0xa0;
        int turns = byte == 0xe2 && next == 0x80 && (unsigned char)text[i + 2] >= 0xaa &&
                    (unsigned char)text[i + 2] <= 0xae;
        if (((byte < 0x20 || byte == 0x7f) && !strchr(but, byte)) || is_c1 || turns || !byte)
            fail_msg("%s: byte 0x%02x at %zu: %.60s", what, byte, i, text + (i > 20 ? i - 20 : 0));
    }
}

/* Nowhere, unless a backslash before it takes its meaning. */
static void expect_absent(const char *what, const char *text, const char *needle)
{
    for (const char *at = text; (at = strstr(at, needle)); at++)
        if (at == text || at[-1] != '\\')
            fail_msg("%s: has '%s': %.80s", what, needle, at);
}

static void expect_not_run(const char *what, const char *folder)
{
    if (!access(cli_in(folder, "PWNED"), F_OK))
        fail_msg("%s: a name was run as a command", what);
}

/* A name of ours in the output without the escape that its format has for it. */
static void expect_inert(const char *format, const char *what, const struct cli_result *result)
{
    /* gnuplot indents with tabs; CSV keeps what its quotes can hold, for programs to read back. */
    int tabs = !strcmp(format, "tsv") || !strcmp(format, "html") || !strcmp(format, "svg");
    int csv = !strcmp(format, "csv");
    expect_tame(what, result->out, result->out_size, csv ? "\n\t\r" : tabs ? "\n\t" : "\n");
    expect_tame(what, result->err, result->err_size, "\n");
    if (!strcmp(format, "markdown") || !strcmp(format, "html") || !strcmp(format, "svg")) {
        expect_absent(what, result->out, "<script>alert");
        expect_absent(what, result->out, "<img src=x");
        expect_absent(what, result->out, "</svg></style>");
    }
    if (!strcmp(format, "markdown")) {
        expect_absent(what, result->out, "![x](");
        expect_absent(what, result->out, "[z](");
    }
    if (!strcmp(format, "latex")) {
        expect_absent(what, result->out, "\\input");
        expect_absent(what, result->out, "\\write18");
        expect_absent(what, result->out, "$x$");
    }
}

static struct cli_result run_here(const char *const *argv)
{
    struct cli_options options = {.directory = cli_folder};
    return cli_run_with(&options, argv);
}

static void every_table_format_is_inert(void **state)
{
    (void)state;
    static const char *const formats[] = {"column", "grid", "markdown", "latex",
                                          "csv",    "tsv",  "json"};
    static const char *const reports[] = {"nvtx_sum",
                                          "nvtx_pushpop_trace",
                                          "range_tree",
                                          "cuda_gpu_kern_sum",
                                          "cuda_gpu_trace",
                                          "cuda_api_sum",
                                          "nvtx_gpu_proj_sum",
                                          "cuda_kern_exec_sum",
                                          "nvtx_kern_sum",
                                          "phases",
                                          "nvtx_gpu_proj_trace",
                                          "cuda_api_callers"};
    const char *paths[] = {hostile_trace(), hostile_json()};
    for (size_t p = 0; p < 2; p++)
        for (size_t r = 0; r < NVT_COUNT_OF(reports); r++)
            for (size_t f = 0; f < NVT_COUNT_OF(formats); f++) {
                char what[200];
                snprintf(what, sizeof(what), "stats -r %s -f %s of %s", reports[r], formats[f],
                         p ? "Kineto's" : "ours");
                struct cli_result result = run_here((const char *[]){
                    "nvtally", "stats", "-r", reports[r], "-f", formats[f], paths[p], NULL});
                cli_expect_status(&result, 0);
                if ((!p && !r) || (p && !strcmp(reports[r], "cuda_api_callers")))
                    assert_non_null(strstr(result.out, "touch PWNED")); /* it did come out */
                expect_inert(formats[f], what, &result);
                expect_not_run(what, cli_folder);
                cli_result_free(&result);
            }
}

static void findings_and_comparisons_are_inert(void **state)
{
    (void)state;
    const char *ours = hostile_trace(), *theirs = hostile_json();
    static const char *const formats[] = {"", "markdown", "latex", "csv", "json"};
    for (size_t f = 0; f < NVT_COUNT_OF(formats); f++)
        for (int i = 0; i < 4; i++) {
            const char *format = formats[f], *path = i % 2 ? theirs : ours;
            const char *command = i < 2 ? "diagnose" : "compare", *other = i < 2 ? NULL : path;
            const char *const plain[] = {"nvtally", command, path, other, NULL};
            const char *const table[] = {"nvtally", command, "-f", format, path, other, NULL};
            struct cli_result result = run_here(*format ? table : plain);
            if (result.status != 0 && result.status != 1)
                cli_expect_status(&result, 0);
            expect_inert(format, command, &result);
            cli_result_free(&result);
        }
}

/* The file as if a command had printed it; owned by the result. */
static struct cli_result whole_file(const char *path)
{
    struct cli_result result = {0};
    result.out = cli_read_file(path, &result.out_size);
    result.err = calloc(1, 1);
    assert_non_null(result.out);
    return result;
}

static void documents_are_inert(void **state)
{
    (void)state;
    static const char *const endings[][2] = {
        {"r.html", "html"}, {"r.md", "markdown"}, {"r.tex", "latex"}};
    const char *paths[] = {hostile_trace(), hostile_json()};
    for (size_t p = 0; p < 4; p++)
        for (size_t i = 0; i < 3; i++) {
            const char *out = cli_in(cli_folder, endings[i][0]), *path = paths[p % 2];
            const char *const one[] = {"nvtally", "report", path, "-o", out, NULL};
            const char *const both[] = {"nvtally", "report", path, "vs", path, "-o", out, NULL};
            struct cli_result result = run_here(p < 2 ? one : both);
            cli_expect_status(&result, 0);
            expect_tame("report", result.err, result.err_size, "\n");
            cli_result_free(&result);
            result = whole_file(out);
            expect_inert(endings[i][1], endings[i][0], &result);
            expect_not_run(endings[i][0], cli_folder);
            cli_result_free(&result);
            unlink(out);
        }
}

static void expect_inert_files(const char *folder)
{
    DIR *files = opendir(folder);
    assert_non_null(files);
    for (struct dirent *entry; (entry = nvt_folder_next(files));) {
        const char *dot = strrchr(entry->d_name, '.');
        if (*entry->d_name == '.' || !dot)
            continue;
        struct cli_result file = whole_file(cli_in(folder, entry->d_name));
        expect_tame(entry->d_name, file.out, file.out_size, "\n\t");
        if (!strcmp(dot, ".svg")) {
            expect_inert("svg", entry->d_name, &file);
            expect_absent(entry->d_name, file.out, "<script");
        }
        if (!strcmp(dot, ".gp")) {
            expect_absent(entry->d_name, file.out, "`");
            expect_absent(entry->d_name, file.out, "\nsystem");
        }
        cli_result_free(&file);
    }
    closedir(files);
}

static void charts_are_inert(void **state)
{
    (void)state;
    struct cli_result result = cli_run((const char *[]){"gnuplot", "--version", NULL});
    int there = !result.status;
    cli_result_free(&result);
    if (!there) {
        print_message("no gnuplot here: charts are not drawn\n");
        skip();
    }
    const char *paths[] = {hostile_trace(), hostile_json()};
    for (size_t p = 0; p < 2; p++) {
        char *folder = cli_tempdir();
        struct cli_options options = {.directory = folder};
        result = cli_run_with(&options,
                              (const char *[]){"nvtally", "plot", paths[p], "-o", folder, NULL});
        cli_expect_status(&result, 0);
        expect_not_run("plot", folder);
        expect_inert_files(folder);
        cli_result_free(&result);
        result = cli_run_with(&options, (const char *[]){"nvtally", "plot", paths[p], "vs",
                                                         paths[p], "-o", folder, NULL});
        cli_expect_status(&result, 0);
        expect_tame("plot", result.err, result.err_size, "\n");
        expect_not_run("plot vs", folder);
        expect_inert_files(folder);
        cli_result_free(&result);
        cli_tempdir_remove(folder);
    }
}

static void exports_are_inert(void **state)
{
    (void)state;
    static const char *const formats[] = {"chrome", "csv"};
    const char *paths[] = {hostile_trace(), hostile_json()};
    for (size_t p = 0; p < 2; p++)
        for (size_t f = 0; f < 2; f++) {
            struct cli_result result =
                run_here((const char *[]){"nvtally", "export", paths[p], "--to", formats[f], NULL});
            cli_expect_status(&result, 0);
            expect_inert(formats[f], formats[f], &result);
            cli_result_free(&result);
        }
}

/* The name of the file itself comes from the stranger too. */
static void messages_about_files_are_inert(void **state)
{
    (void)state;
    static const char *const commands[] = {"stats", "diagnose", "plot", "report"};
    char *path = strdup(cli_in(cli_folder, "\x1b]0;evil\x07\n\x1b[31m.nvt"));
    for (size_t i = 0; i < 2 * NVT_COUNT_OF(commands); i++) {
        if (i % 2)
            cli_write_file(path, "no trace", 8);
        struct cli_result result =
            run_here((const char *[]){"nvtally", commands[i / 2], path, NULL});
        cli_expect_failure(&result, "evil");
        expect_tame(commands[i / 2], result.err, result.err_size, "\n");
        cli_result_free(&result);
        unlink(path);
    }
    free(path);
}

/* --- bombs ------------------------------------------------------------------------------------ */

#define CHUNK_EVENTS (1u << 20) /* 2 MiB: a byte for the token, a byte for the time */

/* A file whose bytes [from, to) are there so many times. */
static void repeat_bytes(const char *path, size_t from, size_t to, int times)
{
    size_t size;
    struct nvt_buffer out = {0};
    char *data = cli_read_file(path, &size);
    assert_non_null(data);
    assert_int_equal(nvt_buffer_append(&out, data, from), 0);
    for (int i = 0; i < times; i++)
        assert_int_equal(nvt_buffer_append(&out, data + from, to - from), 0);
    assert_int_equal(nvt_buffer_append(&out, data + to, size - to), 0);
    cli_write_file(path, out.data, out.size);
    nvt_buffer_free(&out);
    free(data);
}

/* Chunks of pushes, all alike, which no recorder writes: some hundred bytes for the 2 MiB of each. Before them `padding`
 * bytes that nothing can make shorter, in a chunk that readers skip. */
static const char *zstd_bomb(int chunks, size_t padding)
{
    const char *path = cli_in(cli_folder, "bomb.nvt");
    struct nvt_buffer bytes = {0}, column = {0};
    struct nvt_trace_writer *writer = begin_trace(path, 1);
    uint32_t random = 1;
    while (bytes.size < padding) {
        random = random * 1664525 + 1013904223;
        assert_int_equal(nvt_buffer_append(&bytes, (char *)&random + 3, 1), 0);
    }
    if (padding)
        write_chunk(writer, (enum nvt_chunk_kind)999, NVT_NO_INDEX, NVT_NO_INDEX, 1, &bytes);
    assert_int_equal(nvt_buffer_reserve(&column, CHUNK_EVENTS), 0);
    column.size = CHUNK_EVENTS;
    memset(column.data, 1 << 3 | NVT_TOKEN_PUSH, CHUNK_EVENTS);
    put_column(&bytes, NVT_COLUMN_TOKENS, &column);
    memset(column.data, 1, CHUNK_EVENTS);
    put_column(&bytes, NVT_COLUMN_TIMES, &column);
    size_t from = (size_t)nvt_trace_writer_size(writer);
    write_chunk(writer, NVT_CHUNK_EVENTS, 0, 0, CHUNK_EVENTS, &bytes);
    size_t to = (size_t)nvt_trace_writer_size(writer);
    end_trace(writer);
    repeat_bytes(path, from, to, chunks);
    nvt_buffer_free(&bytes);
    nvt_buffer_free(&column);
    return path;
}

/* Memory for each byte of an unpacked trace, at most, as docs/untrusted.md states it. */
#define MEMORY_RATIO UINT64_C(128)

/* Peak memory of a child, bytes. */
static uint64_t peak_of(const char *const *argv, int *status)
{
    struct rusage usage;
    int wait_status = 0;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
            _exit(120);
        execv(cli_built("nvtally"), (char *const *)(uintptr_t)argv);
        _exit(121);
    }
    assert_int_equal(wait4(pid, &wait_status, 0, &usage), pid);
    assert_true(WIFEXITED(wait_status));
    *status = WEXITSTATUS(wait_status);
    return (uint64_t)usage.ru_maxrss * 1024;
}

static void a_small_file_does_not_fill_the_memory(void **state)
{
    (void)state;
    for (size_t padding = 0; padding <= 65536; padding += 65536) {
        const char *path = zstd_bomb(128, padding); /* 256 MiB, 128 million ranges */
        size_t size = 0;
        int status;
        free(cli_read_file(path, &size));
        assert_true(size < 128 * 1024);
        uint64_t peak = peak_of((const char *[]){"nvtally", "stats", path, NULL}, &status);
        print_message("%zu bytes that stand for 256 MiB: peak %llu MiB\n", size,
                      (unsigned long long)(peak >> 20));
        assert_int_equal(status, 0); /* what lies before it is read, with a warning */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* whose shadow is memory too */
        assert_true(peak < NVT_FILE_GRACE * MEMORY_RATIO + size * NVT_FILE_RATIO * MEMORY_RATIO);
#endif
        struct cli_result result = cli_run((const char *[]){"nvtally", "stats", path, NULL});
        assert_non_null(strstr(result.err, "grows more than 200-fold"));
        cli_result_free(&result);
    }
}

static void put_text(struct nvt_buffer *out, const char *text)
{
    put_number(out, strlen(text));
    assert_int_equal(nvt_buffer_append(out, text, strlen(text)), 0);
}

/* 64 of the next schema in each of 8: 64 to the power of 8 values from 25 KB. */
static void payloads_that_laugh_end(void **state)
{
    (void)state;
    const char *path = cli_in(cli_folder, "laughs.nvt");
    const uint64_t first = 1 << 24;
    struct nvt_buffer bytes = {0}, column = {0}, blob = {0};
    struct nvt_trace_writer *writer = begin_trace(path, 0);
    for (uint64_t i = 0; i < 8; i++) {
        const uint64_t header[] = {1, 1, 0, 64}, entry[] = {0, i < 7 ? first + i + 1 : 8, 0, 0};
        blob.size = 0;
        put_text(&blob, "schema");
        for (int k = 0; k < 4; k++)
            put_number(&blob, header[k]);
        for (int k = 0; k < 64 * 4; k++) {
            put_number(&blob, entry[k % 4]);
            if (k % 4 == 3)
                put_text(&blob, "ha");
        }
        put(&bytes, NVT_DEFINITION_SCHEMA);
        put(&bytes, 0);
        put(&bytes, first + i);
        put(&bytes, 0);
        put(&bytes, blob.size);
        assert_int_equal(nvt_buffer_append(&bytes, blob.data, blob.size), 0);
    }
    write_chunk(writer, NVT_CHUNK_DEFINITIONS, 0, NVT_NO_INDEX, 8, &bytes);
    blob.size = 0;
    put_number(&blob, first);
    put_number(&blob, 64);
    for (int i = 0; i < 8; i++)
        put_number(&blob, UINT64_C(0x0101010101010101));
    column.size = 0;
    put(&column, 1 << 3 | NVT_TOKEN_PUSH);
    put(&column, NVT_TOKEN_POP);
    put_column(&bytes, NVT_COLUMN_TOKENS, &column);
    column.size = 0;
    put(&column, 1);
    put(&column, 1);
    put_column(&bytes, NVT_COLUMN_TIMES, &column);
    column.size = 0;
    put(&column, 0);
    put(&column, 8); /* extended payloads */
    put(&column, blob.size);
    assert_int_equal(nvt_buffer_append(&column, blob.data, blob.size), 0);
    put_column(&bytes, NVT_COLUMN_ATTRIBUTES, &column);
    write_chunk(writer, NVT_CHUNK_EVENTS, 0, 0, 2, &bytes);
    end_trace(writer);
    struct cli_options options = {.timeout_s = 20};
    struct cli_result result = cli_run_with(
        &options, (const char *[]){"nvtally", "stats", "-r", "nvtx_pushpop_trace", path, NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "payloads hold more text"));
    assert_true(result.out_size < 16 * 1024 * 1024);
    cli_result_free(&result);
    nvt_buffer_free(&bytes);
    nvt_buffer_free(&column);
    nvt_buffer_free(&blob);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_table_format_is_inert),
        cmocka_unit_test(findings_and_comparisons_are_inert),
        cmocka_unit_test(documents_are_inert),
        cmocka_unit_test(charts_are_inert),
        cmocka_unit_test(exports_are_inert),
        cmocka_unit_test(messages_about_files_are_inert),
        cmocka_unit_test(a_small_file_does_not_fill_the_memory),
        cmocka_unit_test(payloads_that_laugh_end),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
