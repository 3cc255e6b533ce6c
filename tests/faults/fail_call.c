/*
 * Runs a command and makes one of its system calls fail: fail-call GROUP ERROR N FILE COMMAND…
 *
 * The N-th call of the group (from 1; 0: none) fails with ERROR instead of being made; with "N+" so
 * do all that follow. Calls count from the program's entry on (what the loader does before is not
 * ours), in the process and its threads and in children until they run another program. FILE gets
 * the number of calls. Exit status: the command's; it dies of the signal that the command dies of.
 * 97: there is no right to ptrace here, or this is not an x86-64.
 *
 * GROUP: write (whatever brings data to a file), make (whatever opens for writing, makes, renames
 * or removes a file, maps memory, starts a thread or process, or makes a descriptor), read. ERROR:
 * ENOSPC, EIO, ENOMEM, EMFILE, EACCES, EINTR; SHORT: half of the bytes are written. Standard error
 * is left alone: what goes wrong must be told somewhere.
 */
#include <stdio.h>

#ifndef __x86_64__

int main(void)
{
    fputs("fail-call knows x86-64 only\n", stderr);
    return 97;
}

#else

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/count_of.h"

enum group { WRITE = 1, MAKE = 2, READ = 4 };

static enum group group;
static int error; /* 0: SHORT */
static unsigned long wanted, seen;
static int and_all_later;
static int ended; /* what is behind the program's own end is not its own */

#define TASKS 4096
static struct {
    pid_t task;
    int result; /* to be put in place of the call's when it returns; 0: none */
    int in_call;
} tasks[TASKS];

static int slot_of(pid_t task)
{
    int empty = -1;
    for (int i = 0; i < TASKS; i++) {
        if (tasks[i].task == task)
            return i;
        if (!tasks[i].task && empty < 0)
            empty = i;
    }
    if (empty < 0)
        exit(98);
    tasks[empty].task = task;
    tasks[empty].result = tasks[empty].in_call = 0;
    return empty;
}

static int group_of(const struct user_regs_struct *registers)
{
    int first = (int)registers->rdi;
    switch (registers->orig_rax) {
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_ftruncate:
    case SYS_fallocate:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_copy_file_range:
    case SYS_sendfile:
        return first == 2 ? 0 : WRITE;
    case SYS_openat:
        return registers->rdx & (O_WRONLY | O_RDWR | O_CREAT) ? MAKE : READ;
    case SYS_open:
        return registers->rsi & (O_WRONLY | O_RDWR | O_CREAT) ? MAKE : READ;
    case SYS_rename:
    case SYS_renameat:
    case SYS_renameat2:
    case SYS_mkdir:
    case SYS_mkdirat:
    case SYS_memfd_create:
    case SYS_pipe2:
    case SYS_inotify_init1:
    case SYS_inotify_add_watch:
    case SYS_mmap:
    case SYS_mremap:
    case SYS_clone:
    case SYS_clone3:
    case SYS_fork:
    case SYS_vfork:
    case SYS_lseek:
        return MAKE;
    case SYS_read:
    case SYS_pread64:
    case SYS_getdents64:
    case SYS_newfstatat:
    case SYS_fstat:
    case SYS_readlink:
        return READ;
    default:
        return 0;
    }
}

/* Of the calls above, those that may say EINTR, and those that may write less than was asked. */
static int can_be_interrupted(const struct user_regs_struct *registers)
{
    return registers->orig_rax == SYS_write || registers->orig_rax == SYS_read ||
           registers->orig_rax == SYS_openat;
}

static int can_be_short(const struct user_regs_struct *registers)
{
    return (registers->orig_rax == SYS_write || registers->orig_rax == SYS_pwrite64)
               ? registers->rdx > 1
               : registers->orig_rax == SYS_writev && registers->rdx > 1;
}

static int is_counted(const struct user_regs_struct *registers)
{
    if (group_of(registers) != (int)group)
        return 0;
    if (!error)
        return can_be_short(registers);
    return error != EINTR || can_be_interrupted(registers);
}

/* Whether a file of gcov's counters is opened, which in a coverage build is done at the end. */
static int opens_counters(pid_t task, const struct user_regs_struct *registers)
{
    char path[4096 + sizeof(long)];
    if (registers->orig_rax != SYS_openat && registers->orig_rax != SYS_open)
        return 0;
    unsigned long long from = registers->orig_rax == SYS_open ? registers->rdi : registers->rsi;
    for (size_t at = 0; at < 4096; at += sizeof(long)) {
        errno = 0;
        long word = ptrace(PTRACE_PEEKDATA, task, from + at, NULL);
        word = errno ? 0 : word;
        memcpy(path + at, &word, sizeof(word));
        if (memchr(path + at, 0, sizeof(word)))
            break;
    }
    path[4096] = 0;
    size_t length = strlen(path);
    return length > 5 && !strcmp(path + length - 5, ".gcda");
}

