/*
 * `top`: what it draws fits every screen and follows keys, what was open stays so when a trace has grown, and the command gives
 * the terminal back however it ends.
 */
#include <fcntl.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/overview/top.h"
#include "../lib/count_of.h"
#include "../lib/text.h"
#include "cli.h"
#include "html_check.h"
#include "made_trace.h"

#define TRAIN "docs/results/h100/traces/train.nvt"

struct shown {
    struct nvt_input_trace item;
    struct nvt_input input;
    struct nvt_top top;
};

/* A range of 100 us with what is in it. */
static void put(struct maker *maker, const char *name, const char *const *inside)
{
    const int64_t start = maker->now;
    for (; *inside; inside++) {
        const int64_t begin = maker->now;
        /* the longer the name, the longer it takes */
        maker->now += (int64_t)strlen(*inside) * 10000;
        make_range(maker, *inside, begin);
    }
    maker->now += 100000;
    make_range(maker, name, start);
}

static void show(struct shown *shown, int iterations)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct maker maker = make_begin();
    for (int i = 0; i < iterations; i++) {
        const int64_t start = maker.now;
        put(&maker, "forward", (const char *const[]){"norm", "attention", "mlp", NULL});
        put(&maker, "backward", (const char *const[]){"mlp", "norm", NULL});
        put(&maker, "optimizer", (const char *const[]){NULL});
        make_range(&maker, "iteration", start);
        maker.now += 50000;
    }
    *shown = (struct shown){.item = {.trace = make_end(&maker)}};
    shown->input = (struct nvt_input){.traces = &shown->item, .trace_count = 1};
    assert_int_equal(nvt_top_make(&shown->top, &shown->input, &err), 0);
}

static void hide(struct shown *shown)
{
    nvt_top_free(&shown->top);
    nvt_buffer_free(&shown->input.notes);
    nvt_trace_free(shown->item.trace);
}

