/*
 * A process that is forked while another thread joins the session: as the driver or NVTX comes up in one thread, the other one
 * forks. The child has no thread that would come to an end with that.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../collectors/ring.h"
#include "cli.h"
#include "record_kit.h"

static _Atomic int is_held, is_there;

/* The library's, too: it is held while it opens the session's control page. */
int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
    va_end(arguments);
    if (strstr(path, "/" NVT_CONTROL_NAME)) {
        atomic_store(&is_there, 1);
        while (atomic_load(&is_held))
            usleep(1000);
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static int (*initialize)(void);

static void *come_up(void *unused)
{
    initialize();
    return unused;
}

static void a_child_joins_by_itself(void **state)
{
    pthread_t thread;
    int status;
    (void)state;
    setenv(NVT_SESSION_ENV, "/nowhere", 1);
    void *library = dlopen(cli_built("libnvtally-inject.so"), RTLD_NOW);
    assert_non_null(library);
    *(void **)&initialize = dlsym(library, "InitializeInjection");
    assert_non_null(initialize);
    atomic_store(&is_held, 1);
    assert_int_equal(pthread_create(&thread, NULL, come_up, NULL), 0);
    while (!atomic_load(&is_there))
        usleep(1000);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        alarm(CLI_HANG_S);
        atomic_store(&is_held, 0);
        _exit(initialize() == 1 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    atomic_store(&is_held, 0);
    pthread_join(thread, NULL);
    if (status)
        fail_msg("the child ended with status %x", (unsigned)status);
}

/* NVTX's own flag says in the child that its first call goes on, which the child would wait for. */
static void nvtx_has_come_up_in_a_child(void **state)
{
    (void)state;
    struct cli_result result = cli_run((const char *const[]){
        "nvtally", "record", "-f", "-o", recorded_path(), "--", cli_client("early_fork"), NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    recorded_range(trace, "parent");
    recorded_range(trace, "child");
    assert_int_equal(trace->ranges.count, 2);
    nvt_trace_free(trace);
}

/* Where no session is, either. */
static void nvtx_has_come_up_in_a_child_of_no_session(void **state)
{
    (void)state;
    char library[4096];
    snprintf(library, sizeof(library), "NVTX_INJECTION64_PATH=%s",
             cli_built("libnvtally-inject.so"));
    const char *environment[] = {library, NVT_SESSION_ENV "=/nowhere", NULL};
    struct cli_result result = cli_run_with(&(struct cli_options){.environment = environment},
                                            (const char *const[]){cli_client("early_fork"), NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_child_joins_by_itself),
                                       cmocka_unit_test(nvtx_has_come_up_in_a_child),
                                       cmocka_unit_test(nvtx_has_come_up_in_a_child_of_no_session)};
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
