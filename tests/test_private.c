/*
 * Another user of the machine, while something is being recorded: can neither read what is
 * recorded, nor put anything into it, nor be joined to it, nor make us write through a link. Needs
 * to be root, in order to be somebody else.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/readers/reader.h"
#include "../collectors/ring.h"
#include "../lib/folder.h"
#include "cli.h"

#define NOBODY 65534

static char *directory; /* for all, with the sticky bit: what /tmp and /dev/shm are */

static int make_directory(void **state)
{
    (void)state;
    directory = cli_tempdir();
    return directory && !chmod(directory, 01777) ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    cli_tempdir_remove(directory);
    return 0;
}

static void need_root(void)
{
    if (geteuid()) {
        print_message("not root: there is nobody else to be, skipped\n");
        skip();
    }
}

/* What `attempt` returns as another user: 0, or the errno that kept it from its aim. */
static int as_nobody(int (*attempt)(const char *), const char *argument)
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
            setresuid(NOBODY, NOBODY, NOBODY))
            _exit(255);
        _exit(attempt(argument));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_not_equal(WEXITSTATUS(status), 255);
    return WEXITSTATUS(status);
}

/* --- attempts --------------------------------------------------------------------------------- */

static int list(const char *path)
{
    return opendir(path) ? 0 : errno;
}

/* Why a file was not opened; 0: it was. */
static int why(int descriptor)
{
    if (descriptor < 0)
        return errno;
    close(descriptor);
    return 0;
}

static int read_it(const char *path)
{
    int descriptor = open(path, O_RDONLY);
    return why(descriptor);
}

static int write_it(const char *path)
{
    int descriptor = open(path, O_RDWR);
    return why(descriptor);
}

static int create(const char *path)
{
    int descriptor = open(path, O_WRONLY | O_CREAT, 0666);
    return why(descriptor);
}

static int delete (const char *path)
{
    return unlink(path) ? errno : 0;
}

static int move_away(const char *path)
{
    char other[4200];
    snprintf(other, sizeof(other), "%s.mine", path);
    return rename(path, other) ? errno : 0;
}

static int open_up(const char *path)
{
    return chmod(path, 0777) ? errno : 0;
}

/* --- a recording that runs -------------------------------------------------------------------- */

struct recording {
    pid_t pid;
    char folder[4096], control[4200], ring[4200];
};

/* The first entry of a folder that starts so; 0 when there is none. */
static int find(const char *folder, const char *prefix, char *out, size_t size)
{
    DIR *entries = opendir(folder);
    int found = 0;
    for (struct dirent *entry; entries && !found && (entry = nvt_folder_next(entries));)
        if (!strncmp(entry->d_name, prefix, strlen(prefix))) {
            snprintf(out, size, "%s/%s", folder, entry->d_name);
            found = 1;
        }
    if (entries)
        closedir(entries);
    return found;
}

static struct recording start_recording(const char *output)
{
    struct recording recording = {.pid = fork()};
    assert_true(recording.pid >= 0);
    if (!recording.pid) {
        umask(0); /* the worst that a user can have set */
        setenv("NVTALLY_TMPDIR", directory, 1);
        if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
            _exit(120);
        execl(cli_built("nvtally"), "nvtally", "record", "-o", output, "--", cli_client("nested"),
              "10000", (char *)NULL);
        _exit(121);
    }
    for (int i = 0; i < 60000 && !*recording.ring; i++) {
        if (find(directory, "nvtally-", recording.folder, sizeof(recording.folder)))
            find(recording.folder, "ring.", recording.ring, sizeof(recording.ring));
        usleep(5000);
    }
    assert_true(*recording.ring);
    snprintf(recording.control, sizeof(recording.control), "%.4000s/control", recording.folder);
    return recording;
}

/* Ends the program that is recorded, and waits for the recorder. */
static void stop_recording(const struct recording *recording)
{
    int status;
    kill(recording->pid, SIGTERM);
    assert_int_equal(waitpid(recording->pid, &status, 0), recording->pid);
}