static char *drawn(struct nvt_top *top, size_t width, size_t height)
{
    const struct nvt_screen screen = {.width = width, .height = height};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    nvt_top_draw(top, &screen, "a very long name of a trace, with \x1b[31m and Zürich in it", out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void test_screens(void **state)
{
    (void)state;
    static const size_t sizes[][2] = {{80, 24}, {40, 10}, {200, 60}, {20, 3}, {20, 30},
                                      {1, 1},   {60, 24}, {63, 12},  {1, 12}};
    struct shown shown;
    show(&shown, 8);
    for (size_t i = 0; i < 3 * NVT_COUNT_OF(sizes); i++) {
        const size_t *size = sizes[i / 3];
        char *text = drawn(&shown.top, size[0], size[1]), *rest = text;
        size_t lines = 0;
        if (size[0] >= 60)
            assert_non_null(strstr(text, "q end"));
        if (size[0] >= 60 && size[1] >= 12 && i % 3 == 2)
            assert_non_null(strstr(text, "sort by the next column"));
        if (size[0] >= 80 && i % 3 != 0) /* findings may be longer, and are wrapped */
            assert_null(strstr(text, "…\n"));
        for (const char *line; (line = strsep(&rest, "\n")); lines++)
            if (nvt_text_width(line) > size[0])
                fail_msg("%zu columns: %s", size[0], line);
        if (lines != size[1])
            fail_msg("%zu lines, not %zu", lines, size[1]);
        assert_null(strchr(text, '\x1b'));
        free(text);
        /* The tree, findings, keys. */
        nvt_top_press(&shown.top, i % 3 == 1 ? NVT_TOP_KEYS : NVT_TOP_FINDINGS, 5);
        if (i % 3 == 2)
            nvt_top_press(&shown.top, NVT_TOP_FINDINGS, 5);
    }
    hide(&shown);
}

static void test_keys(void **state)
{
    (void)state;
    struct shown shown;
    struct nvt_top *top = &shown.top;
    show(&shown, 8);
    assert_int_equal(top->count, 1 + 3 + 5);
    nvt_top_press(top, NVT_TOP_CLOSE_ALL, 5);
    const uint32_t outer = top->shown_count;
    for (uint32_t i = 0; i < outer; i++)
        assert_int_equal(top->rows[top->shown[i]].parent, NVT_NONE);
    nvt_top_press(top, NVT_TOP_OPEN_ALL, 5);
    assert_int_equal(top->shown_count, top->count);
    nvt_top_press(top, NVT_TOP_LAST, 5);
    assert_int_equal(top->cursor, top->count - 1);
    nvt_top_press(top, NVT_TOP_DOWN, 5);
    assert_int_equal(top->cursor, top->count - 1);
    /* By CPU time, brothers stand in that order, and each below its parent. */
    nvt_top_press(top, NVT_TOP_SORT, 5);
    assert_int_equal(top->sort, NVT_TOP_CPU);
    for (uint32_t i = 0; i < top->shown_count; i++)
        for (uint32_t k = i + 1; k < top->shown_count; k++) {
            const struct nvt_top_row *a = &top->rows[top->shown[i]], *b = &top->rows[top->shown[k]];
            assert_true(a->parent != b->parent || a->cpu_ns >= b->cpu_ns);
            assert_true(a->parent != top->shown[k]);
        }
    nvt_top_press(top, NVT_TOP_FIRST, 5);
    nvt_top_press(top, NVT_TOP_CLOSE, 5);
    assert_true(top->shown_count < top->count);
    nvt_top_press(top, NVT_TOP_TOGGLE, 5);
    assert_int_equal(top->shown_count, top->count);
    char *text = drawn(top, 80, 24);
    assert_int_equal(count_of(text, "CPU ▼"), 1);
    assert_int_equal(count_of(text, "\n>"), 1);
    free(text);
    hide(&shown);
}

/* Every key leads back from the keys, those that mean nothing too; Esc from findings; nothing else changes. */
static void test_back(void **state)
{
    (void)state;
    struct shown shown;
    struct nvt_top *top = &shown.top;
    show(&shown, 8);
    static const enum nvt_top_key all[] = {NVT_TOP_OTHER, NVT_TOP_BACK, NVT_TOP_SORT, NVT_TOP_LAST};
    for (size_t i = 0; i < NVT_COUNT_OF(all); i++) {
        nvt_top_press(top, NVT_TOP_KEYS, 5);
        assert_true(top->shows_keys);
        nvt_top_press(top, all[i], 5);
        assert_false(top->shows_keys);
    }
    assert_int_equal(top->sort, NVT_TOP_RUN);
    nvt_top_press(top, NVT_TOP_FINDINGS, 5);
    nvt_top_press(top, NVT_TOP_OTHER, 5);
    assert_true(top->shows_findings);
    nvt_top_press(top, NVT_TOP_BACK, 5);
    assert_false(top->shows_findings);
    nvt_top_press(top, NVT_TOP_BACK, 5);
    assert_false(top->shows_findings || top->shows_keys);
    hide(&shown);
}

static uint32_t row_of(const struct nvt_top *top, const char *name, uint32_t parent)
{
    for (uint32_t i = 0; i < top->count; i++)
        if (!strcmp(top->rows[i].name, name) && top->rows[i].parent == parent)
            return i;
    fail_msg("no row %s", name);
    return NVT_NONE;
}

/* What worker threads do during an iteration stands below a row of its own; no GPU was traced, so that none is said to be idle. */
static void test_other_threads(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    const uint32_t main_thread = maker.thread;
    const uint32_t worker = nvt_trace_thread(maker.trace, maker.process, 77);
    for (int i = 0; i < 8; i++) {
        const int64_t start = maker.now;
        maker.thread = worker;
        maker.now += 30000;
        make_range(&maker, "decode", start);
        maker.now += 10000;
        make_range(&maker, "load", start);
        maker.thread = main_thread;
        maker.now += 60000;
        make_range(&maker, "iteration", start);
    }
    struct nvt_error err = NVT_ERROR_INIT;
    struct shown shown = {.item = {.trace = make_end(&maker)}};
    shown.input = (struct nvt_input){.traces = &shown.item, .trace_count = 1};
    assert_int_equal(nvt_top_make(&shown.top, &shown.input, &err), 0);
    const struct nvt_top *top = &shown.top;
    const uint32_t others = row_of(top, "other threads", NVT_NONE);
    const uint32_t load = row_of(top, "load", others), decode = row_of(top, "decode", load);
    assert_true(top->rows[others].cpu_ns == 40000 && top->rows[load].cpu_ns == 40000);
    assert_true(top->rows[decode].cpu_ns == 30000 && top->rows[decode].calls == 1);
    assert_true(top->rows[row_of(top, "iteration", NVT_NONE)].cpu_ns == 100000);
    char *text = drawn(&shown.top, 80, 24);
    assert_null(strstr(text, "0 ns"));
    free(text);
    hide(&shown);
}

static void test_keep(void **state)
{
    (void)state;
    struct shown before, after;
    show(&before, 4);
    show(&after, 8);
    nvt_top_press(&before.top, NVT_TOP_OPEN_ALL, 5);
    nvt_top_press(&before.top, NVT_TOP_LAST, 5);
    nvt_top_press(&before.top, NVT_TOP_SORT, 5);
    const char *name = before.top.rows[before.top.shown[before.top.cursor]].name;
    assert_int_equal(nvt_top_keep(&after.top, &before.top), 0);
    assert_int_equal(after.top.shown_count, after.top.count);
    assert_int_equal(after.top.sort, NVT_TOP_CPU);
    assert_string_equal(after.top.rows[after.top.shown[after.top.cursor]].name, name);
    hide(&before);
    hide(&after);
}

/* --- the command ------------------------------------------------------------------------------- */

struct terminal {
    pid_t pid;
    int fd;
    struct nvt_buffer seen;
};

static struct terminal start_of(const char *file, const char *other)
{
    struct terminal terminal = {0};
    const struct winsize size = {.ws_row = 24, .ws_col = 80};
    terminal.pid = forkpty(&terminal.fd, NULL, NULL, &size);
    if (terminal.pid < 0) {
        print_message("no pseudo-terminals here (/dev/pts): not run\n");
        skip();
    }
    if (!terminal.pid) {
        setenv("TERM", "xterm", 1);
        unsetenv("COLUMNS");
        execl(cli_built("nvtally"), "nvtally", "top", file, other, (char *)NULL);
        _exit(127);
    }
    return terminal;
}

static struct terminal start(const char *file)
{
    return start_of(file, NULL);
}

/* Read on until a text was written that was not there before; fails after a minute. */
static void expect(struct terminal *terminal, const char *what)
{
    char piece[4096];
    terminal->seen.size = 0;
    for (int waited = 0; waited < 600;) {
        struct pollfd in = {.fd = terminal->fd, .events = POLLIN};
        const int ready = poll(&in, 1, 100);
        waited += !ready;
        const ssize_t got = ready > 0 ? read(terminal->fd, piece, sizeof(piece)) : 0;
        if (got > 0)
            assert_int_equal(nvt_buffer_append(&terminal->seen, piece, (size_t)got), 0);
        if (terminal->seen.size &&
            memmem(terminal->seen.data, terminal->seen.size, what, strlen(what)))
            return;
        if (got < 0) /* it has ended */
            break;
    }
    fail_msg("never '%s' but: %.*s", what, (int)terminal->seen.size,
             (const char *)terminal->seen.data);
}

static void type(const struct terminal *terminal, const char *text)
{
    assert_int_equal(write(terminal->fd, text, strlen(text)), strlen(text));
}

static void expect_end(struct terminal *terminal)
{
    int status;
    expect(terminal, "\033[?1049l");
    assert_int_equal(waitpid(terminal->pid, &status, 0), terminal->pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    close(terminal->fd);
    nvt_buffer_free(&terminal->seen);
}

static void test_command(void **state)
{
    (void)state;
    struct terminal terminal = start(TRAIN);
    expect(&terminal, "optimizer");
    /* A terminal is on the last character of a full line until the next one: clearing behind it takes that away. */
    assert_non_null(memmem(terminal.seen.data, terminal.seen.size, "\r\n\033[K", 5));
    assert_null(memmem(terminal.seen.data, terminal.seen.size, "\033[K\r\n", 5));
    type(&terminal, "-");
    expect(&terminal, "▸ iteration");
    type(&terminal, "\033[C");
    expect(&terminal, "▾ iteration");
    type(&terminal, "f");
    expect(&terminal, "torch.compile");
    const struct winsize size = {.ws_row = 10, .ws_col = 40};
    assert_int_equal(ioctl(terminal.fd, TIOCSWINSZ, &size), 0);
    expect(&terminal, "f the tree");
    type(&terminal, "q");
    expect_end(&terminal);
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < NVT_COUNT_OF(signals); i++) {
        terminal = start(TRAIN);
        expect(&terminal, "optimizer");
        kill(terminal.pid, signals[i]);
        expect_end(&terminal);
    }
}

/* A file that grows is shown anew; one that is no trace for a while leaves what there was. */
static void test_growing(void **state)
{
    (void)state;
    size_t size;
    char *bytes = cli_read_file(TRAIN, &size);
    const char *path = cli_in(cli_folder, "growing.nvt");
    cli_write_file(path, bytes, size / 4);
    struct terminal terminal = start(path);
    expect(&terminal, "q end");
    assert_null(memmem(terminal.seen.data, terminal.seen.size, "GPU busy", 8));
    assert_null(memmem(terminal.seen.data, terminal.seen.size, " 0 ns", 5));
    static const char cut[] = "warning: growing.nvt: the last chunk is cut";
    assert_non_null(memmem(terminal.seen.data, terminal.seen.size, cut, sizeof(cut) - 1));
    cli_write_file(path, "no trace at all", 15);
    sleep(2);
    cli_write_file(path, bytes, size);
    expect(&terminal, "GPU busy 26 %");
    type(&terminal, "q");
    expect_end(&terminal);
    free(bytes);
}

static void resize(const struct terminal *terminal, unsigned short rows, unsigned short columns)
{
    const struct winsize size = {.ws_row = rows, .ws_col = columns};
    assert_int_equal(ioctl(terminal->fd, TIOCSWINSZ, &size), 0);
}

/* A recording that goes on until its input ends. */
static pid_t record_steady(const char *path, int *input)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        dup2(ends[0], STDIN_FILENO);
        execl(cli_built("nvtally"), "nvtally", "record", "-o", path, "--", cli_client("steady"),
              (char *)NULL);
        _exit(127);
    }
    close(ends[0]);
    *input = ends[1];
    return pid;
}

