/*
 * What threads do that is out of the ordinary, each with a known number of ranges: threads HOW.
 * tests/test_record_threads.c knows what to expect.
 */
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "../../collectors/ring.h"
#include "../../lib/count_of.h"

static void range(const char *name)
{
    nvtxRangePushA(name);
    nvtxRangePop();
}

/* A sanitizer needs some of it for itself. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SMALLEST_STACK ((size_t)1 << 20)
#else
#define SMALLEST_STACK ((size_t)PTHREAD_STACK_MIN)
#endif

static int run(void *(*body)(void *), void *argument, size_t stack)
{
    pthread_attr_t attributes;
    pthread_t thread;
    if (pthread_attr_init(&attributes) ||
        (stack && pthread_attr_setstacksize(&attributes, stack)) ||
        pthread_create(&thread, &attributes, body, argument))
        return 99;
    return pthread_join(thread, NULL);
}

static uint64_t register_schema(nvtxDomainHandle_t domain, const nvtxPayloadSchemaEntry_t *entries,
                                size_t count)
{
    nvtxPayloadSchemaAttr_t schema = {.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                                                   NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                                                   NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                                                   NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
                                      .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
                                      .entries = entries,
                                      .numEntries = count,
                                      .payloadStaticSize = count * sizeof(uint64_t)};
    return nvtxPayloadSchemaRegister(domain, &schema);
}

/* --- ends ------------------------------------------------------------------------------------- */

static pthread_key_t ends, rounds;

static void end_open_range(void *unused)
{
    (void)unused;
    nvtxRangePop();
}

/* As many times as destructors are called. */
static void use_again(void *left)
{
    range("in a destructor");
    if ((intptr_t)left > 1)
        pthread_setspecific(rounds, (void *)((intptr_t)left - 1));
}

static void *opens_range(void *unused)
{
    pthread_setspecific(ends, &ends);
    nvtxRangePushA("a thread's life");
    return unused;
}

static void *ends_slowly(void *unused)
{
    pthread_setspecific(rounds, (void *)(intptr_t)(PTHREAD_DESTRUCTOR_ITERATIONS - 1));
    range("in the thread");
    return unused;
}

/* Destructors of keys that were made later than the collector's own: they run behind it. */
static int destructors(void)
{
    range("first");
    if (pthread_key_create(&ends, end_open_range) || pthread_key_create(&rounds, use_again))
        return 99;
    for (int i = 0; i < 20; i++)
        if (run(opens_range, NULL, 0) || run(ends_slowly, NULL, 0))
            return 99;
    return 0;
}

/* --- signals ---------------------------------------------------------------------------------- */

static void in_handler(int number)
{
    (void)number;
    range("handler");
}

static void *under_fire(void *unused)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    struct itimerspec often = {{0, 20000}, {0, 20000}};
    event._sigev_un._tid = gettid();
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &often, NULL);
    for (int i = 0; i < 100; i++)
        range("under fire");
    timer_delete(timer);
    return unused;
}

/* A signal comes while a thread is making its ring, more often than not. */
static int signals(void)
{
    struct sigaction action = {.sa_handler = in_handler, .sa_flags = SA_RESTART};
    range("first");
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 50; i++)
        if (run(under_fire, NULL, 0))
            return 99;
    return 0;
}

static sigjmp_buf out;
static volatile sig_atomic_t armed;

static void jump_out(int number)
{
    (void)number;
    if (armed)
        siglongjmp(out, 1);
}

/* Time-outs as interpreters have them: a handler jumps out of whatever was going on, an event among it. Prints how
 * many ranges there were for certain. */
static int jumps(void)
{
    struct sigaction action = {.sa_handler = jump_out};
    struct itimerval often = {{0, 500}, {0, 500}};
    volatile long returned = 0, left = 500;
    range("first");
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    while (left > 0) {
        if (!sigsetjmp(out, 1)) {
            armed = 1;
            for (;;) {
                range("within reach");
                returned++;
            }
        }
        armed = 0;
        left--;
    }
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    for (int i = 0; i < 1000; i++)
        range("after all jumps");
    printf("%ld\n", returned);
    return 0;
}

/* --- steps ------------------------------------------------------------------------------------ */

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TRAP_FLAG 0x100
enum {
    TRIES = 1200,
    STEPS = 600,
    NAMES = 6000,
    NAME_TRIES = 600,
    NAME_STEPS = 2500,
    KNOWN = 1 << 16
};

static volatile sig_atomic_t steps_left;

/* Whether this instruction comes for the first time. */
static int is_new(uintptr_t instruction)
{
    static uintptr_t known[KNOWN];
    size_t at = instruction * 2654435769u >> 8 & (KNOWN - 1);
    while (known[at] && known[at] != instruction)
        at = (at + 1) & (KNOWN - 1);
    int result = !known[at];
    known[at] = instruction;
    return result;
}

