/*
 * Calls of the operating system's libraries, for `record --trace osrt`: os_calls WHAT FOLDER, where WHAT is one of the names
 * at the end. What is wrong about the calls themselves is told, and the exit status is 1.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

#include "../../lib/clock.h"
#include "../../lib/count_of.h"
#include "expect.h"
#include "os_semaphores.h"

#define BYTES (4 << 20)

static const char *folder;
static char bytes[BYTES];
static const char *in_folder(const char *name)
{
    static char path[4][4096];
    static int next;
    next = (next + 1) % 4;
    snprintf(path[next], sizeof(path[next]), "%s/%s", folder, name);
    return path[next];
}

/* Two files, one after the other by the same descriptor, a copy of a descriptor, and streams. */
static void files(void)
{
    int first = open(in_folder("first"), O_CREAT | O_RDWR, 0600);
    EXPECT(write(first, bytes, BYTES) == BYTES);
    EXPECT(pread(first, bytes, BYTES / 2, 0) == BYTES / 2);
    EXPECT(!close(first));
    int second = open(in_folder("second"), O_CREAT | O_RDWR, 0600);
    EXPECT(second == first);
    EXPECT(write(second, bytes, BYTES / 4) == BYTES / 4);
    int third = open(in_folder("third"), O_CREAT | O_RDWR, 0600);
    EXPECT(write(third, bytes, BYTES / 8) == BYTES / 8);
    EXPECT(dup2(third, second) == second);
    EXPECT(write(second, bytes, BYTES / 16) == BYTES / 16);
    EXPECT(!close(second) && !close(third));
    FILE *stream = fopen(in_folder("first"), "r");
    EXPECT(stream && fread(bytes, 4, BYTES / 4, stream) == BYTES / 4);
    EXPECT(stream && !fclose(stream));
    errno = 0;
    int missing = open(in_folder("missing"), O_RDONLY);
    EXPECT(missing == -1 && errno == ENOENT);
    /* Ends of descriptors that are no close(), and new ones that are no open(). */
    DIR *directory = opendir(folder);
    char name[4096];
    snprintf(name, sizeof(name), "%s/madeXXXXXX", folder);
    /* cppcheck-suppress readdirCalled ; glibc's is safe for a directory of one's own */
    EXPECT(directory && readdir(directory) && !closedir(directory));
    int made = mkstemp(name);
    EXPECT(made == first && write(made, bytes, BYTES / 32) == BYTES / 32);
    EXPECT(!close_range((unsigned)made, (unsigned)made, 0));
    EXPECT(memfd_create("memory", 0) == made && write(made, bytes, BYTES / 64) == BYTES / 64);
    EXPECT(!syscall(SYS_close, made));
    errno = 77;
    EXPECT(access(folder, F_OK) == 0 && errno == 77);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static mtx_t plain;
static pthread_barrier_t barrier;

static void *holder(void *nothing)
{
    usleep(1000);
    pthread_setname_np(pthread_self(), "holder");
    pthread_mutex_lock(&mutex);
    pthread_rwlock_wrlock(&rwlock);
    mtx_lock(&plain);
    pthread_barrier_wait(&barrier);
    usleep(60000);
    pthread_mutex_unlock(&mutex);
    usleep(60000);
    pthread_rwlock_unlock(&rwlock);
    usleep(60000);
    mtx_unlock(&plain);
    return nothing;
}

static pthread_mutex_t robust;

static void *dies(void *nothing)
{
    pthread_mutex_lock(&robust);
    return nothing;
}

static void locks(void)
{
    pthread_t thread;
    mtx_init(&plain, mtx_plain);
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, holder, NULL);
    pthread_barrier_wait(&barrier);
    printf("%p %p\n", (void *)&mutex, (void *)&rwlock);
    EXPECT(!pthread_mutex_lock(&mutex));
    EXPECT(!pthread_rwlock_rdlock(&rwlock));
    EXPECT(mtx_lock(&plain) == thrd_success);
    EXPECT(!pthread_mutex_unlock(&mutex) && !pthread_rwlock_unlock(&rwlock));
    mtx_unlock(&plain);
    EXPECT(!pthread_join(thread, NULL));
    /* Free ones, and ones whose lock says something of its own. */
    for (int i = 0; i < 1000; i++)
        EXPECT(!pthread_mutex_lock(&mutex) && !pthread_mutex_unlock(&mutex));
    pthread_mutexattr_t attributes;
    pthread_mutex_t checked, recursive;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&checked, &attributes);
    EXPECT(!pthread_mutex_lock(&checked) && pthread_mutex_lock(&checked) == EDEADLK);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &attributes);
    EXPECT(!pthread_mutex_lock(&recursive) && !pthread_mutex_lock(&recursive));
    EXPECT(!pthread_mutex_unlock(&recursive) && !pthread_mutex_unlock(&recursive));
}

