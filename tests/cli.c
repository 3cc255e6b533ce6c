#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/input/runs.h"

enum { DEFAULT_TIMEOUT_S = 60, PATHS_KEPT = 32 };
/* Limits tell a hang, not a time: a machine that ten others use takes ten times as long, and a sanitizer four times. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SLOWER = 40 };
#else
enum { SLOWER = 10 };
#endif

/* Where stdout and stderr go to one file, what a test says stands in order, and is there even if the program crashes. */
__attribute__((constructor)) static void print_by_line(void)
{
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static const char *keep_path(const char *first, const char *middle, const char *last)
{
    static char paths[PATHS_KEPT][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % PATHS_KEPT];
    int length = snprintf(path, PATH_MAX, "%s/%s%s", first, middle, last);
    assert_true(length > 0 && length < PATH_MAX);
    return path;
}

static const char *build_directory(void)
{
    const char *build = getenv("NVTALLY_BUILD");
    return build ? build : "build";
}

const char *cli_built(const char *name)
{
    return keep_path(build_directory(), "", name);
}

const char *cli_client(const char *name)
{
    return keep_path(build_directory(), "tests/clients/", name);
}

const char *cli_in(const char *directory, const char *name)
{
    return keep_path(directory, "", name);
}

/* Whether "NAME=value" or "NAME" in edits speaks of this variable of the environment. */
static bool is_edited(const char *const *edits, const char *variable)
{
    size_t length = strcspn(variable, "=");
    for (; edits && *edits; edits++)
        if (strcspn(*edits, "=") == length && !strncmp(*edits, variable, length))
            return true;
    return false;
}

/* What a user has kept of his machine is neither read nor changed, unless a test says so. */
static const char no_cache[] = "NVTALLY_CACHE=";

/* Open MPI's folder of a user is removed by one mpirun while another one makes its own in it: each test has one for itself. */
static const char mpi_folder[] = "OMPI_MCA_orte_tmpdir_base";

static const char *own_mpi_folder(void)
{
    static char text[PATH_MAX];
    snprintf(text, sizeof(text), "%s=%s", mpi_folder, cli_folder);
    return text;
}

/* The environment with the edits made. The array is owned, its texts are not. */
static char **edited_environment(const char *const *edits)
{
    size_t room = 3;
    for (char **variable = environ; *variable; variable++)
        room++;
    for (const char *const *edit = edits; edit && *edit; edit++)
        room++;
    char **result = calloc(room, sizeof(*result));
    assert_non_null(result);
    size_t n = 0;
    for (char **variable = environ; *variable; variable++)
        if (!is_edited(edits, *variable) && strncmp(*variable, no_cache, strlen(no_cache)) != 0)
            result[n++] = *variable;
    if (!is_edited(edits, no_cache))
        result[n++] = (char *)no_cache;
    if (cli_folder && !getenv(mpi_folder) && !is_edited(edits, mpi_folder))
        result[n++] = (char *)own_mpi_folder();
    for (const char *const *edit = edits; edit && *edit; edit++)
        if (strchr(*edit, '='))
            result[n++] = (char *)*edit;
    return result;
}

/* Anonymous files rather than pipes: a grandchild that keeps them open delays nothing. */
static int anonymous_file(const char *text)
{
    int fd = memfd_create("nvtally-test", MFD_CLOEXEC);
    assert_true(fd >= 0);
    if (text) {
        assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    }
    return fd;
}

static char *whole_file(int fd, size_t *size)
{
    struct stat info;
    assert_int_equal(fstat(fd, &info), 0);
    size_t length = (size_t)info.st_size, done = 0;
    char *data = malloc(length + 1);
    assert_non_null(data);
    while (done < length) {
        ssize_t got = pread(fd, data + done, length - done, (off_t)done);
        assert_true(got > 0);
        done += (size_t)got;
    }
    data[length] = '\0';
    if (size)
        *size = length;
    return data;
}

/* Wait for the end, at most timeout_s; after that kill the process group and wait for that. */
static int wait_for(pid_t pid, int timeout_s, bool *timed_out)
{
    int handle = (int)syscall(SYS_pidfd_open, pid, 0);
    assert_true(handle >= 0);
    struct pollfd wait = {.fd = handle, .events = POLLIN};
    int64_t deadline = now_ns() + (int64_t)timeout_s * 1000000000;
    int ready;
    do {
        int64_t left_ms = (deadline - now_ns() + 999999) / 1000000; /* not a moment before */
        ready = poll(&wait, 1, left_ms > 0 ? (int)left_ms : 0);
    } while (ready < 0 && errno == EINTR);
    close(handle);
    *timed_out = ready == 0;
    if (*timed_out)
        kill(-pid, SIGKILL);
    int status;
    while (waitpid(pid, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    return status;
}

/* The number of posix_spawn, 0 when the program runs. Signals are as a shell would leave them. */
static int spawn(pid_t *pid, const struct cli_options *options, const char *const argv[],
                 const int files[3])
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < 3; i++)
        posix_spawn_file_actions_adddup2(&actions, files[i], i);
    if (options->directory)
        posix_spawn_file_actions_addchdir_np(&actions, options->directory);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    char **environment = edited_environment(options->environment);
    const char *program = strcmp(argv[0], "nvtally") ? argv[0] : cli_built("nvtally");
    int failed = posix_spawnp(pid, program, &actions, &attributes, (char **)argv, environment);
    free(environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

static struct cli_result run_once(const struct cli_options *options, const char *const argv[])
{
    struct cli_result result = {.status = 127};
    int files[3] = {anonymous_file(options->input), anonymous_file(NULL), anonymous_file(NULL)};
    int timeout_s = options->timeout_s ? options->timeout_s : DEFAULT_TIMEOUT_S;
    int64_t start = now_ns();
    pid_t pid;
    if (!spawn(&pid, options, argv, files)) {
        /* An emulated processor costs more. */
        int slower = getenv("NVTALLY_EMULATED") ? 4 * SLOWER : SLOWER;
        int status =
            wait_for(pid, options->is_exact ? timeout_s : timeout_s * slower, &result.timed_out);
        result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    }
    result.elapsed_ns = now_ns() - start;
    result.out = whole_file(files[1], &result.out_size);
    result.err = whole_file(files[2], &result.err_size);
    for (int i = 0; i < 3; i++)
        close(files[i]);
    return result;
}

/* A process of Open MPI waits for 2 s until its launcher has taken note of MPI_Finalize, and ends; of one that the launcher, on a busy
 * machine, had no time for, it says that it never called that. */
static int is_launcher_late(const struct cli_result *result)
{
    return strstr(result->err, "exiting improperly") != NULL;
}

struct cli_result cli_run_with(const struct cli_options *options, const char *const argv[])
{
    struct cli_result result = run_once(options, argv);
    for (int try = 1; try < CLI_TRIES && is_launcher_late(&result); try++) {
        print_message("Open MPI's launcher was late: again\n");
        cli_result_free(&result);
        result = run_once(options, argv);
    }
    return result;
}

struct cli_result cli_run(const char *const argv[])
{
    return cli_run_with(&(struct cli_options){0}, argv);
}

void cli_result_free(struct cli_result *result)
{
    free(result->out);
    free(result->err);
    *result = (struct cli_result){0};
}

/* The last 4,000 bytes of a text: what failed stands at the end. */
static const char *last_of(const char *text, size_t size)
{
    return size > 4000 ? text + size - 4000 : text;
}

/* The outputs are written by themselves: cmocka cuts a message off after 1,024 bytes. */
static void show_and_fail(const struct cli_result *result, const char *expected)
{
    fprintf(stderr, "--- stdout\n%s--- stderr\n%s", last_of(result->out, result->out_size),
            last_of(result->err, result->err_size));
    fail_msg("expected %s; got exit status %d, signal %d%s", expected, result->status,
             result->signal, result->timed_out ? ", timed out" : "");
}

void cli_expect_status(const struct cli_result *result, int status)
{
    char expected[64];
    snprintf(expected, sizeof(expected), "exit status %d", status);
    if (result->status != status)
        show_and_fail(result, expected);
}

void cli_expect_failure(const struct cli_result *result, const char *needle)
{
    cli_expect_status(result, 2);
    if (result->out_size)
        show_and_fail(result, "nothing on stdout");
    const char *line_end = memchr(result->err, '\n', result->err_size);
    if (!line_end || line_end + 1 != result->err + result->err_size)
        show_and_fail(result, "exactly one line on stderr");
    if (strncmp(result->err, "nvtally: ", 9))
        show_and_fail(result, "a line that starts with 'nvtally: '");
    if (!strstr(result->err, needle))
        show_and_fail(result, needle);
}

void cli_expect_lines(const struct cli_result *result, const char *expected)
{
    cli_expect_status(result, 0);
    const char *line = expected, *printed = result->out;
    while (*line || *printed) {
        const size_t size = strcspn(line, "\n") + 1, got = strcspn(printed, "\n") + 1;
        if (size != got || strncmp(line, printed, size) != 0)
            fail_msg("expected the line '%.*s', got '%.*s'; stderr: %s", (int)size - 1, line,
                     (int)got - 1, printed, result->err);
        line += size - !line[size - 1];
        printed += got - !printed[got - 1];
    }
}

char *cli_tempdir(void)
{
    const char *parent = getenv("TMPDIR");
    char *directory = NULL;
    assert_true(asprintf(&directory, "%s/nvtally-test-XXXXXX", parent ? parent : "/tmp") > 0);
    assert_non_null(mkdtemp(directory));
    return directory;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)where;
    if (kind == FTW_DNR)
        chmod(path, 0700);
    return remove(path);
}

void cli_tempdir_remove(char *directory)
{
    if (!directory)
        return;
    nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(directory);
}

char *cli_folder;

int cli_folder_set_up(void **state)
{
    (void)state;
    cli_folder = cli_tempdir();
    return 0;
}

int cli_folder_tear_down(void **state)
{
    (void)state;
    cli_tempdir_remove(cli_folder);
    cli_folder = NULL;
    return 0;
}

struct nvt_runs *cli_read_runs(const char *path)
{
    char text[1200];
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_runs *runs = nvt_runs_read(path, &err);
    if (!runs)
        fail_msg("%s", nvt_error_text(&err, text, sizeof(text)));
    return runs;
}

static int is_busy(void)
{
    enum { LOOKS = 20 };
    int busy = 0;
    for (int i = 0; i < LOOKS; i++) {
        long running = 0;
        char text[128] = "";
        FILE *file = fopen("/proc/loadavg", "r");
        if (file && fgets(text, sizeof(text), file))
            sscanf(text, "%*f %*f %*f %ld/", &running);
        if (file)
            fclose(file);
        busy += running - 1 > sysconf(_SC_NPROCESSORS_ONLN); /* without this one */
        usleep(50000);
    }
    return busy > LOOKS / 2;
}

void cli_give_up(const char *format, ...)
{
    char text[2000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (is_busy()) {
        print_message("%s; but the machine has more to do than it has processors for: not run\n",
                      text);
        skip();
    }
    fail_msg("%s", text);
}

void cli_expect_one_run(const char *name, bool (*is_right)(const char *directory))
{
    char folder[64];
    for (int i = 0; i < CLI_TRIES; i++) {
        snprintf(folder, sizeof(folder), "%s-%d", name, i);
        if (is_right(cli_in(cli_folder, folder)))
            return;
    }
    cli_give_up("in none of %d runs", CLI_TRIES);
}

void cli_write_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

char *cli_read_file(const char *path, size_t *size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    char *data = whole_file(fd, size);
    close(fd);
    return data;
}

char *cli_read_text(const char *directory, const char *name)
{
    char *text = cli_read_file(cli_in(directory, name), NULL);
    assert_non_null(text);
    return text;
}

static bool tells_its_version(const char *program)
{
    struct cli_result result = cli_run((const char *const[]){program, "--version", NULL});
    bool has = !result.status;
    cli_result_free(&result);
    return has;
}

bool cli_is_long(void)
{
    const char *text = getenv("NVTALLY_LONG");
    return text && !strcmp(text, "1");
}

bool cli_is_busy(void)
{
    double load = 0;
    return getloadavg(&load, 1) == 1 && load > (double)sysconf(_SC_NPROCESSORS_ONLN);
}

bool cli_has_device(void)
{
    glob_t files;
    bool has = !access("/dev/dxg", F_OK);
    if (!glob("/dev/nvidia[0-9]*", 0, NULL, &files)) {
        has = true;
        globfree(&files);
    }
    return has;
}

bool cli_has_gnuplot(void)
{
    return tells_its_version("gnuplot");
}

bool cli_has_mpirun(void)
{
    return tells_its_version("mpirun") && !access(cli_built("libnvtally-mpi.so"), R_OK);
}

struct cli_result cli_on_a_small_disk(const char *script)
{
    struct cli_result result = cli_run_with(
        &(const struct cli_options){.directory = cli_folder},
        (const char *const[]){"sh", "-c", "\"$0\" record -o t.nvt -- \"$1\" many 2>/dev/null",
                              cli_built("nvtally"), cli_client("life"), NULL});
    cli_result_free(&result);
    result = cli_run_with(&(const struct cli_options){.directory = cli_folder},
                          (const char *const[]){"sh", "-c", script, cli_built("nvtally"), NULL});
    if (!strncmp(result.out, "none\n", 5)) {
        cli_result_free(&result);
        print_message("no right to mount a small disk here: not run\n");
        skip();
    }
    return result;
}
