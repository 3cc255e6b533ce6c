/*
 * Running programs from tests: what they printed, how they ended, in a bounded time; and the
 * temporary files around them. Failures of the harness itself fail the cmocka test that called.
 */
#ifndef NVT_TESTS_CLI_H
#define NVT_TESTS_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a program ended. Release with cli_result_free. */
struct cli_result {
    int status;         /* exit status, or -1 when a signal ended it */
    int signal;         /* the signal that ended it, or 0 */
    bool timed_out;     /* it was killed, with its process group, because its time was over */
    int64_t elapsed_ns; /* wall time from spawn to end */
    char *out;          /* stdout, owned, NUL-terminated behind out_size bytes */
    size_t out_size;
    char *err; /* stderr, owned, NUL-terminated behind err_size bytes */
    size_t err_size;
};

/* What may differ between runs; zero means the default. */
struct cli_options {
    const char *directory;          /* working directory; NULL: the test's */
    const char *input;              /* text on stdin; NULL: /dev/null */
    const char *const *environment; /* "NAME=value" to set, "NAME" to unset, NULL-terminated */
    int timeout_s;                  /* default: 60; ten times as long is a hang */
    bool is_exact;                  /* timeout_s as it stands, for a test that waits for it */
};

/* So often is a whole measurement made where a machine that takes the processor away may spoil one:
 * what is wrong in a program is wrong in each of them. */
enum { CLI_TRIES = 4 };

/* Seconds for alarm(): what takes so long hangs, and is no busy machine's. */
enum { CLI_HANG_S = 600 };

/* The beginning of a script with nvtally as $0, within a session: `until_status LINE` returns when `ctl status` has that line, a basic
 * regular expression. What never comes ends with the script's time. */
#define CLI_UNTIL_STATUS                                                                           \
    "until_status() { until \"$0\" ctl status 2>/dev/null | grep -q \"^$1$\"; do sleep 0.05; "     \
    "done; }; "

/* After the last of them: fail with this message; but skip where the machine is too busy to tell, so that more threads want to run
 * than there are processors in most looks of the next second. Does not return. */
void cli_give_up(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Run argv (NULL-terminated) and wait for its end. argv[0] "nvtally" is the program under test;
 * another name without a slash is looked up in PATH. A program that cannot be started has status
 * 127. What fails as Open MPI's launcher got no time is run again. cli_run is cli_run_with the defaults.
 */
struct cli_result cli_run(const char *const argv[]);
struct cli_result cli_run_with(const struct cli_options *options, const char *const argv[]);

/* A script of the shell in the group's folder, where t.nvt is a trace of many ranges; $0 is nvtally. It mounts a small disk, or prints
 * "none" alone where that is not allowed: then the test is skipped. */
struct cli_result cli_on_a_small_disk(const char *script);
void cli_result_free(struct cli_result *result);

/*
 * Fail the test, showing both outputs, unless the program ended this way.
 * cli_expect_failure: exit 2, nothing on stdout, exactly one line on stderr, which starts with
 * "nvtally: " and contains needle. cli_expect_status: this exit status, whatever was printed.
 * cli_expect_lines: exit 0 and these lines on stdout; the first one that differs is shown, and stderr.
 * None releases the result.
 */
void cli_expect_failure(const struct cli_result *result, const char *needle);
void cli_expect_status(const struct cli_result *result, int status);
void cli_expect_lines(const struct cli_result *result, const char *expected);

/*
 * Paths, valid until the 32nd call after: of something in the build folder ($NVTALLY_BUILD, or
 * build/), of a program in tests/clients, of a file in a directory.
 */
const char *cli_built(const char *name);
const char *cli_client(const char *name);
const char *cli_in(const char *directory, const char *name);

/* A new empty directory below $TMPDIR or /tmp, owned by the caller; cli_tempdir_remove deletes it
 * with all it holds and releases the name. */
char *cli_tempdir(void);
void cli_tempdir_remove(char *directory);

/* A fixture, of a test or of all tests of a program: such a directory, by this name while it lasts. */
extern char *cli_folder;
int cli_folder_set_up(void **state);
int cli_folder_tear_down(void **state);

/* The records of a run's directory, which nvt_runs_free releases; without any the test fails. */
struct nvt_runs *cli_read_runs(const char *path);

/* Of CLI_TRIES runs, each into a directory NAME-i of the fixture's, one has to be right. */
void cli_expect_one_run(const char *name, bool (*is_right)(const char *directory));

/* Whole files. cli_read_file returns owned bytes with a NUL behind them, or NULL when there is no
 * such file; *size may be NULL. */
void cli_write_file(const char *path, const void *data, size_t size);
char *cli_read_file(const char *path, size_t *size);

/* A file of a directory as a text, owned; where it is not there the test fails. */
char *cli_read_text(const char *directory, const char *name);

/* Whether the long form of a test is asked for: `make check-long`, which sets NVTALLY_LONG=1. */
bool cli_is_long(void);

/* Whether more threads than processors were ready to run during the last minute: times are then those of a queue. */
bool cli_is_busy(void);

/* Whether a device of CUDA is here. NVIDIA's libcuda makes /dev/nvidiactl when root's program loads it, device or not. */
bool cli_has_device(void);

/* Whether gnuplot is here; Open MPI, and our transport over it. */
bool cli_has_gnuplot(void);
bool cli_has_mpirun(void);

/* What takes an hour under ThreadSanitizer, while other tests run all of its threads, or rests on times,
 * which it makes others: skip it there, with a word. For a test that includes cmocka.h. */
#ifdef __SANITIZE_THREAD__
#define CLI_SKIP_THREAD_SANITIZED(why)                                                             \
    do {                                                                                           \
        print_message("not run under ThreadSanitizer: %s\n", why);                                 \
        skip();                                                                                    \
    } while (0)
#else
#define CLI_SKIP_THREAD_SANITIZED(why) ((void)0)
#endif

#endif
