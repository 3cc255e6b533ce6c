#include "look.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "../lib/buffer.h"
#include "../lib/count_of.h"
#include "../lib/one_of.h"
#include "../lib/folder.h"
#include "../lib/read_file.h"

/* Of a process with more threads nothing is written: that would take too long, and of some nothing would be known. */
enum { THREADS = 2000 };

static const struct {
    long number;
    const char *name;
} calls[] = {
    {SYS_read, "read"},
    {SYS_write, "write"},
    {SYS_readv, "readv"},
    {SYS_writev, "writev"},
    {SYS_pread64, "pread64"},
    {SYS_pwrite64, "pwrite64"},
    {SYS_fsync, "fsync"},
    {SYS_fdatasync, "fdatasync"},
    {SYS_flock, "flock"},
    {SYS_ioctl, "ioctl"},
    {SYS_openat, "openat"},
    {SYS_connect, "connect"},
    {SYS_accept, "accept"},
    {SYS_accept4, "accept4"},
    {SYS_recvfrom, "recvfrom"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_sendto, "sendto"},
    {SYS_sendmsg, "sendmsg"},
#ifdef SYS_poll
    {SYS_poll, "poll"},
    {SYS_select, "select"},
    {SYS_epoll_wait, "epoll_wait"},
    {SYS_pause, "pause"},
#endif
    {SYS_ppoll, "ppoll"},
    {SYS_pselect6, "pselect"},
    {SYS_epoll_pwait, "epoll_pwait"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_clock_nanosleep, "clock_nanosleep"},
    {SYS_rt_sigtimedwait, "sigtimedwait"},
    {SYS_rt_sigsuspend, "sigsuspend"},
    {SYS_wait4, "wait4"},
    {SYS_waitid, "waitid"},
    {SYS_futex, "futex"},
};

/* The first line of a file of a thread. Whether there is one. */
static int read_line(int pid, const char *tid, const char *what, char *line, size_t size)
{
    char path[80];
    snprintf(path, sizeof(path), "/proc/%d/task/%.20s/%s", pid, tid, what);
    return nvt_read_line(path, line, size);
}

/* Those that wait for what their program does, or for the time, whatever it does. */
static int is_of_tools(int pid, const char *tid)
{
    static const char *const names[] = {"cuda", "nvtally", "nvt-"};
    char name[32];
    if (!read_line(pid, tid, "comm", name, sizeof(name)))
        return 1;
    return NVT_BEGINS_WITH_ONE_OF(name, names);
}

/* Whether a futex waits until a time: of its arguments, 0x7f12 0x189 0x0 0x7ffd …, the second says what it does, the fourth when. */
static int is_timed(char *arguments)
{
    enum { WAIT = 0, WAIT_BITSET = 9, COMMAND = 0x7f };
    unsigned long values[4];
    for (size_t i = 0; i < NVT_COUNT_OF(values); i++)
        values[i] = strtoul(arguments, &arguments, 16);
    const unsigned long command = values[1] & COMMAND;
    return (command == WAIT || command == WAIT_BITSET) && values[3];
}

/* "epoll_wait", "running"; "" where that is not known. `text` is of the file: "232 0x5 …". */
static void name_call(const char *text, char *name, size_t size)
{
    char *end;
    const long number = strtol(text, &end, 10);
    *name = 0;
    if (end > text && number == SYS_futex && is_timed(end)) {
        snprintf(name, size, "futex with a timeout");
        return;
    }
    if (!strncmp(text, "running", 7))
        snprintf(name, size, "running");
    else if (end > text && number >= 0)
        snprintf(name, size, "system call %ld", number);
    for (size_t i = 0; i < NVT_COUNT_OF(calls); i++)
        if (end > text && number == calls[i].number)
            snprintf(name, size, "%s", calls[i].name);
}

/* 0, or -1 when out of memory. */
static int put_thread(struct nvt_output *output, int pid, const char *tid, struct nvt_buffer *rows,
                      uint32_t *count)
{
    char line[256], name[48];
    if (is_of_tools(pid, tid) || !read_line(pid, tid, "syscall", line, sizeof(line)))
        return 0;
    name_call(line, name, sizeof(name));
    if (!*name)
        return 0;
    const uint32_t id = nvt_output_string(output, name, strlen(name));
    if (id == NVT_NO_STRING || nvt_buffer_varint(rows, strtoul(tid, NULL, 10)) ||
        nvt_buffer_varint(rows, id))
        return -1;
    ++*count;
    return 0;
}

static void look_at(int pid, uint32_t process, struct nvt_output *output, uint64_t ticks)
{
    char path[40];
    struct nvt_buffer rows = {0};
    struct nvt_chunk chunk = {.kind = NVT_CHUNK_LOOK,
                              .process = process,
                              .thread = NVT_NO_INDEX,
                              .first = ticks,
                              .last = ticks};
    int failed = 0;
    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry;
         folder && !failed && chunk.count < THREADS && (entry = nvt_folder_next(folder));)
        if (entry->d_name[0] != '.')
            failed = put_thread(output, pid, entry->d_name, &rows, &chunk.count);
    if (folder)
        closedir(folder);
    /* Without it less is known. */
    if (!failed && chunk.count && chunk.count < THREADS)
        (void)nvt_output_chunk(output, &chunk, rows.data, rows.size, NULL);
    nvt_buffer_free(&rows);
}

void nvt_look(const struct nvt_owners *owners, struct nvt_output *output, uint64_t ticks)
{
    for (uint32_t i = 0; i < owners->count; i++)
        if (!owners->items[i].foreign && !owners->items[i].ended && owners->items[i].pid > 0)
            look_at(owners->items[i].pid, i, output, ticks);
}