static void enter_call(pid_t task, int slot)
{
    struct user_regs_struct registers;
    if (ended || ptrace(PTRACE_GETREGS, task, NULL, &registers))
        return;
    ended = opens_counters(task, &registers);
    if (ended || !is_counted(&registers))
        return;
    seen++;
    if (!wanted || seen < wanted || (seen > wanted && !and_all_later))
        return;
    if (error) {
        registers.orig_rax = (unsigned long long)-1; /* no call at all */
        tasks[slot].result = -error;
    } else {
        registers.rdx /= 2;
    }
    ptrace(PTRACE_SETREGS, task, NULL, &registers);
}

static void leave_call(pid_t task, int slot)
{
    struct user_regs_struct registers;
    if (!tasks[slot].result || ptrace(PTRACE_GETREGS, task, NULL, &registers))
        return;
    registers.rax = (unsigned long long)tasks[slot].result;
    ptrace(PTRACE_SETREGS, task, NULL, &registers);
    tasks[slot].result = 0;
}

/* The address at which the program, not its loader, begins. */
static unsigned long entry_of(pid_t task)
{
    char path[64];
    Elf64_auxv_t pairs[64];
    snprintf(path, sizeof(path), "/proc/%d/auxv", task);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = descriptor < 0 ? 0 : read(descriptor, pairs, sizeof(pairs));
    close(descriptor);
    for (ssize_t i = 0; i < size / (ssize_t)sizeof(pairs[0]); i++)
        if (pairs[i].a_type == AT_ENTRY)
            return pairs[i].a_un.a_val;
    return 0;
}

/* Let the program run up to its entry. */
static int go_to_entry(pid_t task)
{
    int status;
    struct user_regs_struct registers;
    unsigned long entry = entry_of(task);
    long word = ptrace(PTRACE_PEEKTEXT, task, entry, NULL);
    if (!entry || ptrace(PTRACE_POKETEXT, task, entry, (word & ~0xffL) | 0xcc) ||
        ptrace(PTRACE_CONT, task, NULL, NULL) || waitpid(task, &status, __WALL) != task ||
        !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP ||
        ptrace(PTRACE_GETREGS, task, NULL, &registers))
        return -1;
    registers.rip = entry;
    return ptrace(PTRACE_POKETEXT, task, entry, word) ||
                   ptrace(PTRACE_SETREGS, task, NULL, &registers)
               ? -1
               : 0;
}

/* One stop of a task. The signal to go on with. */
static int handle_stop(pid_t task, int status)
{
    int slot = slot_of(task), number = WSTOPSIG(status), event = status >> 16;
    if (number == (SIGTRAP | 0x80)) {
        tasks[slot].in_call = !tasks[slot].in_call;
        if (tasks[slot].in_call)
            enter_call(task, slot);
        else
            leave_call(task, slot);
        return 0;
    }
    if (event)
        return 0;
    /* A new task's first stop is ours, and no signal of its own. */
    return number == SIGSTOP && !tasks[slot].in_call ? 0 : number;
}

static void forget(pid_t task)
{
    tasks[slot_of(task)].task = 0;
}

/* Until the last task has ended. The wait status of the first. */
static int follow(pid_t first)
{
    int status, end = 0;
    pid_t task;
    ptrace(PTRACE_SYSCALL, first, NULL, NULL);
    while ((task = waitpid(-1, &status, __WALL)) > 0) {
        if (!WIFSTOPPED(status)) {
            forget(task);
            if (task == first)
                end = status;
            continue;
        }
        if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8)) {
            forget(task);
            ptrace(PTRACE_DETACH, task, NULL, NULL); /* another program: not under test */
            continue;
        }
        int number = handle_stop(task, status);
        ptrace(PTRACE_SYSCALL, task, NULL, number);
    }
    return end;
}

static int parse(char **argv)
{
    static const struct {
        const char *name;
        int value;
    } names[] = {{"write", WRITE}, {"make", MAKE},     {"read", READ},     {"ENOSPC", ENOSPC},
                 {"EIO", EIO},     {"ENOMEM", ENOMEM}, {"EMFILE", EMFILE}, {"EACCES", EACCES},
                 {"EINTR", EINTR}, {"SHORT", 0}};
    int found = 0;
    for (size_t i = 0; i < NVT_COUNT_OF(names); i++) {
        if (i < 3 && !strcmp(argv[1], names[i].name))
            found++, group = (enum group)names[i].value;
        if (i >= 3 && !strcmp(argv[2], names[i].name))
            found++, error = names[i].value;
    }
    wanted = strtoul(argv[3], NULL, 10);
    and_all_later = strchr(argv[3], '+') != NULL;
    return found == 2 ? 0 : -1;
}

static void end_like(int status)
{
    if (WIFSIGNALED(status)) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    _exit(WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
    int status;
    if (argc < 6 || parse(argv))
        return 98;
    pid_t child = fork();
    if (!child) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
            _exit(97);
        execvp(argv[5], argv + 5);
        _exit(96);
    }
    if (waitpid(child, &status, __WALL) != child || !WIFSTOPPED(status))
        return WIFEXITED(status) ? WEXITSTATUS(status) : 97;
    if (go_to_entry(child) ||
        ptrace(PTRACE_SETOPTIONS, child, NULL,
               PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                   PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL))
        return 97;
    status = follow(child);
    FILE *file = fopen(argv[4], "w");
    if (!file || fprintf(file, "%lu\n", seen) < 0 || fclose(file))
        return 98;
    end_like(status);
}

#endif