/* Behind an owner's death, a mutex that nobody has put right; glibc's trylock would leave it locked. */
static void robust_locks(void)
{
    pthread_t thread;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attributes);
    pthread_create(&thread, NULL, dies, NULL);
    EXPECT(!pthread_join(thread, NULL));
    EXPECT(pthread_mutex_lock(&robust) == EOWNERDEAD && !pthread_mutex_unlock(&robust));
    EXPECT(pthread_mutex_lock(&robust) == ENOTRECOVERABLE);
    EXPECT(pthread_mutex_lock(&robust) == ENOTRECOVERABLE);
}

static void sleeps(void)
{
    struct timespec moment = {0, 20000000};
    uint32_t word = 1;
    sem_t semaphore;
    struct timespec later;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    EXPECT(!nanosleep(&moment, NULL));
    EXPECT(!usleep(20000));
    EXPECT(!clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL));
    EXPECT(syscall(SYS_futex, &word, 0 /* FUTEX_WAIT */, 1, &moment, NULL, 0) == -1 &&
           errno == ETIMEDOUT);
    EXPECT(syscall(SYS_gettid) == getpid());
    clock_gettime(CLOCK_REALTIME, &later);
    later.tv_sec += later.tv_nsec >= 980000000;
    later.tv_nsec = (later.tv_nsec + 20000000) % 1000000000;
    sem_init(&semaphore, 0, 0);
    EXPECT(sem_timedwait(&semaphore, &later) == -1 && errno == ETIMEDOUT);
    clock_gettime(CLOCK_REALTIME, &later);
    later.tv_sec += later.tv_nsec >= 980000000;
    later.tv_nsec = (later.tv_nsec + 20000000) % 1000000000;
    pthread_mutex_lock(&mutex);
    EXPECT(pthread_cond_timedwait(&condition, &mutex, &later) == ETIMEDOUT);
    pthread_mutex_unlock(&mutex);
}

