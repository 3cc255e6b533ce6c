/*
 * nvtally ctl --watch on a file system that fails for a moment, as one does whose server is away or has another file of that name: what was
 * asked is done once, and its answer is there in the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "../collectors/ctl_line.h"
#include "../lib/count_of.h"
#include "ctl_file_kit.h"
#include "record_kit.h"

/* --- a file system that fails for a moment ---------------------------------------------------------- */

/* So many of the next calls fail with that error, as on a network file system whose server is away, or has another file of that name. */
static struct fault {
    int left, error;
} failing_open, failing_rename, failing_read, failing_write, failing_close;

static int fails(struct fault *fault)
{
    if (fault->left <= 0)
        return 0;
    fault->left--;
    errno = fault->error;
    return 1;
}

/* These stand in front of libc's. */
int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return fails(&failing_open) ? -1 : openat(AT_FDCWD, path, flags, mode);
}

int rename(const char *from, const char *to)
{
    return fails(&failing_rename) ? -1 : renameat(AT_FDCWD, from, AT_FDCWD, to);
}

ssize_t pread(int descriptor, void *data, size_t size, off_t offset)
{
    return fails(&failing_read) ? -1 : syscall(SYS_pread64, descriptor, data, size, offset);
}

ssize_t write(int descriptor, const void *data, size_t size)
{
    return fails(&failing_write) ? -1 : syscall(SYS_write, descriptor, data, size);
}

int close(int descriptor)
{
    const int failed = (int)syscall(SYS_close, descriptor);
    return fails(&failing_close) ? -1 : failed;
}

/* --- a session that counts what it is asked --------------------------------------------------------- */

struct noted {
    struct nvt_ctl_file file;
    size_t count;
};

static int note(void *context, const char *request, char *text, size_t size)
{
    struct noted *noted = context;
    noted->count++;
    snprintf(text, size, "heard %.100s", request);
    return 0;
}

static void serve(struct noted *noted)
{
    noted->file.next_look = 0;
    nvt_ctl_file_serve(&noted->file, note, noted);
}

static struct noted *begin_noting(const char *path)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct noted *noted = calloc(1, sizeof(*noted));
    assert_non_null(noted);
    if (nvt_ctl_file_watch(&noted->file, path, &err))
        fail_msg("%s", err.message);
    return noted;
}

static void end_noting(struct noted *noted)
{
    nvt_ctl_file_close(&noted->file);
    free(noted);
}

static int find(struct nvt_ctl_file_way *way, const char *path, struct nvt_ctl_session *sessions)
{
    assert_int_equal(nvt_ctl_file_reach(way, path, NULL), 0);
    return nvt_ctl_file_sessions(way, sessions, 8, NULL, NULL);
}

/* The answer that a session has given to a request of that number, as its file has it; NULL: none. */
static const char *answer_of(const struct noted *noted, const char *serial)
{
    static char text[8192];
    FILE *in = fopen(noted->file.own, "r");
    if (!in)
        return NULL;
    text[fread(text, 1, sizeof(text) - 1, in)] = 0;
    fclose(in);
    return strstr(text, serial);
}

/* Whatever fails for a moment, a request is done once, and its answer is there in the end. */
static void what_fails_for_a_moment_is_tried_again(void **state)
{
    (void)state;
    static const int errors[] = {EIO, ESTALE};
    struct fault *const faults[] = {&failing_open, &failing_rename, &failing_read};
    for (size_t i = 0; i < NVT_COUNT_OF(errors) * NVT_COUNT_OF(faults) * 5; i++) {
        struct fault *fault = faults[i % NVT_COUNT_OF(faults)];
        char serial[NVT_CTL_SERIAL];
        struct noted *noted = begin_noting(ctl_file_fresh());
        nvt_ctl_file_serial(serial);
        assert_int_equal(nvt_ctl_file_send(noted->file.path, serial, "*", "do it", NULL), 0);
        *fault = (struct fault){1 + (int)(i / 6), errors[i / 3 % 2]};
        int looks = 0;
        for (; looks < 20 && (fault->left > 0 || !answer_of(noted, serial)); looks++)
            serve(noted);
        if (looks == 20 || noted->count != 1 || fault->left > 0)
            fail_msg("error %d in call %zu, %zu times done, %d looks", fault->error,
                     i % NVT_COUNT_OF(faults), noted->count, looks);
        fault->left = 0;
        end_noting(noted);
    }
}

/* The other side: what could not be written, or opened, is written again; where that fails for long, it is said. */
static void requests_are_written_again(void **state)
{
    (void)state;
    struct fault *const faults[] = {&failing_open, &failing_write, &failing_close};
    for (size_t i = 0; i < NVT_COUNT_OF(faults); i++) {
        struct nvt_error err = NVT_ERROR_INIT;
        char serial[NVT_CTL_SERIAL];
        struct noted *noted = begin_noting(ctl_file_fresh());
        nvt_ctl_file_serial(serial);
        *faults[i] = (struct fault){2, ESTALE};
        assert_int_equal(nvt_ctl_file_send(noted->file.path, serial, "*", "do it", &err), 0);
        assert_int_equal(faults[i]->left, 0);
        serve(noted);
        assert_int_equal(noted->count, 1);
        *faults[i] = (struct fault){100, EIO};
        assert_int_equal(nvt_ctl_file_send(noted->file.path, serial, "*", "do it", &err), -1);
        faults[i]->left = 0;
        assert_non_null(strstr(err.message, "Input/output error"));
        serve(noted);
        assert_int_equal(noted->count, 1);
        end_noting(noted);
    }
}

/* A session whose file somebody has removed makes it again. */
static void its_file_is_made_again(void **state)
{
    (void)state;
    struct nvt_ctl_file_way way;
    struct nvt_ctl_session sessions[8];
    const char *path = ctl_file_fresh();
    struct noted *noted = begin_noting(path);
    assert_int_equal(unlink(noted->file.own), 0);
    assert_int_equal(find(&way, path, sessions), 0);
    noted->file.next_sign = 0;
    serve(noted);
    assert_int_equal(find(&way, path, sessions), 1);
    end_noting(noted);
}

/* Now and then the server is asked how long the file is, by a change that is none. */
static void does_not_trust_caches(void **state)
{
    (void)state;
    struct stat before, now;
    struct noted *noted = begin_noting(ctl_file_fresh());
    serve(noted);
    assert_int_equal(stat(noted->file.path, &before), 0);
    usleep(20000);
    serve(noted);
    assert_int_equal(stat(noted->file.path, &now), 0);
    assert_memory_equal(&now.st_ctim, &before.st_ctim, sizeof(now.st_ctim));
    noted->file.next_refresh = 0;
    serve(noted);
    assert_int_equal(stat(noted->file.path, &now), 0);
    assert_memory_not_equal(&now.st_ctim, &before.st_ctim, sizeof(now.st_ctim));
    assert_memory_equal(&now.st_mtim, &before.st_mtim, sizeof(now.st_mtim));
    assert_int_equal(now.st_mode, before.st_mode);
    end_noting(noted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fails_for_a_moment_is_tried_again),
        cmocka_unit_test(requests_are_written_again),
        cmocka_unit_test(its_file_is_made_again),
        cmocka_unit_test(does_not_trust_caches),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
