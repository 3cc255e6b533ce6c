/*
 * The server of `view`: it gives nothing to who lacks the token, survives clients that break off, and answers while
 * traces are read.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/readers/reader.h"
#include "../analyze/view/server.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "view_kit.h"
#include "viewer_kit.h"

/* --- the server -------------------------------------------------------------------------------- */

static struct nvt_view_server *serve(struct shown *shown)
{
    struct nvt_error err = NVT_ERROR_INIT;
    if (nvt_view_can_serve(&err)) {
        print_message("not run: %s\n", err.message);
        skip();
    }
    viewer_show(shown, viewer_made_loop());
    shown->editions = nvt_editions_of(&shown->viewer);
    assert_non_null(shown->editions);
    struct nvt_view_server *server = nvt_view_serve(shown->editions, 0, &err);
    assert_non_null(server);
    return server;
}

static void test_token(void **state)
{
    (void)state;
    struct shown shown;
    struct nvt_view_server *server = serve(&shown);
    const char *address = nvt_view_address(server);
    char path[256], token[64];
    assert_int_equal(sscanf(address, "http://127.0.0.1:%*d/%32[0-9a-f]/", token), 1);
    assert_int_equal(strlen(token), 32);
    view_expect(view_ask(address, ""), 200, "<title>nvtally view</title>");
    view_expect(view_ask(address, "view.js"), 200, "Content-Type: text/javascript");
    view_expect(view_ask(address, "view.css"), 200, "default-src 'none'");
    const char *const without[] = {"/",
                                   "/lanes",
                                   "/view.js",
                                   "//",
                                   "/x/lanes",
                                   "/00000000000000000000000000000000/lanes",
                                   "/../../../../etc/passwd"};
    for (size_t i = 0; i < NVT_COUNT_OF(without); i++)
        view_expect(view_ask_with(address, "GET", without[i]), 403, "default-src 'none'");
    snprintf(path, sizeof(path), "/%.31s/lanes", token); /* a part of it, and one bit more */
    view_expect(view_ask_with(address, "GET", path), 403, NULL);
    token[31] = token[31] == '0' ? '1' : '0';
    snprintf(path, sizeof(path), "/%s/", token);
    view_expect(view_ask_with(address, "GET", path), 403, NULL);
    nvt_view_stop(server);
    viewer_hide(&shown);
}

/* A name of another site that leads to 127.0.0.1 gets nothing, even with the token; ssh -L comes from another port. */
static void test_hosts(void **state)
{
    (void)state;
    static const struct {
        const char *host;
        int status;
    } hosts[] = {{"localhost", 200},
                 {"LocalHost:8000", 200},
                 {"127.0.0.1", 200},
                 {"127.0.0.1:1", 200},
                 {"[::1]", 200},
                 {"[::1]:65535", 200},
                 {"evil.com", 403},
                 {"evil.com:80", 403},
                 {"localhost.evil.com", 403},
                 {"localhost:80.evil.com", 403},
                 {"127.0.0.1.evil.com", 403},
                 {"evil.localhost", 403},
                 {"127.0.0.1:80@evil.com", 403},
                 {"", 403}};
    struct shown shown;
    struct nvt_view_server *server = serve(&shown);
    const char *address = nvt_view_address(server);
    for (size_t i = 0; i < NVT_COUNT_OF(hosts); i++)
        view_expect(view_ask_at(address, hosts[i].host, "GET", strchr(address + 8, '/')),
                    hosts[i].status, hosts[i].status == 200 ? "<title>" : "alone.");
    nvt_view_stop(server);
    viewer_hide(&shown);
}