/* Until a file that is being recorded has ranges. */
static void expect_ranges(const char *path)
{
    for (int i = 0, has_some = 0; !has_some; i++) {
        const char *const argv[] = {"nvtally", "stats", "-r", "nvtx_sum", path, NULL};
        struct cli_result result = cli_run(argv);
        has_some = !result.status && strstr(result.out, "compute");
        cli_result_free(&result);
        assert_true(i < 600);
        usleep(100000);
    }
}

/* Keys while a recording runs and its file grows: what was folded stays so, help comes and goes, sizes change. */
static void test_recording(void **state)
{
    (void)state;
    const char *path = cli_in(cli_folder, "running.nvt");
    int input = -1, status = 0;
    const pid_t recorder = record_steady(path, &input);
    expect_ranges(path);
    struct terminal terminal = start(path);
    expect(&terminal, "▾ step");
    assert_non_null(memmem(terminal.seen.data, terminal.seen.size, "recording", 9));
    type(&terminal, "-");
    expect(&terminal, "▸ step");
    expect(&terminal, "▸ step"); /* by itself, as the file has grown */
    assert_null(memmem(terminal.seen.data, terminal.seen.size, "compute", 7));
    type(&terminal, "?");
    expect(&terminal, "sort by the next column");
    resize(&terminal, 24, 60);
    expect(&terminal, "s: sort by the next column");
    type(&terminal, "?");
    expect(&terminal, "f findings · ? keys · q end");
    type(&terminal, "s");
    expect(&terminal, "CPU ▼");
    type(&terminal, "\033[C");
    expect(&terminal, "compute");
    type(&terminal, "\033[B\033[B");
    expect(&terminal, ">   ");
    resize(&terminal, 24, 80);
    expect(&terminal, "arrows move");
    close(input);
    assert_int_equal(waitpid(recorder, &status, 0), recorder);
    assert_int_equal(status, 0);
    type(&terminal, "q");
    expect_end(&terminal);
}

