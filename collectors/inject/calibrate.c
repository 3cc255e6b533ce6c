#include "calibrate.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include "../../lib/count_of.h"
#include "counts.h"
#include "events.h"
#include "modules.h"
#include "session.h"
#include "tasks.h"

#define PAIRS  128 /* a round */
#define ROUNDS 15  /* an odd number: the median is one of them */
#define WARMUP 2
#define SLOTS  2048 /* 128 pairs take 512, names and domain a few more */

/* What the loops run on. */
struct bench {
    struct nvt_thread thread;
    char ring[NVT_RING_HEADER];
    struct nvt_slot slots[SLOTS];
    struct nvtxDomainRegistration_st domain;
};

/* The callbacks that this session uses. */
struct calls {
    int (*push)(const char *);
    int (*pop)(void);
    int (*domain_push)(nvtxDomainHandle_t, const nvtxEventAttributes_t *);
    int (*domain_pop)(nvtxDomainHandle_t);
    nvtxRangeId_t (*start)(const char *);
    void (*end)(nvtxRangeId_t);
    void (*mark)(const char *);
};

static NvtxFunctionPointer find(const struct nvt_module *module, unsigned id)
{
    for (size_t i = 0; i < module->count; i++)
        if (module->callbacks[i].id == id)
            return module->callbacks[i].function;
    return NULL;
}

static struct calls find_calls(void)
{
    struct nvt_module core = nvt_module_short(NVTX_CB_MODULE_CORE);
    struct nvt_module core2 = nvt_module_short(NVTX_CB_MODULE_CORE2);
    return (struct calls){
        .push = (int (*)(const char *))find(&core, NVTX_CBID_CORE_RangePushA),
        .pop = (int (*)(void))find(&core, NVTX_CBID_CORE_RangePop),
        .domain_push = (int (*)(nvtxDomainHandle_t, const nvtxEventAttributes_t *))find(
            &nvt_module_core2, NVTX_CBID_CORE2_DomainRangePushEx),
        .domain_pop = (int (*)(nvtxDomainHandle_t))find(&core2, NVTX_CBID_CORE2_DomainRangePop),
        .start = (nvtxRangeId_t(*)(const char *))find(&nvt_module_core, NVTX_CBID_CORE_RangeStartA),
        .end = (void (*)(nvtxRangeId_t))find(&nvt_module_core, NVTX_CBID_CORE_RangeEnd),
        .mark = (void (*)(const char *))find(&nvt_module_core, NVTX_CBID_CORE_MarkA),
    };
}

static void loop_names(const struct calls *calls, struct bench *bench)
{
    (void)bench;
    for (int i = 0; i < PAIRS; i++) {
        calls->push("calibrate");
        calls->pop();
    }
}

static void loop_attributes(const struct calls *calls, struct bench *bench)
{
    nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
                                        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                        .category = 1,
                                        .colorType = NVTX_COLOR_ARGB,
                                        .messageType = NVTX_MESSAGE_TYPE_ASCII};
    attributes.message.ascii = "calibrate";
    for (int i = 0; i < PAIRS; i++) {
        calls->domain_push(&bench->domain, &attributes);
        calls->domain_pop(&bench->domain);
    }
}

static void loop_start_end(const struct calls *calls, struct bench *bench)
{
    (void)bench;
    for (int i = 0; i < PAIRS; i++)
        calls->end(calls->start("calibrate"));
}

static void loop_marks(const struct calls *calls, struct bench *bench)
{
    (void)bench;
    for (int i = 0; i < PAIRS; i++)
        calls->mark("calibrate");
}

/* `last`: slots of the record that ends a pair, 0: there is none. */
static const struct loop {
    void (*run)(const struct calls *calls, struct bench *bench);
    unsigned cost, last;
} loops[] = {
    {loop_names, NVT_COST_PUSH_POP, 1},
    {loop_attributes, NVT_COST_ATTRIBUTES, 1},
    {loop_start_end, NVT_COST_START_END, 2},
    {loop_marks, NVT_COST_MARK, 0},
};

