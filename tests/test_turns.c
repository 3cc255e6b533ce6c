/* Turns: their order, those that leave or die, and what is no file of turns. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../kernels/frame/turns.h"
#include "../lib/clock.h"
#include "cli.h"

#define S INT64_C(1000000000)

static struct nvt_turns *create(const char *path, int count)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_turns *turns = NULL;
    if (nvt_turns_create(path, count, &turns, &err))
        fail_msg("%s: %s", err.file, err.message);
    return turns;
}

/* What one that takes part does: write its letter in each of its turns, and die, or leave, behind the last. It
 * never returns. */
static void take_part(const char *path, int who, int turn_count, int dies, int log)
{
    struct nvt_turns *turns;
    char letter = (char)('a' + who);
    if (nvt_turns_join(path, who, &turns, NULL))
        _exit(3);
    for (int i = 0; i < turn_count; i++) {
        if (nvt_turns_take(turns, NULL))
            _exit(4);
        if (write(log, &letter, 1) != 1)
            _exit(5);
        if (dies && i + 1 == turn_count)
            raise(SIGKILL);
        nvt_turns_pass(turns);
    }
    nvt_turns_close(turns);
    _exit(0);
}

struct part {
    int turns, dies, delay_ms;
};

/* All letters in the order in which they were written. Nobody tells the others who has died. */
static void expect_order(const struct part *parts, int count, const char *order)
{
    const char *path = cli_in(cli_folder, "turns"), *log_path = cli_in(cli_folder, "log");
    struct nvt_turns *turns = create(path, count);
    int log = open(log_path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
    pid_t pids[NVT_TURNS_MOST];
    assert_true(log >= 0);
    for (int i = 0; i < count; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (!pids[i]) {
            struct timespec delay = {0, parts[i].delay_ms * 1000000L};
            alarm(CLI_HANG_S);
            nanosleep(&delay, NULL);
            take_part(path, i, parts[i].turns, parts[i].dies, log);
        }
    }
    for (int i = 0; i < count; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        if (parts[i].dies)
            assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        else
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    close(log);
    char *written = cli_read_file(log_path, NULL);
    assert_string_equal(written, order);
    free(written);
    nvt_turns_close(turns);
    assert_int_equal(access(path, F_OK), -1);
}

static void turns_go_round(void **state)
{
    (void)state;
    /* The first to have a turn comes last. */
    static const struct part parts[] = {{4, 0, 200}, {4, 0, 100}, {4, 0, 0}};
    expect_order(parts, 3, "abcabcabcabc");
}

static void one_alone_has_every_turn(void **state)
{
    (void)state;
    static const struct part parts[] = {{5, 0, 0}};
    expect_order(parts, 1, "aaaaa");
}

static void who_leaves_is_left_out(void **state)
{
    (void)state;
    static const struct part parts[] = {{4, 0, 0}, {2, 0, 0}, {4, 0, 0}};
    expect_order(parts, 3, "abcabcacac");
}

static void who_dies_in_its_turn_is_left_out(void **state)
{
    (void)state;
    static const struct part parts[] = {{4, 0, 0}, {2, 1, 0}, {4, 0, 0}};
    expect_order(parts, 3, "abcabcacac");
}

/* The one that starts them has died before all had come. */
static void who_never_comes_is_not_waited_for(void **state)
{
    (void)state;
    const char *path = cli_in(cli_folder, "orphans");
    int status;
    struct nvt_turns *turns;
    pid_t maker = fork();
    assert_true(maker >= 0);
    if (!maker)
        _exit(nvt_turns_create(path, 2, &turns, NULL) ? 1 : 0);
    assert_int_equal(waitpid(maker, &status, 0), maker);
    assert_int_equal(status, 0);
    assert_int_equal(nvt_turns_join(path, 1, &turns, NULL), 0);
    int64_t start = nvt_monotonic_ns();
    assert_int_equal(nvt_turns_take(turns, NULL), 0);
    int64_t waited = nvt_monotonic_ns() - start;
    assert_true(waited >= S / 2 && waited < 20 * S);
    nvt_turns_close(turns);
    unlink(path);
}

static void who_was_told_to_be_gone_is_told_so(void **state)
{
    (void)state;
    const char *path = cli_in(cli_folder, "told");
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_turns *made = create(path, 2), *turns;
    /* Of one process only one may take part, so that this one stands for a process of its own. */
    pid_t part = fork();
    assert_true(part >= 0);
    if (!part) {
        int wrong = nvt_turns_join(path, 0, &turns, &err) || nvt_turns_take(turns, &err);
        nvt_turns_leave(made, 0);
        wrong |= !nvt_turns_take(turns, &err) || !strstr(err.message, "taken for dead");
        nvt_turns_pass(turns); /* nothing to pass on, and no harm */
        _exit(wrong);
    }
    int status;
    assert_int_equal(waitpid(part, &status, 0), part);
    assert_int_equal(status, 0);
    nvt_turns_close(made);
}

static void what_is_no_file_of_turns_is_refused(void **state)
{
    (void)state;
    const char *path = cli_in(cli_folder, "none");
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_turns *turns;
    static const char zeros[64];
    assert_int_equal(nvt_turns_join(path, 0, &turns, &err), -1);
    for (size_t size = 0; size <= sizeof(zeros); size += 8) {
        cli_write_file(path, zeros, size);
        assert_int_equal(nvt_turns_join(path, 0, &turns, &err), -1);
        assert_non_null(strstr(err.message, "is not a file of turns"));
    }
    assert_int_equal(nvt_turns_create(path, 2, &turns, &err), -1); /* it is there */
    unlink(path);
    assert_int_equal(nvt_turns_create(path, 0, &turns, &err), -1);
    assert_int_equal(nvt_turns_create(path, NVT_TURNS_MOST + 1, &turns, &err), -1);
    pid_t maker = fork();
    assert_true(maker >= 0);
    if (!maker)
        _exit(nvt_turns_create(path, 2, &turns, NULL) ? 1 : 0);
    int status;
    assert_int_equal(waitpid(maker, &status, 0), maker);
    assert_int_equal(status, 0);
    static const int64_t places[] = {-1, 2, INT64_MAX};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(nvt_turns_join(path, places[i], &turns, &err), -1);
        assert_non_null(strstr(err.message, "has no place"));
    }
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns_go_round),
        cmocka_unit_test(one_alone_has_every_turn),
        cmocka_unit_test(who_leaves_is_left_out),
        cmocka_unit_test(who_dies_in_its_turn_is_left_out),
        cmocka_unit_test(who_never_comes_is_not_waited_for),
        cmocka_unit_test(who_was_told_to_be_gone_is_told_so),
        cmocka_unit_test(what_is_no_file_of_turns_is_refused),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
