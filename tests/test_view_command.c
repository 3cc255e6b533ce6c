/*
 * The command `view`: its windows agree with the reports, it reads pipes, folders and files that grow, ends by Ctrl-C
 * and says in one line what it cannot do.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/readers/reader.h"
#include "../analyze/view/server.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "view_kit.h"
#include "viewer_kit.h"

/* What a window's table says, "count,ns" of a name; NULL where it is not there. */
static const char *said_of(const char *answer, const char *name, char *out, size_t size)
{
    char key[16384];
    snprintf(key, sizeof(key), "[\"%s\",", name);
    const char *at = strstr(answer, key);
    if (!at)
        return NULL;
    at += strlen(key);
    if (*at == '"')
        at = strchr(at, ',') + 1;
    snprintf(out, size, "%.*s", (int)strcspn(at, "]"), at);
    return out;
}

/* Every row of a report of the same window is in the answer, with its count and time. */
static size_t expect_report(const char *answer, const char *report, const char *window)
{
    const char *const argv[] = {"nvtally", "stats",         "-r",   report, "-f",
                                "tsv",     "--filter-time", window, TRAIN,  NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    size_t rows = 0;
    char *rest = strchr(result.out, '\n') + 1, expected[64], said[64];
    for (char *line; (line = strsep(&rest, "\n")) && *line; rows++) {
        int64_t total, count;
        assert_int_equal(sscanf(line, "%*s %" SCNd64 " %" SCNd64, &total, &count), 2);
        snprintf(expected, sizeof(expected), "%" PRId64 ",%" PRId64, count, total);
        if (!said_of(answer, strrchr(line, '\t') + 1, said, sizeof(said)))
            fail_msg("%s: the window lacks %s", report, line);
        assert_string_equal(said, expected);
    }
    cli_result_free(&result);
    return rows;
}

static void test_window_as_stats(void **state)
{
    (void)state;
    static const struct {
        const char *time, *question;
    } windows[] = {
        {"8700ms/8750ms", "window?from=8700000000&to=8750000000"},
        {"8500ms/8501ms", "window?from=8500000000&to=8501000000"},
        {"0s/10s", "window?from=0&to=10000000000"},
    };
    struct view_running view = view_run_of(TRAIN);
    size_t rows = 0;
    for (size_t i = 0; i < NVT_COUNT_OF(windows); i++) {
        struct view_reply reply = view_ask(view.address, windows[i].question);
        assert_int_equal(reply.status, 200);
        rows += expect_report(reply.text, "nvtx_sum", windows[i].time);
        rows += expect_report(reply.text, "cuda_gpu_kern_sum", windows[i].time);
        rows += expect_report(reply.text, "cuda_api_sum", windows[i].time);
        free(reply.text);
    }
    assert_true(rows > 50);
    view_end(&view, SIGINT);
}

/* A file that grows is read again; one that cannot be read for a while leaves what there was; questions go on meanwhile. */
static void test_growing(void **state)
{
    (void)state;
    size_t size;
    char *bytes = cli_read_file(TRAIN, &size);
    const char *path = cli_in(cli_folder, "growing.nvt");
    cli_write_file(path, bytes, size / 2);
    struct view_running view = view_run_of(path);
    const char *const find = "find?text=e&moment=0", *const key = "\"spans\":";
    const uint64_t spans = view_number(view.address, find, key);
    assert_true(spans > 0);
    cli_write_file(path, "no trace at all", 15);
    for (int i = 0; i < 15; i++) {
        assert_int_equal(view_number(view.address, find, key), spans);
        usleep(100000);
    }
    const uint64_t before = view_number(view.address, "edition", "\"edition\":");
    cli_write_file(path, bytes, size);
    for (int i = 0; view_number(view.address, "edition", "\"edition\":") == before; i++) {
        assert_true(i < 600);
        usleep(100000);
    }
    assert_true(view_number(view.address, find, key) > spans);
    view_end(&view, SIGINT);
    free(bytes);
}

/* A recording of which the first bytes stand for the beginning of a large one. */
#define LARGE       "large.nvt"
#define LARGE_BEGIN 4000

struct large {
    atomic_int whole, failed;
};

static int read_large(void *context, int64_t beginning, struct nvt_input inputs[NVT_VIEW_SIDES],
                      struct nvt_error *err)
{
    const char *path = cli_in(cli_folder, LARGE);
    char *const paths[] = {(char *)(intptr_t)path};
    (void)context;
    inputs[0].beginning = beginning ? LARGE_BEGIN : 0;
    return nvt_input_add_all(&inputs[0], paths, 1, err) || nvt_input_traces(&inputs[0], err) ? -1
                                                                                             : 1;
}

static void large_is_whole(void *context, const struct nvt_edition *edition,
                           const struct nvt_error *err)
{
    struct large *large = context;
    (void)err;
    if (!edition || edition->is_beginning)
        atomic_store(&large->failed, 1);
    atomic_fetch_add(&large->whole, 1);
}

static uint32_t ranges_of(const char *path, int64_t beginning)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace =
        beginning ? nvt_trace_read_beginning(path, beginning, &err) : nvt_trace_read(path, &err);
    const uint32_t count = trace ? trace->ranges.count : 0;
    nvt_trace_free(trace);
    return count;
}