/* Before each instruction: out of the event, where none was left before it yet. */
static void step(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)number, (void)info;
    if (!armed || steps_left-- <= 0)
        registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    else if (is_new((uintptr_t)registers[REG_RIP]))
        siglongjmp(out, 1);
}

static void range_in_steps(const char *name, int most)
{
    steps_left = most;
    armed = 1;
    atomic_signal_fence(memory_order_seq_cst);
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | TRAP_FLAG);
    range(name);
    armed = 0;
}

static struct nvt_ring *own_ring(void)
{
    char pattern[600];
    glob_t found;
    struct stat status;
    snprintf(pattern, sizeof(pattern), "%s/" NVT_RING_PREFIX "*", getenv(NVT_SESSION_ENV));
    int file = glob(pattern, 0, NULL, &found) ? -1 : open(found.gl_pathv[0], O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status))
        return NULL;
    void *ring = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, file, 0);
    return ring == MAP_FAILED ? NULL : ring;
}

/* Ranges until the next record goes to this place of the ring, or so: the recorder draws on it. */
static long ranges_up_to(struct nvt_ring *ring, uint32_t place)
{
    struct nvt_slot *slots = nvt_ring_slots(ring);
    for (long done = 0;; done++) {
        uint64_t next = atomic_load(&ring->tail), last = next + ring->slots;
        while (next < last && atomic_load(&slots[next % ring->slots].word))
            next++;
        if ((next + 1 - place) % ring->slots < 2 || done == ring->slots)
            return done;
        range("on the way");
    }
}

/* Jumps out of events before each of their instructions in turn, at the ring's end and in its middle, and out of what
 * sets the thread right behind that. Prints how many ranges there were on the way, and how many jumps. */
static int steps(void)
{
    struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};
    volatile long way = 0, jumped = 0;
    range("first");
    struct nvt_ring *ring = own_ring();
    if (!ring)
        return 99;
    for (int i = 0; i < 4 * 4096; i++) /* until it grows no more */
        range("before");
    sigaction(SIGTRAP, &action, NULL);
    for (volatile int i = 0; i < TRIES; i++) {
        if (i % 2)
            way += ranges_up_to(ring, i % 8 < 6 ? 0 : ring->slots / 2);
        if (!sigsetjmp(out, 1))
            range_in_steps("within reach", STEPS);
        else
            jumped++;
        armed = 0;
    }
    for (int i = 0; i < 1000; i++)
        range("after all jumps");
    printf("%ld %ld\n", way, jumped);
    return 0;
}
/* More names than a thread keeps, once each. */
static void use_names(void)
{
    char name[16];
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof(name), "name %d", i);
        range(name);
    }
}

/* Jumps out of events whose names take the places of others, and then those are used. Prints how many times. */
static int names(void)
{
    struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};
    volatile int used = 1;
    char name[16];
    use_names();
    sigaction(SIGTRAP, &action, NULL);
    for (volatile int i = 0; i < NAME_TRIES; i++) {
        snprintf(name, sizeof(name), "other %d", i);
        if (!sigsetjmp(out, 1))
            range_in_steps(name, NAME_STEPS);
        armed = 0;
        use_names();
        used++;
    }
    printf("%d\n", used);
    return 0;
}
#else
static int steps(void)
{
    return 77;
}

static int names(void)
{
    return 77;
}
#endif

/* --- payloads --------------------------------------------------------------------------------- */

/* Ranges with a payload at their end, more than there is room for when none may be waited for. */
static int popped_payloads(void)
{
    static const nvtxPayloadSchemaEntry_t entry = {.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT64,
                                                   .name = "value"};
    nvtxDomainHandle_t domain = nvtxDomainCreateA("payloads");
    uint64_t value = 7;
    nvtxPayloadData_t payload = {register_schema(domain, &entry, 1), sizeof(value), &value};
    nvtxEventAttributes_t inner = {.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .messageType = NVTX_MESSAGE_TYPE_ASCII};
    inner.message.ascii = "inner";
    for (int i = 0; i < 20000; i++) {
        for (int depth = 0; depth < 10; depth++)
            nvtxDomainRangePushEx(domain, &inner);
        for (int depth = 0; depth < 10; depth++)
            nvtxRangePopPayload(domain, &payload, 1);
    }
    return 0;
}

/* A schema of many entries, registered on the smallest stack that there is, and a range that has it;
 * then a payload that is too large to keep. */