static void sockets(void)
{
    int pair[2], ends[2];
    EXPECT(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    EXPECT(send(pair[0], bytes, 100000, 0) == 100000);
    EXPECT(recv(pair[1], bytes, 100000, MSG_WAITALL) == 100000);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(name.sun_path, sizeof(name.sun_path), "%.90s/door", folder);
    int door = socket(AF_UNIX, SOCK_STREAM, 0), in = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT(!bind(door, (struct sockaddr *)&name, sizeof(name)) && !listen(door, 1));
    EXPECT(write(in, bytes, 1) == -1);
    EXPECT(!connect(in, (struct sockaddr *)&name, sizeof(name)));
    int out = accept(door, NULL, NULL);
    EXPECT(out >= 0 && write(in, bytes, 100000) == 100000);
    EXPECT(!pipe(ends) && write(ends[1], bytes, 60000) == 60000);
    EXPECT(read(ends[0], bytes, 60000) == 60000);
}

/* Numbers of floating point, and what goes through two functions of libc. */
static void prints(void)
{
    EXPECT(printf("%d %.2f %s %.1f %.1f %.1f %.1f %.1f %.1f %.1f %.1f\n", 1, 2.5, "three", 4.0, 5.0,
                  6.0, 7.0, 8.0, 9.0, 10.0, 11.0) > 0);
    EXPECT(fprintf(stdout, "%.3f %lld\n", 0.125, 1LL << 40) > 0);
    EXPECT(!fflush(stdout));
}

static void processes(void)
{
    int status = 0;
    pid_t child = fork();
    if (!child) {
        usleep(20000);
        int own = open(in_folder("child"), O_CREAT | O_RDWR, 0600);
        _exit(write(own, bytes, BYTES) == BYTES ? 7 : 8);
    }
    EXPECT(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
    int nothing = open("/dev/null", O_WRONLY);
    int kept = open(in_folder("kept"), O_CREAT | O_RDWR, 0600);
    EXPECT(write(kept, bytes, BYTES) == BYTES && !unlink(in_folder("kept")));
    /* NOLINTBEGIN(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork): as Python does */
    child = vfork();
    if (!child) { /* it runs on our memory: its files are not ours */
        (void)dup2(nothing, 1);
        close(kept);
        usleep(20000);
        execl("/bin/true", "true", (char *)NULL);
        _exit(9);
    }
    /* NOLINTEND(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork) */
    EXPECT(waitpid(child, &status, 0) == child && !status);
    EXPECT(write(kept, bytes, BYTES) == BYTES && !close(kept));
    char *arguments[] = {"true", NULL};
    EXPECT(!posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ));
    EXPECT(waitpid(child, &status, 0) == child && !status);
    EXPECT(!system("exit 0")); /* NOLINT(cert-env33-c): a shell is what is asked for */
    printf("out\n");
    (void)fflush(stdout);
}

static void *sleeper(void *nothing)
{
    sleep(100);
    return nothing;
}

static sigjmp_buf back;

static void jump(int number)
{
    siglongjmp(back, number);
}

/* As deep on the stack as the call was that a handler jumped out of, whose place is not written over here. */
static __attribute__((noinline)) void sleep_below(void)
{
    char covered[16384];
    covered[0] = 0;
    __asm__ volatile("" : : "r"(covered) : "memory");
    for (int i = 0; i < 3; i++)
        usleep(2000 + covered[0] % 1);
}

static void note(int number)
{
    (void)number;
    (void)!write(2, "", 0);
}

/* Threads that are cancelled in a call, calls that a handler jumps out of, and calls within calls. */
static void leaves(void)
{
    pthread_t thread;
    int ends[2];
    void *result;
    pthread_create(&thread, NULL, sleeper, NULL);
    usleep(20000);
    pthread_cancel(thread);
    EXPECT(!pthread_join(thread, &result) && result == PTHREAD_CANCELED);
    EXPECT(!pipe(ends));
    (void)signal(SIGALRM, jump);
    if (!sigsetjmp(back, 1)) {
        ualarm(20000, 0);
        EXPECT(read(ends[0], bytes, 1) < 0);
        EXPECT(0);
    }
    sleep_below();
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    ualarm(300000, 0); /* long enough for a busy machine to come to the next line */
    EXPECT(usleep(900000) == -1 && errno == EINTR);
    EXPECT(write(ends[1], bytes, 1) == 1 && read(ends[0], bytes, 1) == 1);
}

/* A thread that waits for ever, and then the end. */
static void *waits(void *nothing)
{
    pthread_mutex_lock(&mutex);
    return nothing;
}

static void hangs(void)
{
    pthread_t thread;
    int ends[2];
    pthread_mutex_lock(&mutex);
    pthread_create(&thread, NULL, waits, NULL);
    EXPECT(!pipe(ends));
    for (int i = 0; i < 10; i++) { /* as it comes on */
        nvtxRangePushA("before");
        nvtxRangePop();
    }
    nvtxRangePushA("step");
    usleep(20000);
    puts("hangs");
    (void)fflush(stdout);
    (void)!read(ends[0], bytes, 1);
}

/* A thread waits for ever, and the main one goes on, with some MB of events a second. */
static void hangs_beside_ranges(void)
{
    pthread_t thread;
    uint64_t number = 1;
    pthread_mutex_lock(&mutex);
    pthread_create(&thread, NULL, waits, NULL);
    nvtxRangePushA("main");
    for (;;) {
        for (int i = 0; i < 5000; i++) {
            number = number * 6364136223846793005u + 1442695040888963407u;
            const nvtxEventAttributes_t event = {.version = NVTX_VERSION,
                                                 .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                                 .payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64,
                                                 .payload.ullValue = number,
                                                 .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                                 .message.ascii = "noise"};
            nvtxMarkEx(&event);
        }
        usleep(10000);
    }
}

/* What others have to wait for, for more than a second. */
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static int is_told;

static void *holds(void *nothing)
{
    pthread_mutex_lock(&mutex);
    pthread_rwlock_wrlock(&shared);
    pthread_barrier_wait(&barrier);
    sleep(2);
    pthread_mutex_unlock(&mutex);
    sleep(2);
    pthread_rwlock_unlock(&shared);
    sleep(2);
    pthread_mutex_lock(&mutex);
    is_told = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    sleep(2);
    sem_post(&semaphore);
    sleep(2);
    return nothing;
}

/* Calls that wait for other threads say what they say of a thread that nobody asks where it is. */
static void waits_long(void)
{
    pthread_t thread;
    int woken = 0;
    pthread_barrier_init(&barrier, NULL, 2);
    EXPECT(!sem_init(&semaphore, 0, 0));
    pthread_create(&thread, NULL, holds, NULL);
    pthread_barrier_wait(&barrier);
    EXPECT(!pthread_mutex_lock(&mutex));
    EXPECT(!pthread_rwlock_rdlock(&shared));
    for (; !is_told; woken++)
        EXPECT(!pthread_cond_wait(&condition, &mutex));
    EXPECT(woken == 1);
    EXPECT(!sem_wait(&semaphore));
    EXPECT(!pthread_join(thread, NULL));
    pid_t child = fork();
    if (!child) {
        sleep(2);
        _exit(0);
    }
    EXPECT(waitpid(child, NULL, 0) == child);
}

/* The main thread waits for one that makes another program of the process, which knows nothing of the recording. */
static void *becomes_another(void *nothing)
{
    char *arguments[] = {(char *)"/bin/sleep", (char *)"3", NULL}, *none[] = {NULL};
    usleep(300000);
    execve("/bin/sleep", arguments, none);
    return nothing;
}

static void execs_beside(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, becomes_another, NULL);
    pthread_join(thread, NULL);
    EXPECT(0);
}