/* The beginning of a large file is there first, then the whole; what is shorter is read as a whole at once. */
static void test_beginning(void **state)
{
    (void)state;
    const char *path = cli_in(cli_folder, LARGE);
    const char *const argv[] = {cli_built("nvtally"), "record", "-o", path, "--",
                                cli_client("life"),   "many",   NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct large large = {0};
    const struct nvt_edition_source source = {
        .read = read_large, .is_whole = large_is_whole, .context = &large};
    struct nvt_error err = NVT_ERROR_INIT;
    const uint32_t some = ranges_of(path, LARGE_BEGIN), all = ranges_of(path, 0);
    assert_true(some > 100 && some < all);
    assert_int_equal(ranges_of(path, 100 << 20), 0);
    assert_int_equal(ranges_of(TRAIN, 1000), 0); /* of a format that cannot be begun with */
    assert_int_equal(ranges_of("tests", 1), 0);
    struct nvt_editions *editions = nvt_editions_read(&source, &err);
    assert_non_null(editions);
    uint32_t last = 0;
    for (int i = 0; i < 600 && last != all; i++) {
        struct nvt_edition *edition = nvt_edition_take(editions);
        last = edition->viewer->traces[0]->trace->ranges.count;
        assert_int_equal(last, edition->number == 1 ? some : all);
        assert_int_equal(edition->is_beginning, edition->number == 1);
        assert_int_equal(edition->lacks_path && edition->number != 2, 0);
        nvt_edition_release(editions, edition);
        usleep(100000);
    }
    assert_int_equal(last, all);
    nvt_editions_free(editions);
    assert_int_equal(atomic_load(&large.whole), 1);
    assert_false(atomic_load(&large.failed));
}

/* A pipe in which nothing comes, then what is no trace: there is an address, and in the end one line. */
static void test_broken_pipe(void **state)
{
    (void)state;
    const char *path = cli_in(cli_folder, "slow.json");
    struct nvt_error err = NVT_ERROR_INIT;
    if (nvt_view_can_serve(&err)) {
        print_message("not run: %s\n", err.message);
        skip();
    }
    assert_int_equal(mkfifo(path, 0600), 0);
    /* so that nobody waits for the other end */
    const int pipe_end = open(path, O_RDWR | O_CLOEXEC);
    assert_true(pipe_end >= 0);
    struct view_running view = view_run(path, NULL);
    viewer_expect_state(view.address, "{\"edition\":0,");
    assert_int_equal(write(pipe_end, "[1, 2", 5), 5);
    close(pipe_end);
    int status = 0;
    for (int i = 0; i < 600 && waitpid(view.pid, &status, WNOHANG) != view.pid; i++)
        usleep(100000);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 2);
    fclose(view.out);
}

/* What comes through a pipe is read once: nothing waits for another writer, when it ends neither. */
static void test_pipe(void **state)
{
    (void)state;
    size_t size;
    const char *path = cli_in(cli_folder, "pipe.nvt");
    struct nvt_error err = NVT_ERROR_INIT;
    if (nvt_view_can_serve(&err)) {
        print_message("not run: %s\n", err.message);
        skip();
    }
    char *bytes = cli_read_file(TRAIN, &size);
    assert_int_equal(mkfifo(path, 0600), 0);
    const int pipe_end = open(path, O_RDWR | O_CLOEXEC);
    struct view_running view = view_run(path, NULL);
    for (size_t at = 0; at < size;) {
        const ssize_t more = write(pipe_end, bytes + at, size - at);
        assert_true(more > 0);
        at += (size_t)more;
    }
    free(bytes);
    close(pipe_end);
    viewer_expect_state(view.address, "\"lacks_path\":0,\"same\":1}");
    sleep(1); /* files are looked at each half second */
    view_expect(view_ask(view.address, "lanes"), 200, "\"id\":0");
    view_end(&view, SIGINT);
}