static void expect_mode(const char *path, mode_t mode)
{
    struct stat status;
    assert_int_equal(lstat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, mode);
    assert_int_equal(status.st_uid, geteuid());
}

static void nobody_else_gets_at_a_recording(void **state)
{
    (void)state;
    need_root();
    struct recording recording = start_recording(cli_in(directory, "t.nvt"));
    expect_mode(recording.folder, 0700);
    expect_mode(recording.control, 0600);
    expect_mode(recording.ring, 0600);
    char forged[4300];
    snprintf(forged, sizeof(forged), "%s/ring.1.1.1.1", recording.folder);
    /* The names are known, which is more than another user can find out: the folder cannot be
     * listed. */
    assert_int_equal(as_nobody(list, recording.folder), EACCES);
    const char *files[] = {recording.control, recording.ring};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(as_nobody(read_it, files[i]), EACCES);
        assert_int_equal(as_nobody(write_it, files[i]), EACCES);
        assert_int_equal(as_nobody(delete, files[i]), EACCES);
        assert_int_equal(as_nobody(open_up, files[i]), EACCES);
    }
    assert_int_equal(as_nobody(create, forged), EACCES);
    assert_int_equal(as_nobody(move_away, recording.folder), EPERM);
    assert_int_equal(as_nobody(open_up, recording.folder), EPERM);
    stop_recording(&recording);
    assert_int_not_equal(access(recording.folder, F_OK), 0);
}

/* A program of another user that has the session in its environment. */
static int run_pairs(const char *folder)
{
    char injection[4096];
    snprintf(injection, sizeof(injection), "%s", cli_built("libnvtally-inject.so"));
    setenv("NVTALLY_SESSION", folder, 1);
    setenv("NVTX_INJECTION64_PATH", injection, 1);
    execl(cli_client("pairs"), "pairs", "1", "1000", (char *)NULL);
    return 254;
}

static void nobody_else_is_joined_to_a_recording(void **state)
{
    (void)state;
    need_root();
    struct nvt_error err = NVT_ERROR_INIT;
    char *output = strdup(cli_in(directory, "joined.nvt"));
    struct recording recording = start_recording(output);
    int status = as_nobody(run_pairs, recording.folder);
    stop_recording(&recording);
    if (status == 254) {
        print_message("another user cannot run programs of the build folder: skipped\n");
        free(output);
        skip();
        return;
    }
    assert_int_equal(status, 0); /* it runs, unrecorded */
    struct nvt_trace *trace = nvt_trace_read(output, &err);
    assert_non_null(trace);
    assert_int_equal(trace->processes.count, 1);
    nvt_trace_free(trace);
    free(output);
}

/* A session that another user has made up, in the place of one that is over: it is not joined. */
static void a_session_of_another_user_is_not_joined(void **state)
{
    (void)state;
    need_root();
    static const uid_t owners[] = {NOBODY, 0};
    static const mode_t modes[] = {0600, 0666};
    for (int i = 0; i < 3; i++) {
        char folder[4096], control[4200], session[4200], ring[4300], injection[4200];
        snprintf(folder, sizeof(folder), "%s/nvtally-trap%02d", directory, i);
        snprintf(control, sizeof(control), "%s/control", folder);
        struct nvt_control page = {.magic = NVT_CONTROL_MAGIC,
                                   .version = NVT_SHARED_VERSION,
                                   .slots = 1024,
                                   .trace = NVT_TRACE_NVTX};
        assert_int_equal(mkdir(folder, 0777), 0);
        cli_write_file(control, &page, sizeof(page));
        /* Another's; one of ours that anybody may write; ours alone, which shows that it works. */
        assert_int_equal(chown(control, owners[i > 0], owners[i > 0]), 0);
        assert_int_equal(chmod(control, modes[i == 1]), 0);
        /* As a recorder that lives. */
        int lock = open(control, O_RDWR | O_CLOEXEC);
        assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), 0);
        snprintf(session, sizeof(session), "NVTALLY_SESSION=%s", folder);
        snprintf(injection, sizeof(injection), "NVTX_INJECTION64_PATH=%s",
                 cli_built("libnvtally-inject.so"));
        const char *const environment[] = {session, injection, NULL};
        struct cli_options options = {.environment = environment};
        struct cli_result result =
            cli_run_with(&options, (const char *[]){cli_client("pairs"), "1", "10", NULL});
        cli_expect_status(&result, 0);
        cli_result_free(&result);
        assert_int_equal(find(folder, "ring.", ring, sizeof(ring)), i == 2);
        close(lock);
    }
}