static void sleeps_long(void)
{
    sleep(3);
}

static void hangs_in_open(void)
{
    EXPECT(!mkfifo(in_folder("fifo"), 0600));
    puts("hangs");
    (void)fflush(stdout);
    int fifo = open(in_folder("fifo"), O_RDONLY);
    EXPECT(fifo < 0);
}

/* Steps that wait for what another thread holds nearly all of the time, for as long as they read a file: on a busy machine both take
 * longer. */
static volatile int is_over;
#define LEAST_HOLD_NS 10000000
static _Atomic int64_t hold_ns = LEAST_HOLD_NS;

static void *hogs(void *nothing)
{
    while (!is_over) {
        pthread_mutex_lock(&mutex);
        usleep((useconds_t)(hold_ns / 1000));
        pthread_mutex_unlock(&mutex);
        usleep(100);
    }
    return nothing;
}

static void contended(void)
{
    pthread_t thread;
    int file = open(in_folder("first"), O_CREAT | O_RDWR, 0600);
    EXPECT(write(file, bytes, BYTES) == BYTES);
    pthread_create(&thread, NULL, hogs, NULL);
    printf("%p\n", (void *)&mutex);
    for (int i = 0; i < 20; i++) {
        nvtxRangePushA("step");
        nvtxRangePushA("want");
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
        nvtxRangePop();
        nvtxRangePushA("load");
        const int64_t from = nvt_monotonic_ns();
        for (int k = 0; k < 10; k++)
            EXPECT(pread(file, bytes, BYTES, 0) == BYTES);
        const int64_t taken = nvt_monotonic_ns() - from;
        hold_ns = taken > LEAST_HOLD_NS ? taken : LEAST_HOLD_NS;
        nvtxRangePop();
        nvtxRangePop();
    }
    is_over = 1;
    pthread_join(thread, NULL);
}

/* The end of system calls but for read, write and _exit. */
static void restricted(void)
{
    EXPECT(write(1, "before\n", 7) == 7);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
        return;
    (void)!write(1, "behind\n", 7);
    for (int i = 0; i < 100; i++)
        (void)!read(0, bytes, 1);
    syscall(SYS_exit, 0);
}

static void loads(void)
{
    void *library = dlopen(getenv("OSRT_LIBRARY"), RTLD_NOW);
    EXPECT(library && !dlclose(library));
}

/* More names than are kept. */
static void names(void)
{
    char name[64];
    for (int i = 0; i < 70000; i++) {
        snprintf(name, sizeof(name), "/nowhere/%d", i);
        EXPECT(access(name, F_OK) == -1);
    }
}

static void ranges(void)
{
    usleep(5000);
    nvtxRangePushA("wanted");
    usleep(20000);
    nvtxRangePop();
    usleep(5000);
}

#define BUSY_THREADS 8
#define BUSY_ROUNDS  500

/* Each with a file of its own, by descriptors that others had a moment before. */
static void *is_busy(void *number)
{
    char name[32], path[4096];
    snprintf(name, sizeof(name), "busy%d", (int)(intptr_t)number);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    for (int i = 0; i < BUSY_ROUNDS; i++) {
        int descriptor = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
        EXPECT(descriptor >= 0 && write(descriptor, bytes, 1000) == 1000 && !close(descriptor));
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void busy(void)
{
    pthread_t threads[BUSY_THREADS];
    for (intptr_t i = 0; i < BUSY_THREADS; i++)
        pthread_create(&threads[i], NULL, is_busy, (void *)i);
    for (int i = 0; i < BUSY_THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* So that there is something to leave out. */
static void many(void)
{
    for (int i = 0; i < 4000; i++)
        usleep(500);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*function)(void);
    } all[] = {{"files", files},
               {"locks", locks},
               {"sleeps", sleeps},
               {"sockets", sockets},
               {"prints", prints},
               {"processes", processes},
               {"leaves", leaves},
               {"hangs", hangs},
               {"hangs-beside-ranges", hangs_beside_ranges},
               {"hangs-in-open", hangs_in_open},
               {"sleeps-long", sleeps_long},
               {"waits-long", waits_long},
               {"execs-beside", execs_beside},
               {"ranges", ranges},
               {"many", many},
               {"busy", busy},
               {"contended", contended},
               {"restricted", restricted},
               {"loads", loads},
               {"names", names},
               {"robust", robust_locks},
               {"semaphores", semaphores}};
    folder = argc > 2 ? argv[2] : "";
    for (size_t i = 0; argc > 2 && i < NVT_COUNT_OF(all); i++)
        if (!strcmp(argv[1], all[i].name)) {
            all[i].function();
            return failures != 0;
        }
    fprintf(stderr, "usage: os_calls WHAT FOLDER\n");
    return 2;
}