static void *uses_large_schema(void *unused)
{
    enum { ENTRIES = 1500, TOO_LARGE = 100000 };
    nvtxDomainHandle_t domain = nvtxDomainCreateA("large");
    nvtxPayloadSchemaEntry_t *entries = calloc(ENTRIES, sizeof(*entries));
    uint64_t *values = calloc(ENTRIES, sizeof(*values));
    char(*names)[24] = calloc(ENTRIES, sizeof(*names));
    static char large[TOO_LARGE];
    if (!entries || !values || !names)
        abort();
    for (int i = 0; i < ENTRIES; i++) {
        snprintf(names[i], sizeof(names[i]), "a long name %d", i);
        entries[i] =
            (nvtxPayloadSchemaEntry_t){.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT64, .name = names[i]};
        values[i] = (uint64_t)i;
    }
    uint64_t schema = register_schema(domain, entries, ENTRIES);
    nvtxPayloadData_t payload = {schema, ENTRIES * sizeof(*values), values};
    nvtxRangePushPayload(domain, &payload, 1);
    nvtxDomainRangePop(domain);
    payload = (nvtxPayloadData_t){NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, TOO_LARGE, large};
    nvtxRangePushPayload(domain, &payload, 1);
    nvtxDomainRangePop(domain);
    free(entries);
    free(values);
    free(names);
    return schema ? unused : large;
}

static int large_schema(void)
{
    range("first");
    return run(uses_large_schema, NULL, SMALLEST_STACK);
}

/* --- threads that follow each other --- */

#define FOLLOWERS 300

/* Its range has one of seven names; every fifth leaves a range open, and every seventh has many. */
static void *follows(void *number)
{
    char name[16];
    const int i = (int)(intptr_t)number;
    snprintf(name, sizeof(name), "follower %d", i);
    pthread_setname_np(pthread_self(), name);
    snprintf(name, sizeof(name), "work %d", i % 7);
    for (int k = 0; k < (i % 7 ? 1 : 500); k++)
        range(name);
    if (i % 5 == 0)
        nvtxRangePushA("left open");
    return number;
}

static size_t rings(void)
{
    char pattern[600];
    glob_t found;
    snprintf(pattern, sizeof(pattern), "%s/" NVT_RING_PREFIX "*", getenv(NVT_SESSION_ENV));
    size_t count = glob(pattern, 0, NULL, &found) ? 0 : found.gl_pathc;
    globfree(&found);
    return count;
}

/* Prints how many buffers there have been at the end. Before and behind a fork, and eight at a time. */
static int followers(void)
{
    pthread_t threads[8];
    range("first");
    for (int i = 0; i < FOLLOWERS; i++)
        if (run(follows, (void *)(intptr_t)i, 0))
            return 99;
    printf("%zu rings\n", rings());
    (void)fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        return 99;
    for (int i = 0; i < FOLLOWERS; i += 8) {
        for (int k = 0; k < 8; k++)
            if (pthread_create(&threads[k], NULL, follows, (void *)(intptr_t)(i + k)))
                return 99;
        for (int k = 0; k < 8; k++)
            pthread_join(threads[k], NULL);
    }
    int status = 0;
    return child && (waitpid(child, &status, 0) != child || status) ? 98 : 0;
}

static pthread_barrier_t all_there;

static void *in_a_crowd(void *unused)
{
    nvtxRangePushA("in a crowd");
    pthread_barrier_wait(&all_there);
    nvtxRangePop();
    return unused;
}

/* 400 threads at a time. */
static int crowd(void)
{
    static pthread_t threads[400];
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) || pthread_attr_setstacksize(&attributes, 256 << 10))
        return 99;
    pthread_barrier_init(&all_there, NULL, NVT_COUNT_OF(threads));
    for (size_t i = 0; i < NVT_COUNT_OF(threads); i++)
        if (pthread_create(&threads[i], &attributes, in_a_crowd, NULL))
            return 99;
    for (size_t i = 0; i < NVT_COUNT_OF(threads); i++)
        pthread_join(threads[i], NULL);
    return 0;
}

/* No room for a buffer, and then there is. Of 6 events, 4 are lost: the last pop ends nothing. */
static int homeless(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit))
        return 99;
    const struct rlimit none = {4096, limit.rlim_max};
    if (setrlimit(RLIMIT_FSIZE, &none))
        return 99;
    nvtxRangePushA("lost");
    range("lost");
    usleep(30000);
    if (setrlimit(RLIMIT_FSIZE, &limit))
        return 99;
    range("seen");
    nvtxRangePop();
    nvtxRangePop();
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } ways[] = {{"destructors", destructors},
                {"signals", signals},
                {"jumps", jumps},
                {"steps", steps},
                {"names", names},
                {"large_schema", large_schema},
                {"popped_payloads", popped_payloads},
                {"crowd", crowd},
                {"followers", followers},
                {"homeless", homeless}};
    const char *how = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < NVT_COUNT_OF(ways); i++)
        if (!strcmp(how, ways[i].name))
            return ways[i].run();
    return 99;
}