static void links_and_files_of_others_are_not_written(void **state)
{
    (void)state;
    need_root();
    char *victim = cli_tempdir(), *target = strdup(cli_in(victim, "precious"));
    char *trap = strdup(cli_in(directory, "out.nvt")), *trace = strdup(cli_in(victim, "t.nvt"));
    const char *const record[] = {"nvtally", "record", "-o", trap, "--", "true", NULL};
    const char *const stats[] = {"nvtally", "stats", "-o", trap, trace, NULL};
    const char *const export[] = {"nvtally", "export", trace, "--to", "csv", "-o", trap, NULL};
    const char *const make[] = {"nvtally", "record", "-o", trace, "--", cli_client("nested"),
                                "1",       NULL};
    struct cli_result result = cli_run(make);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    const char *const *const commands[] = {record, stats, export};
    for (int i = 0; i < 6; i++) {
        cli_write_file(target, "precious", 8);
        if (i % 2)
            cli_write_file(trap, "theirs", 6);
        else
            assert_int_equal(symlink(target, trap), 0);
        assert_int_equal(lchown(trap, NOBODY, NOBODY), 0);
        result = cli_run(commands[i / 2]);
        /* The kernel may be the one that refuses: then it says "Permission denied". */
        cli_expect_failure(&result, "ermi");
        cli_result_free(&result);
        char *kept = cli_read_file(target, NULL), *theirs = cli_read_file(trap, NULL);
        assert_string_equal(kept, "precious");
        assert_string_equal(theirs, i % 2 ? "theirs" : "precious");
        free(kept);
        free(theirs);
        unlink(trap);
    }
    /* A link of one's own is followed. */
    assert_int_equal(symlink(target, trap), 0);
    result = cli_run(stats);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *written = cli_read_file(target, NULL);
    assert_string_not_equal(written, "precious");
    free(written);
    free(target);
    free(trap);
    free(trace);
    cli_tempdir_remove(victim);
}

/* A folder that others have put there under such a name, or a link, is neither used nor emptied. */
static void folders_of_others_are_left_alone(void **state)
{
    (void)state;
    need_root();
    char *precious = cli_tempdir(), link[4200], folder[4096];
    char *kept = strdup(cli_in(precious, "ring.1.1.1.1"));
    cli_write_file(kept, "kept", 4);
    snprintf(link, sizeof(link), "%s/nvtally-aaaaaa", directory);
    assert_int_equal(symlink(precious, link), 0);
    snprintf(folder, sizeof(folder), "%s/nvtally-bbbbbb", directory);
    assert_int_equal(mkdir(folder, 0777), 0);
    assert_int_equal(chown(folder, NOBODY, NOBODY), 0);
    char place[4200];
    snprintf(place, sizeof(place), "NVTALLY_TMPDIR=%s", directory);
    const char *const environment[] = {place, NULL};
    struct cli_options options = {.environment = environment};
    const char *const record[] = {
        "nvtally", "record", "-o", cli_in(precious, "t.nvt"), "--", cli_client("nested"),
        "1",       NULL};
    struct cli_result result = cli_run_with(&options, record);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    assert_int_equal(access(kept, F_OK), 0);
    assert_int_equal(access(folder, F_OK), 0);
    free(kept);
    cli_tempdir_remove(precious);
    unlink(link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_else_gets_at_a_recording),
        cmocka_unit_test(nobody_else_is_joined_to_a_recording),
        cmocka_unit_test(a_session_of_another_user_is_not_joined),
        cmocka_unit_test(links_and_files_of_others_are_not_written),
        cmocka_unit_test(folders_of_others_are_left_alone),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
