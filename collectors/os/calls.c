/*
 * libnvtally-os-calls.so: calls of the operating system's libraries that may block. `record --trace osrt` puts it in front of
 * the program's libraries (LD_PRELOAD), so that these calls come here first, and go on to libc from here. lib/os_calls.def has
 * the list; what becomes of a call is collectors/inject/os.h's business.
 *
 * Arguments are handed on as they are (pass_on.h). What looks at its arguments is written out at the end.
 *
 * A lock or semaphore that is free is taken without a look at the clock: it is tried first.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../lib/count_of.h"
#include "../../lib/os_calls.h"
#include "../inject/os.h"
#include "../outermost.h"
#include "../pass_on.h"

#define EXPORT NVT_EXPORT

typedef word libc_function(word, word, word, word, word, word, word);
#define ARGUMENTS 7

/* --- libc ------------------------------------------------------------------------------------------- */

/* Whether both are of one library. */
static int are_together(void *one, void *other)
{
    Dl_info first, second;
    return dladdr(one, &first) && dladdr(other, &second) && first.dli_fbase == second.dli_fbase;
}

/* Of some functions libc has an older form, too, which dlsym finds first. Another library in front of libc (a sanitizer's, of
 * the user) has one, without a version, and comes before both. */
static void *find(const char *name)
{
    static const char *const versions[][2] = {{"pthread_cond_wait", "GLIBC_2.3.2"},
                                              {"pthread_cond_timedwait", "GLIBC_2.3.2"},
                                              {"posix_spawn", "GLIBC_2.15"},
                                              {"posix_spawnp", "GLIBC_2.15"}};
    void *first = dlsym(RTLD_NEXT, name), *newer = NULL;
    for (size_t i = 0; i < NVT_COUNT_OF(versions) && !newer; i++)
        if (!strcmp(name, versions[i][0]))
            newer = dlvsym(RTLD_NEXT, name, versions[i][1]);
    return newer && first && are_together(first, newer) ? newer : first;
}