static void test_paths(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int status;
        const char *needle;
    } asked[] = {
        {"lanes", 200, "\"GPU 0 stream "},
        {"findings", 200, "{\"findings\":["},
        {"tiles?from=0&to=1000000&columns=100&lanes=0,1", 200, "\"tracks\":[["},
        {"window?from=0&to=1000000000", 200, ":iteration"},
        {"find?text=ITER&moment=0", 200, "\"iteration\",8,"},
        {"event?lane=0&track=0&row=0", 200, "\"kind\":\"iterations\""},
        {"tiles?from=0&to=1e6&columns=100&lanes=0", 400, NULL},
        {"tiles?from=0&to=99999999999999999999&columns=100&lanes=0", 400, NULL},
        {"tiles?from=0&to=1000&columns=100000000&lanes=0", 400, NULL},
        {"tiles", 400, NULL},
        {"tiles?from&to&columns&lanes", 400, NULL},
        {"window?from=5", 400, NULL},
        {"window?from=0&to=9&side=1", 400, NULL},
        {"window?from=0&to=9&with=1", 400, NULL},
        {"window?from=0&to=9&with=0&with_from=x&with_to=9", 400, NULL},
        {"window?from=0&to=9&with=0&with_from=0&with_to=9223372036854775807", 400, NULL},
        {"window?from=0&to=9&with=0&with_from=5&with_to=4", 400, NULL},
        {"window?from=0&to=9&with=0&with_from=5&with_to=9", 200, "\"operations\":["},
        {"event?lane=0&track=0&row=-1", 400, NULL},
        {"find?moment=0", 400, NULL},
        {"find?text=ITER&moment=0&lane=x", 400, NULL},
        {"find?text=ITER&moment=0&lane=0&track=0&back=2", 400, NULL},
        {"find?text=ITER&moment=0&lane=0&track=0&back=1", 200, "\"place\":"},
        {"../../etc/passwd", 404, NULL},
        {"..%2f..%2fetc%2fpasswd", 404, NULL},
        {"/etc/passwd", 404, NULL},
        {"view.html", 404, NULL},
        {"lanes/", 404, NULL},
    };
    struct shown shown;
    struct nvt_view_server *server = serve(&shown);
    const char *address = nvt_view_address(server), *path = strchr(address + 8, '/');
    for (size_t i = 0; i < NVT_COUNT_OF(asked); i++)
        view_expect(view_ask(address, asked[i].path), asked[i].status, asked[i].needle);
    view_expect(view_ask_with(address, "POST", path), 405, NULL);
    view_expect(view_ask_with(address, "DELETE", path), 405, NULL);
    view_expect(view_ask_with(address, "HEAD", path), 200, NULL);
    nvt_view_stop(server);
    viewer_hide(&shown);
}

/* Clients that send nothing, half a question, nonsense, or do not wait for the answer. */
static void test_broken_clients(void **state)
{
    (void)state;
    struct shown shown;
    struct nvt_view_server *server = serve(&shown);
    const char *address = nvt_view_address(server);
    char question[512];
    const int length =
        snprintf(question, sizeof(question), "GET %slanes HTTP/1.1\r\nHost: localhost\r\n\r\n",
                 strchr(address + 8, '/'));
    int open[20];
    for (size_t i = 0; i < NVT_COUNT_OF(open); i++) {
        open[i] = view_connect(address);
        if (i % 4 == 1)
            assert_true(write(open[i], question, (size_t)length / 2) > 0);
        if (i % 4 == 2)
            assert_true(write(open[i], question, (size_t)length) > 0);
        if (i % 4 == 3)
            assert_true(write(open[i], "\0\xff\r\n\r\n\r\n", 8) > 0);
        if (i % 4 == 2) {
            const struct linger at_once = {1, 0}; /* closed by a reset, as a killed browser's are */
            setsockopt(open[i], SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
            close(open[i]);
            open[i] = -1;
        }
    }
    view_expect(view_ask(address, "lanes"), 200, "\"lanes\":[");
    for (size_t i = 0; i < NVT_COUNT_OF(open); i++)
        if (open[i] >= 0)
            close(open[i]);
    view_expect(view_ask(address, "lanes"), 200, "\"lanes\":[");
    nvt_view_stop(server);
    viewer_hide(&shown);
}

/* --- the command ------------------------------------------------------------------------------- */

/* What is read slowly, and fails where it shall: the train, behind its beginning or behind nothing. */
struct slow {
    atomic_int goes_on, fails, whole, failed;
    int has_beginning;
};

static int read_slowly(void *context, int64_t beginning, struct nvt_input inputs[NVT_VIEW_SIDES],
                       struct nvt_error *err)
{
    struct slow *slow = context;
    char *const paths[] = {(char *)(intptr_t)TRAIN};
    if (beginning && !slow->has_beginning)
        return nvt_fail(err, "no beginning");
    while (!beginning && !atomic_load(&slow->goes_on))
        usleep(1000);
    if (!beginning && atomic_load(&slow->fails))
        return nvt_fail(err, "a \"broken\" file");
    return nvt_input_add_all(&inputs[0], paths, 1, err) || nvt_input_traces(&inputs[0], err) ? -1
                                                                                             : 1;
}

static void slow_is_whole(void *context, const struct nvt_edition *edition,
                          const struct nvt_error *err)
{
    struct slow *slow = context;
    (void)err;
    atomic_fetch_add(edition ? &slow->whole : &slow->failed, 1);
}

static struct nvt_editions *read_in_vain(struct slow *slow, int64_t patience_ms,
                                         struct nvt_error *err)
{
    const struct nvt_edition_source source = {.read = read_slowly,
                                              .is_whole = slow_is_whole,
                                              .context = slow,
                                              .bytes = 1 << 30,
                                              .patience_ms = patience_ms};
    return nvt_editions_read(&source, err);
}

static void wait_for_reading(struct nvt_editions *editions)
{
    for (int i = 0; nvt_editions_are_reading(editions); i++) {
        assert_true(i < 600);
        usleep(100000);
    }
}

static struct nvt_view_server *serve_editions(struct nvt_editions *editions)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_view_server *server = nvt_view_serve(editions, 0, &err);
    assert_non_null(server);
    return server;
}

