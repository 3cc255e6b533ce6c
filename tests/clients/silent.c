/*
 * silent HOW [MS]: a hundred iterations of MS milliseconds (10), and then a process in which nothing begins or ends any more.
 *
 *   locks      a range `step`, in which two threads hold each other's locks
 *   pipe       a range `load`, which reads from a pipe that nobody writes to
 *   condition  a range `load`, which waits for a condition that nobody signals
 *   spin       a range `compute`, which does not end
 *
 * or which is idle, as healthy programs are:
 *
 *   poll       a service that waits for a request (epoll), in a range `wait`
 *   accept     one that waits for a connection
 *   pool       two threads that wait for work, each in a range `wait`; the main thread waits for its standard input
 *   loader     a thread that waits for room in its queue, in a range `put`; the main thread is busy outside of all ranges
 *
 * With loop the iterations go on. It ends when a signal ends it.
 */
#include <netinet/in.h>
#include <nvtx3/nvToolsExt.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ITERATIONS = 100, WORKERS = 2 };

static long ms = 10;
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int queued, is_bounded;

static void take(long milliseconds)
{
    nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000}, NULL);
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void step(void)
{
    nvtxRangePushA("step");
    nvtxRangePushA("load");
    take(ms / 2);
    nvtxRangePop();
    nvtxRangePushA("compute");
    take(ms - ms / 2);
    nvtxRangePop();
    nvtxRangePop();
}

static void thread(void *(*run)(void *))
{
    pthread_t id;
    if (pthread_create(&id, NULL, run, NULL))
        fail("pthread_create");
}

/* --- hangs ---------------------------------------------------------------------------------------------- */

static void *lock_both(void *unused)
{
    (void)unused;
    for (int i = 0; i < ITERATIONS; i++) {
        nvtxRangePushA("audit");
        nvtxRangePop();
    }
    nvtxRangePushA("audit");
    pthread_mutex_lock(&second);
    take(300);
    pthread_mutex_lock(&first);
    return NULL;
}

static void locks(void)
{
    pthread_mutex_lock(&first);
    nvtxRangePushA("step");
    thread(lock_both);
    take(300);
    pthread_mutex_lock(&second);
}

static void read_pipe(void)
{
    int ends[2];
    char byte;
    if (pipe(ends))
        fail("pipe");
    nvtxRangePushA("step");
    nvtxRangePushA("load");
    if (read(ends[0], &byte, 1) != 1)
        fail("read");
}

static void condition(void)
{
    nvtxRangePushA("step");
    nvtxRangePushA("load");
    pthread_mutex_lock(&first);
    for (;;)
        pthread_cond_wait(&changed, &first);
}

static void spin(void)
{
    nvtxRangePushA("step");
    nvtxRangePushA("compute");
    for (volatile int i = 0;; i++)
        ;
}

/* --- what is idle --------------------------------------------------------------------------------------- */

static void serve_poll(void)
{
    struct epoll_event event = {.events = EPOLLIN};
    const int set = epoll_create1(EPOLL_CLOEXEC);
    int ends[2];
    if (set < 0 || pipe(ends) || epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event))
        fail("epoll");
    nvtxRangePushA("serve");
    for (int i = 0;; i++) {
        nvtxRangePushA("wait");
        epoll_wait(set, &event, 1, i < ITERATIONS ? (int)ms : -1);
        nvtxRangePop();
    }
}

static void serve_accept(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int from = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (from < 0 || bind(from, (const struct sockaddr *)&address, sizeof(address)) ||
        listen(from, 1))
        fail("socket");
    for (int i = 0; i < ITERATIONS; i++) {
        nvtxRangePushA("wait");
        take(1);
        nvtxRangePop();
    }
    nvtxRangePushA("wait");
    accept(from, NULL, NULL);
}

/* A worker takes from the queue, which may be empty; a loader puts into it, which may be full. */
static void *work(void *unused)
{
    for (; !unused;) {
        nvtxRangePushA(is_bounded ? "put" : "wait");
        pthread_mutex_lock(&first);
        while (is_bounded ? queued == 2 : !queued)
            pthread_cond_wait(&changed, &first);
        queued += is_bounded ? 1 : -1;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&first);
        nvtxRangePop();
    }
    return NULL;
}

static void change_queue(int by)
{
    pthread_mutex_lock(&first);
    queued += queued + by < 0 ? 0 : by;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&first);
    take(ms);
}

static void pool(void)
{
    struct pollfd none = {.fd = -1};
    for (int i = 0; i < WORKERS; i++)
        thread(work);
    for (int i = 0; i < ITERATIONS; i++)
        change_queue(1);
    while (poll(&none, 1, -1) < 1) {
    }
}

static void loader(void)
{
    is_bounded = 1;
    thread(work);
    for (int i = 0; i < ITERATIONS; i++)
        change_queue(-1);
    for (;;)
        take(1);
}

static void loop(void)
{
    for (;;)
        step();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
        int is_service;
    } kinds[] = {{"locks", locks, 0}, {"pipe", read_pipe, 0},  {"condition", condition, 0},
                 {"spin", spin, 0},   {"poll", serve_poll, 1}, {"accept", serve_accept, 1},
                 {"pool", pool, 1},   {"loader", loader, 1},   {"loop", loop, 1}};
    ms = argc > 2 ? strtol(argv[2], NULL, 10) : ms;
    for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (strcmp(argv[1], kinds[i].name) != 0)
            continue;
        for (int k = 0; k < ITERATIONS && !kinds[i].is_service; k++)
            step();
        kinds[i].run();
        return 0;
    }
    return 2;
}