/* Recordings of different programs are shown one at a time; two files of one job's ranks together. */
static void test_several(void **state)
{
    (void)state;
    struct terminal terminal = start_of(TRAIN, "docs/results/h100/traces/looped.nvt");
    expect(&terminal, "n next recording");
    assert_non_null(memmem(terminal.seen.data, terminal.seen.size, "looped.nvt · 1 of 2", 20));
    assert_non_null(memmem(terminal.seen.data, terminal.seen.size, "sync-bound", 10));
    assert_null(memmem(terminal.seen.data, terminal.seen.size, "optimizer", 9));
    type(&terminal, "n");
    expect(&terminal, "n next recording");
    assert_non_null(memmem(terminal.seen.data, terminal.seen.size, "train.nvt · 2 of 2", 19));
    assert_non_null(memmem(terminal.seen.data, terminal.seen.size, "optimizer", 9));
    type(&terminal, "?");
    expect(&terminal, "any key: back");
    assert_non_null(memmem(terminal.seen.data, terminal.seen.size, "the next recording", 18));
    type(&terminal, "\033"); /* and back */
    expect(&terminal, "train.nvt · 2 of 2");
    type(&terminal, "n");
    expect(&terminal, "looped.nvt · 1 of 2");
    type(&terminal, "q");
    expect_end(&terminal);
    size_t size;
    char *bytes = cli_read_file(TRAIN, &size);
    char first[512];
    snprintf(first, sizeof(first), "%s", cli_in(cli_folder, "t.rank0.nvt"));
    cli_write_file(first, bytes, size);
    cli_write_file(cli_in(cli_folder, "t.rank1.nvt"), bytes, size);
    free(bytes);
    terminal = start_of(first, cli_in(cli_folder, "t.rank1.nvt"));
    expect(&terminal, "q end");
    static const char job[] = "t.rank0.nvt and 1 more", units[] = "median of 20";
    assert_non_null(memmem(terminal.seen.data, terminal.seen.size, job, sizeof(job) - 1));
    assert_non_null(memmem(terminal.seen.data, terminal.seen.size, units, sizeof(units) - 1));
    type(&terminal, "q");
    expect_end(&terminal);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *file, *needle;
    } wrong[] = {{TRAIN, "needs a terminal"},
                 {"/nowhere.nvt", "/nowhere.nvt"},
                 {"README.md", "README.md"},
                 {NULL, "no trace"},
                 {"--bogus", "--bogus"}};
    for (size_t i = 0; i < NVT_COUNT_OF(wrong); i++) {
        const char *const argv[] = {"nvtally", "top", wrong[i].file, NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_failure(&result, wrong[i].needle);
        cli_result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_screens),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_back),
        cmocka_unit_test(test_other_threads),
        cmocka_unit_test(test_keep),
        cmocka_unit_test(test_command),
        cmocka_unit_test_setup_teardown(test_growing, cli_folder_set_up, cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(test_recording, cli_folder_set_up, cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(test_several, cli_folder_set_up, cli_folder_tear_down),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