/* While nothing has been read the server says how far it is; then lanes come without the critical path, and with it. */
static void test_slow(void **state)
{
    (void)state;
    struct slow slow = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    if (nvt_view_can_serve(&err)) {
        print_message("not run: %s\n", err.message);
        skip();
    }
    struct nvt_editions *editions = read_in_vain(&slow, 1, &err);
    assert_non_null(editions);
    struct nvt_view_server *server = serve_editions(editions);
    const char *address = nvt_view_address(server);
    viewer_expect_state(address,
                        "{\"edition\":0,\"is_beginning\":0,\"lacks_path\":0,\"same\":0,\"read\":");
    view_expect(view_ask(address, "lanes"), 400, NULL);
    view_expect(view_ask(address, "findings"), 400, NULL);
    assert_true(nvt_editions_are_reading(editions));
    atomic_store(&slow.goes_on, 1);
    viewer_expect_state(address, "{\"edition\":2,\"is_beginning\":0,\"lacks_path\":0,\"same\":1}");
    wait_for_reading(editions);
    struct nvt_edition *edition = nvt_edition_take(editions);
    struct nvt_viewer direct = {0};
    assert_int_equal(nvt_viewer_make(&direct, edition->base->inputs, 1, &err), 0);
    const struct nvt_scene *a = &direct.scenes[0], *b = &edition->viewer->scenes[0];
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->count, edition->base->viewer->scenes[0].count + 1);
    for (int kind = 0; kind < NVT_VIEW_KINDS; kind++) {
        int64_t ns, other;
        assert_int_equal(viewer_spans_of(a, (enum nvt_view_kind)kind, &ns),
                         viewer_spans_of(b, (enum nvt_view_kind)kind, &other));
        assert_int_equal(ns, other);
        assert_true(ns > 0 || kind != NVT_VIEW_PATH);
    }
    nvt_viewer_free(&direct);
    nvt_edition_release(editions, edition);
    view_expect(view_ask(address, "findings"), 200, "\"title\"");
    nvt_view_stop(server);
    nvt_editions_free(editions);
    assert_int_equal(atomic_load(&slow.whole), 1);
    assert_int_equal(atomic_load(&slow.failed), 0);
}

/* What cannot be read after all is said once, to the page too; a beginning stays. */
static void test_failing(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    if (nvt_view_can_serve(&err)) {
        print_message("not run: %s\n", err.message);
        skip();
    }
    for (int has_beginning = 0; has_beginning < 2; has_beginning++) {
        struct slow slow = {.fails = 1, .has_beginning = has_beginning};
        struct nvt_editions *editions = read_in_vain(&slow, 1, &err);
        assert_non_null(editions);
        struct nvt_view_server *server = serve_editions(editions);
        atomic_store(&slow.goes_on, 1);
        viewer_expect_state(nvt_view_address(server), "\"failed\":\"a \\\"broken\\\" file\"}");
        assert_int_equal(view_number(nvt_view_address(server), "edition", "\"edition\":"),
                         has_beginning);
        view_expect(view_ask(nvt_view_address(server), "lanes"), has_beginning ? 200 : 400, NULL);
        wait_for_reading(editions);
        nvt_view_stop(server);
        nvt_editions_free(editions);
        assert_int_equal(atomic_load(&slow.whole), 0);
        assert_int_equal(atomic_load(&slow.failed), 1);
    }
    /* At once: there is no page, and the caller says it. */
    struct slow slow = {.fails = 1, .goes_on = 1};
    assert_null(read_in_vain(&slow, 60000, &err));
    assert_string_equal(err.message, "a \"broken\" file");
    assert_int_equal(atomic_load(&slow.failed), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_token), cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_paths), cmocka_unit_test(test_broken_clients),
        cmocka_unit_test(test_slow),  cmocka_unit_test(test_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