/* Another libc may lack some that programs look for by name. */
static word lacking(word a, word b, word c, word d, word e, word f, word g)
{
    (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g;
    errno = ENOSYS;
    return -1;
}

static void *real(_Atomic(void *) *known, const char *name)
{
    void *function = atomic_load_explicit(known, memory_order_relaxed);
    if (NVT_UNLIKELY(!function)) {
        function = find(name);
        function = function ? function : (void *)lacking;
        atomic_store_explicit(known, function, memory_order_relaxed);
    }
    return function;
}

static word go_on(libc_function *function, const word *a)
{
    return function(a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
}

/* --- calls ------------------------------------------------------------------------------------------ */

#define OS_CALL NVT_OS_CALL_INFO
static const struct nvt_os_call_info calls[NVT_OS_CALLS] = {
#include "../../lib/os_calls.def"
};

/* Calls are recorded: known when the library is loaded. Those of before are not. */
static int watches;

static __thread struct nvt_place *outermost __attribute__((tls_model("initial-exec")));

/* A call while it runs. */
struct running {
    struct nvt_place place;
    int is_open;
    struct nvt_os_open open;
};

/* When a thread is cancelled in a call: it has ended, and returns nothing. */
static void abandon(struct running *running)
{
    if (!running->is_open)
        return;
    nvt_os_end(&running->open, -1, 0);
    nvt_place_leave(&outermost, &running->place);
}

static int descriptor_of(void *stream)
{
    int saved = errno, descriptor = stream ? fileno(stream) : -1;
    errno = saved;
    return descriptor;
}

static int directory_of(void *directory)
{
    int saved = errno, descriptor = directory ? dirfd(directory) : -1;
    errno = saved;
    return descriptor;
}

static struct nvt_os_subject subject_of(const struct nvt_os_call_info *call, const word *a)
{
    struct nvt_os_subject subject = {.descriptor = -1};
    switch (call->object) {
    case NVT_OS_DESCRIPTOR:
        subject.descriptor = (int)a[call->argument];
        break;
    case NVT_OS_STREAM:
        subject.descriptor = descriptor_of((void *)a[call->argument]);
        break;
    case NVT_OS_DIRECTORY:
        subject.descriptor = directory_of((void *)a[call->argument]);
        break;
    case NVT_OS_PATH:
        subject.path = (const char *)a[call->argument];
        break;
    case NVT_OS_STDOUT:
        subject.descriptor = descriptor_of(stdout);
        break;
    case NVT_OS_ADDRESS:
        subject.address = (uint64_t)a[call->argument];
        break;
    default:
        break;
    }
    return subject;
}

/* From here on until end() it is open, if it is to be recorded. */
static inline void begin(struct running *running, unsigned number, const word *a,
                         const void *caller)
{
    running->is_open = 0;
    if (NVT_UNLIKELY(!watches) || nvt_os_is_own_call(&caller) ||
        nvt_place_enter(&outermost, &running->place) == NVT_ENTERED_WITHIN)
        return;
    running->open.number = number;
    running->open.from = caller;
    running->open.subject = subject_of(&calls[number], a);
    running->is_open = 1;
    nvt_os_begin(&running->open);
}

static uint64_t items(word count, word size)
{
    return (uint64_t)count * (uint64_t)size;
}

static uint64_t bytes_of(enum nvt_os_result kind, word result, const word *a)
{
    switch (kind) {
    case NVT_OS_READS:
    case NVT_OS_WRITES:
        return result > 0 ? (uint64_t)result : 0;
    case NVT_OS_READS_ITEMS:
    case NVT_OS_WRITES_ITEMS:
        return items(result, a[2]);
    case NVT_OS_PRINTS:
        return (int)result > 0 ? (uint64_t)result : 0;
    case NVT_OS_READS_ITEMS_CHECKED:
        return items(result, a[3]);
    default:
        return 0;
    }
}

/* What is returned, as a number: an int is half a register, and of a pointer it counts whether there is one. */
static int64_t result_of(enum nvt_os_result kind, word result)
{
    switch (kind) {
    case NVT_OS_POINTER:
    case NVT_OS_OPENS_STREAM:
        return result != 0 && result != -1;
    case NVT_OS_READS:
    case NVT_OS_WRITES:
    case NVT_OS_READS_ITEMS:
    case NVT_OS_READS_ITEMS_CHECKED:
    case NVT_OS_WRITES_ITEMS:
        return result;
    default:
        return (int)result;
    }
}

/* A path that was opened is known by what it led to, as later calls know it. */
static void name_opened(const struct nvt_os_call_info *call, struct nvt_os_subject *subject,
                        word result)
{
    int descriptor = call->result == NVT_OS_OPENS          ? (int)result
                     : call->result == NVT_OS_OPENS_STREAM ? descriptor_of((void *)result)
                                                           : -1;
    if (call->object == NVT_OS_PATH && descriptor >= 0)
        *subject = (struct nvt_os_subject){.descriptor = descriptor};
}

static void end(struct running *running, word result, const word *a)
{
    enum nvt_os_result kind = calls[running->open.number].result;
    name_opened(&calls[running->open.number], &running->open.subject, result);
    if (kind == NVT_OS_CONNECTS && !(int)result)
        running->open.file = 0;              /* of the other end, which is known now */
    if (kind != NVT_OS_FORKS || (int)result) /* the child has not called it */
        nvt_os_end(&running->open, result_of(kind, result), bytes_of(kind, result, a));
    nvt_place_leave(&outermost, &running->place);
    running->is_open = 0;
}

/* Descriptors that stand for something else behind the call, whoever makes it. */
static void forget(const struct nvt_os_call_info *call, word result, const word *a)
{
    switch (call->result) {
    case NVT_OS_OPENS:
        nvt_os_forget((int)result);
        break;
    case NVT_OS_FCNTL:
        if ((int)a[2] == F_DUPFD || (int)a[2] == F_DUPFD_CLOEXEC)
            nvt_os_forget((int)result);
        break;
    case NVT_OS_OPENS_STREAM:
        nvt_os_forget(descriptor_of((void *)result));
        break;
    case NVT_OS_OPENS_PAIR:
        if (!(int)result) {
            nvt_os_forget(((const int *)a[1])[0]);
            nvt_os_forget(((const int *)a[1])[1]);
        }
        break;
    case NVT_OS_CONNECTS:
        nvt_os_forget((int)a[1]);
        break;
    default:
        break;
    }
}

static void forget_before(const struct nvt_os_call_info *call, const word *a)
{
    if (call->result == NVT_OS_CLOSES)
        nvt_os_forget(call->object == NVT_OS_STREAM      ? descriptor_of((void *)a[call->argument])
                      : call->object == NVT_OS_DIRECTORY ? directory_of((void *)a[call->argument])
                                                         : (int)a[call->argument]);
    else if (call == &calls[NVT_OS_CALL_freopen] || call == &calls[NVT_OS_CALL_freopen64])
        nvt_os_forget(descriptor_of((void *)a[3])); /* which is closed even where that fails */
}

/* A call with its arguments from a[1] on. */
static word pass(unsigned number, libc_function *function, const word *a, const void *caller)
{
    struct running running __attribute__((cleanup(abandon)));
    const struct nvt_os_call_info *call = &calls[number];
    begin(&running, number, a, caller);
    forget_before(call, a);
    word result = go_on(function, a);
    forget(call, result, a);
    if (running.is_open)
        end(&running, result, a);
    return result;
}

/* The function that takes the place of libc's. In C it has a name of its own, as the compiler knows some of these. */
#define DECLARE(name, count) EXPORT word nvt_os_call_##name(PARAMETERS_##count) __asm__(#name);

/* --- semaphores ------------------------------------------------------------------------------------- */

static __thread uint32_t own_number __attribute__((tls_model("initial-exec")));

static __attribute__((noinline)) uint32_t find_number(void)
{
    int saved = errno;
    own_number = (uint32_t)syscall(SYS_gettid);
    errno = saved;
    return own_number;
}

static inline uint32_t thread_number(void)
{
    uint32_t number = own_number;
    return NVT_LIKELY(number) ? number : find_number();
}

static void forked(void)
{
    uint32_t before = own_number;
    nvt_os_takers_forked(before, find_number());
}

DECLARE(sem_trywait, 1)
static _Atomic(void *) known_sem_trywait;
word nvt_os_call_sem_trywait(word a)
{
    word (*try)(word) = real(&known_sem_trywait, "sem_trywait");
    word result = try(a);
    if (NVT_LIKELY(!(int)result && watches))
        nvt_os_took((const void *)a, thread_number());
    return result;
}

/* Whether a semaphore is free, and taken now: as sem_wait does first, which is where a thread may be cancelled. */
static int take_free(word semaphore)
{
    int saved = errno;
    pthread_testcancel();
    int is_taken = !(int)nvt_os_call_sem_trywait(semaphore);
    errno = saved;
    return is_taken;
}

DECLARE(sem_init, 3)
static _Atomic(void *) known_sem_init;
word nvt_os_call_sem_init(PARAMETERS_3)
{
    const word arguments[ARGUMENTS + 1] = {0 GIVEN_3};
    word result = go_on(real(&known_sem_init, "sem_init"), arguments);
    if (!(int)result && watches)
        nvt_os_made((const void *)a, (unsigned)c);
    return result;
}

/* --- the list --------------------------------------------------------------------------------------- */

#define OS_CALL(name, count, ...)                                                                  \
    DECLARE(name, count)                                                                           \
    static _Atomic(void *) known_##name;                                                           \
    word nvt_os_call_##name(PARAMETERS_##count)                                                    \
    {                                                                                              \
        const word arguments[ARGUMENTS + 1] = {0 GIVEN_##count};                                   \
        return pass(NVT_OS_CALL_##name, real(&known_##name, #name), arguments,                     \
                    __builtin_return_address(0));                                                  \
    }

/* Tried without success, a robust mutex that is beyond recovery would stay locked (glibc does so): it is not tried. */
#define IS_ROBUST(name, a)                                                                         \
    (NVT_OS_CALL_##name == NVT_OS_CALL_pthread_mutex_lock &&                                       \
     ((const pthread_mutex_t *)(a))->__data.__kind & 16 /* PTHREAD_MUTEX_ROBUST_NORMAL_NP */)

#define OS_LOCK(name, tries)                                                                       \
    DECLARE(name, 1)                                                                               \
    static _Atomic(void *) known_##name, known_try_##name;                                         \
    word nvt_os_call_##name(word a)                                                                \
    {                                                                                              \
        const word arguments[ARGUMENTS + 1] = {0, a};                                              \
        libc_function *try = real(&known_try_##name, #tries);                                      \
        if (!IS_ROBUST(name, a) && (int)try(a, 0, 0, 0, 0, 0, 0) == 0)                             \
            return 0;                                                                              \
        return pass(NVT_OS_CALL_##name, real(&known_##name, #name), arguments,                     \
                    __builtin_return_address(0));                                                  \
    }

/* Who takes it is noted: a semaphore does not know its holder. */
#define OS_SEMAPHORE(name, count)                                                                  \
    DECLARE(name, count)                                                                           \
    static _Atomic(void *) known_##name;                                                           \
    word nvt_os_call_##name(PARAMETERS_##count)                                                    \
    {                                                                                              \
        const word arguments[ARGUMENTS + 1] = {0 GIVEN_##count};                                   \
        if (NVT_OS_CALL_##name == NVT_OS_CALL_sem_wait && take_free(a))                            \
            return 0;                                                                              \
        word result = pass(NVT_OS_CALL_##name, real(&known_##name, #name), arguments,              \
                           __builtin_return_address(0));                                           \
        if (!(int)result && watches)                                                               \
            nvt_os_took_after_wait((const void *)a, thread_number());                              \
        return result;                                                                             \
    }

#define OS_WRITTEN_OUT(...)

#include "../../lib/os_calls.def"

/* --- written out ------------------------------------------------------------------------------------ */

/* No calls of interest, but ends of descriptors. */
static void forget_range(unsigned from, unsigned to)
{
    for (unsigned i = from; i <= to && i < NVT_OS_DESCRIPTORS; i++)
        nvt_os_forget((int)i);
}

DECLARE(close_range, 3)
static _Atomic(void *) known_close_range;
word nvt_os_call_close_range(PARAMETERS_3)
{
    const word arguments[ARGUMENTS + 1] = {0 GIVEN_3};
    forget_range((unsigned)a, (unsigned)b);
    return go_on(real(&known_close_range, "close_range"), arguments);
}

DECLARE(closefrom, 1)
static _Atomic(void *) known_closefrom;
word nvt_os_call_closefrom(PARAMETERS_1)
{
    const word arguments[ARGUMENTS + 1] = {0 GIVEN_1};
    forget_range((int)a > 0 ? (unsigned)a : 0, ~0u);
    return go_on(real(&known_closefrom, "closefrom"), arguments);
}

/* Nor these, but who jumps may leave a call: what comes after it would be taken for a part of it while its mark is not
 * written over. */
#define JUMP(name)                                                                                 \
    DECLARE(name, 2)                                                                               \
    static _Atomic(void *) known_##name;                                                           \
    word nvt_os_call_##name(PARAMETERS_2)                                                          \
    {                                                                                              \
        const word arguments[ARGUMENTS + 1] = {0 GIVEN_2};                                         \
        if (NVT_UNLIKELY(outermost != NULL)) {                                                     \
            nvt_os_leave();                                                                        \
            outermost = NULL; /* its mark stays: the stack there may be gone */                    \
        }                                                                                          \
        return go_on(real(&known_##name, #name), arguments);                                       \
    }
JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)

/* Of system calls that have no function of their own: waits, which other languages' locks consist of. */
DECLARE(syscall, 7)
static _Atomic(void *) known_syscall;
word nvt_os_call_syscall(PARAMETERS_7)
{
    const word arguments[ARGUMENTS + 1] = {0 GIVEN_7};
    libc_function *function = real(&known_syscall, "syscall");
    if (NVT_UNLIKELY(a == SYS_seccomp))
        watches = 0; /* what we would ask the system may be forbidden from now on */
    else if (NVT_UNLIKELY(a == SYS_close))
        nvt_os_forget((int)b);
    else if (NVT_UNLIKELY(a == SYS_close_range))
        forget_range((unsigned)b, (unsigned)c);
    return a == SYS_futex
               ? pass(NVT_OS_CALL_futex, function, arguments, __builtin_return_address(0))
               : go_on(function, arguments);
}

/* No calls of interest, but names of threads, which have a ring before their name. */
DECLARE(pthread_setname_np, 2)
static _Atomic(void *) known_pthread_setname_np;
word nvt_os_call_pthread_setname_np(word a, word b)
{
    libc_function *function = real(&known_pthread_setname_np, "pthread_setname_np");
    word result = function(a, b, 0, 0, 0, 0, 0);
    if (watches && !(int)result && (pthread_t)a == pthread_self())
        nvt_os_name_thread((const char *)b);
    return result;
}

DECLARE(prctl, 5)
static _Atomic(void *) known_prctl;
word nvt_os_call_prctl(PARAMETERS_5)
{
    const word arguments[ARGUMENTS + 1] = {0 GIVEN_5};
    if (NVT_UNLIKELY((int)a == PR_SET_SECCOMP))
        watches = 0;
    word result = go_on(real(&known_prctl, "prctl"), arguments);
    if (watches && (int)a == PR_SET_NAME && !(int)result &&
        !nvt_os_is_own(__builtin_return_address(0)))
        nvt_os_name_thread((const char *)b);
    return result;
}

/* Arguments in registers of floating point do not go through pass(): these functions become those that take a list. */
typedef int print_function(FILE *, const char *, va_list);
typedef int print_checked_function(FILE *, int, const char *, va_list);

static _Atomic(void *) known_vfprintf, known_vfprintf_chk;

static int print(unsigned number, FILE *to, int flag, const char *format, va_list list,
                 const void *caller)
{
    struct running running __attribute__((cleanup(abandon)));
    const word arguments[ARGUMENTS + 1] = {[1] = (word)to};
    begin(&running, number, arguments, caller);
    print_function *plain = real(&known_vfprintf, "vfprintf");
    print_checked_function *checked = real(&known_vfprintf_chk, "__vfprintf_chk");
    int written = flag < 0 ? plain(to, format, list) : checked(to, flag, format, list);
    if (running.is_open)
        end(&running, written, arguments);
    return written;
}

#define PRINT(name, to, flag, last, ...)                                                           \
    EXPORT int nvt_os_call_##name(__VA_ARGS__, ...) __asm__(#name);                                \
    int nvt_os_call_##name(__VA_ARGS__, ...)                                                       \
    {                                                                                              \
        va_list list;                                                                              \
        va_start(list, last);                                                                      \
        int written =                                                                              \
            print(NVT_OS_CALL_##name, to, flag, last, list, __builtin_return_address(0));          \
        va_end(list);                                                                              \
        return written;                                                                            \
    }
PRINT(printf, stdout, -1, format, const char *format)
PRINT(fprintf, to, -1, format, FILE *to, const char *format)
PRINT(__printf_chk, stdout, flag, format, int flag, const char *format)
PRINT(__fprintf_chk, to, flag, format, FILE *to, int flag, const char *format)

#define PRINT_LIST(name, to, flag, ...)                                                            \
    EXPORT int nvt_os_call_##name(__VA_ARGS__, va_list list) __asm__(#name);                       \
    int nvt_os_call_##name(__VA_ARGS__, va_list list)                                              \
    {                                                                                              \
        return print(NVT_OS_CALL_##name, to, flag, format, list, __builtin_return_address(0));     \
    }
PRINT_LIST(vprintf, stdout, -1, const char *format)
PRINT_LIST(vfprintf, to, -1, FILE *to, const char *format)
PRINT_LIST(__vprintf_chk, stdout, flag, int flag, const char *format)
PRINT_LIST(__vfprintf_chk, to, flag, FILE *to, int flag, const char *format)

/* --- the beginning ---------------------------------------------------------------------------------- */

/* All are found now: dlsym takes a lock that another thread may hold, as long as it loads a library, while it waits for who
 * calls one of these for the first time. */
__attribute__((constructor)) static void watch(void)
{
#define OS_CALL(name, ...)            (void)real(&known_##name, #name);
#define OS_SEMAPHORE(name, arguments) (void)real(&known_##name, #name);
#define OS_LOCK(name, tries)                                                                       \
    (void)real(&known_##name, #name);                                                              \
    (void)real(&known_try_##name, #tries);
#define OS_WRITTEN_OUT(...)
#include "../../lib/os_calls.def"
#define FIND(name) (void)real(&known_##name, #name)
    FIND(sem_trywait);
    FIND(sem_init);
    FIND(syscall);
    FIND(pthread_setname_np);
    FIND(prctl);
    FIND(close_range);
    FIND(closefrom);
    FIND(longjmp);
    FIND(_longjmp);
    FIND(siglongjmp);
    FIND(__longjmp_chk);
    (void)real(&known_vfprintf, "vfprintf");
    (void)real(&known_vfprintf_chk, "__vfprintf_chk");
    watches = nvt_os_watch();
    if (watches)
        pthread_atfork(NULL, NULL, forked);
}