/* One round: ps a pair, and of these within it. */
static void run_round(const struct loop *loop, const struct calls *calls, struct bench *bench,
                      uint32_t *pair, uint32_t *inside)
{
    enum nvt_clock clock = bench->thread.clock;
    const struct nvt_slot *slots = bench->slots;
    bench->thread.next = bench->slots;
    int64_t start = nvt_monotonic_ns();
    uint64_t ticks = nvt_ticks(clock);
    loop->run(calls, bench);
    ticks = nvt_ticks(clock) - ticks;
    uint64_t ps = (uint64_t)(nvt_monotonic_ns() - start) * 1000 / PAIRS;
    uint64_t stride = (uint64_t)(bench->thread.next - slots) / PAIRS, within = 0;
    for (uint64_t i = 0; i < PAIRS && loop->last; i++)
        within += slots[(i + 1) * stride - loop->last].ticks - slots[i * stride].ticks;
    *pair = ps < NVT_COST_MOST ? (uint32_t)ps : NVT_COST_MOST;
    *inside = ticks ? (uint32_t)((double)*pair * (double)within / (double)ticks) : 0;
}

static uint32_t median(uint32_t *values)
{
    for (int i = 1; i < ROUNDS; i++)
        for (int at = i; at && values[at - 1] > values[at]; at--) {
            uint32_t other = values[at];
            values[at] = values[at - 1];
            values[at - 1] = other;
        }
    return values[ROUNDS / 2];
}

static void measure(struct bench *bench, struct nvt_costs *costs)
{
    struct calls calls = find_calls();
    uint32_t pair[ROUNDS], inside[ROUNDS];
    for (size_t i = 0; i < NVT_COUNT_OF(loops); i++) {
        for (int round = -WARMUP; round < ROUNDS; round++)
            run_round(&loops[i], &calls, bench, &pair[round < 0 ? 0 : round],
                      &inside[round < 0 ? 0 : round]);
        costs->ps[loops[i].cost] = median(pair);
        if (loops[i].last)
            costs->ps[loops[i].cost + 1] = median(inside);
    }
}

/* The loops leave counts out: each end of a push/pop pair reads them once, of which the second time is within the pair. */
static void add_counts(struct nvt_costs *costs)
{
    const uint32_t ps = nvt_counts_cost();
    costs->ps[NVT_COST_PUSH_POP] += 2 * ps;
    costs->ps[NVT_COST_PUSH_POP_INSIDE] += ps;
    costs->ps[NVT_COST_ATTRIBUTES] += 2 * ps;
    costs->ps[NVT_COST_ATTRIBUTES_INSIDE] += ps;
    costs->ps[NVT_COST_FAULT] = nvt_counts_fault_cost();
}

void nvt_calibrate(struct nvt_costs *costs)
{
    sigset_t all, before;
    struct bench *bench =
        mmap(NULL, sizeof(*bench), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bench == MAP_FAILED)
        return;
    struct nvt_thread *thread = &bench->thread;
    thread->slots = thread->next = bench->slots;
    thread->size = SLOTS;
    thread->limit = thread->open_limit = bench->slots + SLOTS;
    thread->clock = nvt_session.control->clock;
    thread->calibrates = 1;
    /* So that a session that sleeps records them nevertheless (dormant.h). */
    thread->nests[0].depth = thread->nests[1].depth = 1;
    for (unsigned i = 0; i < NVT_POINTERS; i++)
        thread->pointers[i].text = NVT_NO_TEXT;
    bench->domain.number = 1;
    /* What a signal handler records in between would be lost with the bench. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    struct nvt_thread *own = nvt_self;
    nvt_self = thread;
    measure(bench, costs);
    if (nvt_counts_are_asked)
        add_counts(costs);
    nvt_self = own;
    nvt_tasks_free(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    munmap(bench, sizeof(*bench));
}
