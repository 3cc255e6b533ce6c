/*
 * Ranges whose CPU counts are known: counted FILE [deny|deny-all|kill]. What the system says of the thread is read outside of each
 * range and inside of it, which is as much as it has at most and at least, and written to FILE: a line a range, its name, five counts at
 * least, five at most. tests/test_cpu_counters.c compares. With "deny" getrusage is refused, with "deny-all" the
 * thread's clock, too; with "kill" the program kills itself within a range.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "expect.h"
#include "../../lib/count_of.h"

#define PAGE 4096u

struct counts {
    /* CPU time in ns, minor and major faults, voluntary and involuntary switches */
    long long of[5];
};

static FILE *truth;
static int is_denied;

static struct counts look(void)
{
    struct rusage usage;
    struct timespec now;
    if (is_denied || getrusage(RUSAGE_THREAD, &usage) ||
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now))
        return (struct counts){{0}};
    return (struct counts){{now.tv_sec * 1000000000LL + now.tv_nsec, usage.ru_minflt,
                            usage.ru_majflt, usage.ru_nvcsw, usage.ru_nivcsw}};
}

static void put(struct counts from, struct counts to)
{
    for (int i = 0; i < 5; i++)
        fprintf(truth, " %lld", to.of[i] - from.of[i]);
}

/* A range around what `work` does. */
static void within(const char *name, void (*work)(void))
{
    const struct counts outer = look();
    nvtxRangePushA(name);
    const struct counts inner = look();
    work();
    const struct counts end = look();
    nvtxRangePop();
    const struct counts last = look();
    flockfile(truth);
    fputs(name, truth);
    put(inner, end);
    put(outer, last);
    fputc('\n', truth);
    fflush(truth);
    funlockfile(truth);
}

static void touch(size_t pages)
{
    char *memory =
        mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(memory != MAP_FAILED && !madvise(memory, pages * PAGE, MADV_NOHUGEPAGE));
    for (size_t i = 0; i < pages; i++)
        ((volatile char *)memory)[i * PAGE] = 1;
    munmap(memory, pages * PAGE);
}

static void touch_300(void)
{
    touch(300);
}

static void wait_20(void)
{
    const struct timespec pause = {.tv_nsec = 200000};
    for (int i = 0; i < 20; i++)
        nanosleep(&pause, NULL);
}

/* Of its own, as the thread may not run all the time. */
static void compute(void)
{
    struct timespec now;
    while (!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) && now.tv_nsec % 16000000 < 15000000)
        continue;
}

static int cores[2] = {-1, -1};

/* The first two that the thread may run on; 0: there is one alone. */
static int find_cores(void)
{
    cpu_set_t set;
    int count = 0;
    if (sched_getaffinity(0, sizeof(set), &set))
        return 0;
    for (int i = 0; i < CPU_SETSIZE && count < 2; i++)
        if (CPU_ISSET((size_t)i, &set))
            cores[count++] = i;
    return count == 2;
}

static void run_on(int core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)core, &set);
    EXPECT(!sched_setaffinity(0, sizeof(set), &set));
}

/* To and fro, 20 times; the thread is on the second one before and after. */
static void move_20(void)
{
    for (int i = 0; i < 20; i++)
        run_on(cores[i % 2]);
}

static void stay(void)
{
    run_on(cores[1]);
}

static void move(void)
{
    cpu_set_t all;
    EXPECT(!sched_getaffinity(0, sizeof(all), &all));
    run_on(cores[1]);
    within("moves", move_20);
    within("stays", stay);
    EXPECT(!sched_setaffinity(0, sizeof(all), &all));
}

static void nothing(void)
{
}

static void *other(void *argument)
{
    within("other thread", touch_300);
    return argument;
}

static void join(void)
{
    pthread_t thread;
    EXPECT(!pthread_create(&thread, NULL, other, NULL));
    EXPECT(!pthread_join(thread, NULL));
}

static void have_child(void)
{
    pid_t child = fork();
    if (!child) {
        within("child", touch_300);
        _exit(failures);
    }
    int status;
    EXPECT(waitpid(child, &status, 0) == child && !status);
}

static void nest(void)
{
    within("faults", touch_300);
    within("again", touch_300);
    within("waits", wait_20);
    within("computes", compute);
    for (int i = 0; i < 100; i++)
        within("empty", nothing);
}

/* Payloads of the program's own: a number, and one of a schema. */
static void carry(void)
{
    static const nvtxPayloadSchemaEntry_t entry = {.type = NVTX_PAYLOAD_ENTRY_TYPE_INT32,
                                                   .name = "answer"};
    const nvtxPayloadSchemaAttr_t schema = {
        .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
        .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
        .entries = &entry,
        .numEntries = 1,
        .payloadStaticSize = 4};
    nvtxDomainHandle_t domain = nvtxDomainCreateA("of its own");
    const uint64_t id = nvtxPayloadSchemaRegister(domain, &schema);
    const int32_t answer = 42;
    nvtxPayloadData_t data = {id, sizeof(answer), &answer};
    nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
                                        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                        .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                        .payloadType = NVTX_PAYLOAD_TYPE_INT64};
    attributes.message.ascii = "carries a number";
    attributes.payload.llValue = 7;
    nvtxDomainRangePushEx(domain, &attributes);
    nvtxDomainRangePop(domain);
    attributes.message.ascii = "carries a schema";
    attributes.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    attributes.reserved0 = 1;
    attributes.payload.ullValue = (uint64_t)(uintptr_t)&data;
    nvtxDomainRangePushEx(domain, &attributes);
    nvtxDomainRangePop(domain);
    /* Crosswise: neither lies in the other. */
    nvtxRangePushA("crossing");
    nvtxRangePushA("first");
    attributes.payloadType = NVTX_PAYLOAD_UNKNOWN;
    attributes.message.ascii = "second";
    nvtxDomainRangePushEx(domain, &attributes);
    nvtxRangePop();
    nvtxDomainRangePop(domain);
    nvtxRangePop();
}

/* The system refuses these calls from now on, as a sandbox may. */
static void deny(unsigned first, unsigned second)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, first, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, second, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {NVT_COUNT_OF(filter), filter};
    EXPECT(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    EXPECT(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
    is_denied = 1;
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[2] : "";
    truth = fopen(argc > 1 ? argv[1] : "/dev/null", "w");
    if (!truth)
        return 2;
    if (!strcmp(how, "deny"))
        deny(SYS_getrusage, SYS_getrusage);
    if (!strcmp(how, "deny-all"))
        deny(SYS_getrusage, SYS_clock_gettime);
    errno = 77;
    nvtxRangePushA("errno");
    nvtxRangePop();
    EXPECT(errno == 77);
    within("all", nest);
    if (!*how) {
        within("joins", join);
        within("forks", have_child);
        if (find_cores())
            move();
        carry();
    }
    nvtxRangePushA("open");
    within("before the end", touch_300);
    if (!strcmp(how, "kill"))
        raise(SIGKILL);
    nvtxRangePop();
    return failures != 0;
}