/* Ctrl-C ends it while it still reads, here from a pipe in which nothing comes. */
static void test_ends_while_it_reads(void **state)
{
    (void)state;
    const char *path = cli_in(cli_folder, "pipe.json");
    struct nvt_error err = NVT_ERROR_INIT;
    int status = 0, pipe_end = -1;
    if (nvt_view_can_serve(&err)) {
        print_message("not run: %s\n", err.message);
        skip();
    }
    assert_int_equal(mkfifo(path, 0600), 0);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        signal(SIGINT, SIG_DFL); /* what a shell runs behind its back ignores it */
        execl(cli_built("nvtally"), "nvtally", "view", path, "--no-open", (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < 600 && pipe_end < 0; i++) { /* until it is opened */
        pipe_end = open(path, O_WRONLY | O_NONBLOCK);
        usleep(100000);
    }
    kill(pid, SIGINT);
    for (int i = 0; i < 600 && waitpid(pid, &status, WNOHANG) != pid; i++)
        usleep(100000);
    if (!WIFSIGNALED(status))
        kill(pid, SIGKILL);
    assert_true(pipe_end >= 0);
    close(pipe_end);
    /* Where the machine is slow, it has an address by then. */
    assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGINT : !WEXITSTATUS(status));
}

/* What a truncated trace has is shown; a port that is taken, and files that are none, take one line. */
static void test_command(void **state)
{
    (void)state;
    size_t size;
    char *bytes = cli_read_file(TRAIN, &size), port[32];
    const char *cut = cli_in(cli_folder, "cut.nvt");
    cli_write_file(cut, bytes, size * 2 / 3);
    free(bytes);
    struct view_running view = view_run_of(cut);
    view_expect(view_ask(view.address, "lanes"), 200, "\"id\":0");
    snprintf(port, sizeof(port), "--port=%d", atoi(strrchr(view.address, ':') + 1));
    const struct {
        const char *option, *file, *needle;
    } wrong[] = {
        {port, TRAIN, "cannot be served"},       {"--port=0", TRAIN, "--port 0"},
        {"--port=65536", TRAIN, "--port 65536"}, {"--port=x", TRAIN, "--port x"},
        {"--port=8 0", TRAIN, "--port 8 0"},     {"--no-open", "/nowhere.nvt", "/nowhere.nvt"},
        {"--bogus", TRAIN, "--bogus"},           {"--no-open", NULL, "no trace"},
        {"--no-open", "README.md", "README.md"}, {"--no-open", "vs", "each side of 'vs'"},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(wrong); i++) {
        const char *const argv[] = {"nvtally", "view", wrong[i].option, wrong[i].file, NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_failure(&result, wrong[i].needle);
        cli_result_free(&result);
    }
    view_end(&view, SIGTERM);
}

/* Of a folder, files that cannot be read are named, on the page too, and the others are shown. */
static void test_folder(void **state)
{
    (void)state;
    size_t size;
    char *bytes = cli_read_file(TRAIN, &size);
    cli_write_file(cli_in(cli_folder, "a.nvt"), "", 0);
    cli_write_file(cli_in(cli_folder, "b.nvt"), bytes, size);
    free(bytes);
    struct view_running view = view_run_of(cli_folder);
    view_expect(view_ask(view.address, "lanes"), 200, "/a.nvt: ");
    view_expect(view_ask(view.address, "lanes"), 200, "left out\"]");
    view_expect(view_ask(view.address, "lanes"), 200, "\"traces\":[\"b.nvt\"]");
    view_end(&view, SIGINT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_window_as_stats),
        cmocka_unit_test_setup_teardown(test_beginning, cli_folder_set_up, cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(test_broken_pipe, cli_folder_set_up, cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(test_pipe, cli_folder_set_up, cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(test_growing, cli_folder_set_up, cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(test_ends_while_it_reads, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(test_folder, cli_folder_set_up, cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(test_command, cli_folder_set_up, cli_folder_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
