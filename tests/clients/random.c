/*
 * Pushes, pops, starts, ends and marks of some threads and domains, at random but the same ones in the same order each time:
 * random SEED THREADS EVENTS. Each that begins something has its number as payload; every sixth is called "X".
 */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { DOMAINS = 4, THREADS_MOST = 8, OPEN_MOST = 16 };

static nvtxDomainHandle_t domains[DOMAINS]; /* the first is the default one */
static int depth[THREADS_MOST][DOMAINS];
static struct {
    nvtxRangeId_t id;
    nvtxDomainHandle_t domain;
} open_ranges[OPEN_MOST];
static int open_count;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static uint64_t state, number, events;
static unsigned threads, turn;

static unsigned any(unsigned count)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(state >> 33) % count;
}

static void push(unsigned self, int at, const nvtxEventAttributes_t *attributes)
{
    depth[self][at]++;
    if (!at && any(2))
        nvtxRangePushA(attributes->message.ascii);
    else
        nvtxDomainRangePushEx(domains[at], attributes);
}

static void pop(unsigned self, int at)
{
    /* Now and then one too many. */
    if (!depth[self][at] && any(8))
        return;
    depth[self][at] -= depth[self][at] > 0;
    if (at)
        nvtxDomainRangePop(domains[at]);
    else
        nvtxRangePop();
}

static void start(int at, const nvtxEventAttributes_t *attributes)
{
    if (open_count == OPEN_MOST)
        return;
    open_ranges[open_count].domain = domains[at];
    open_ranges[open_count++].id = nvtxDomainRangeStartEx(domains[at], attributes);
}

/* Any of those that are open, whoever started it. */
static void end(void)
{
    if (!open_count)
        return;
    unsigned i = any((unsigned)open_count);
    nvtxDomainRangeEnd(open_ranges[i].domain, open_ranges[i].id);
    open_ranges[i] = open_ranges[--open_count];
}

static void act(unsigned self)
{
    char name[32];
    int at = (int)any(DOMAINS);
    nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
                                        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                        .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                        .payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64};
    snprintf(name, sizeof(name), "n%llu", (unsigned long long)number);
    attributes.message.ascii = any(6) ? name : "X";
    attributes.payload.ullValue = number;
    unsigned what = any(18);
    if (what < 6)
        push(self, at, &attributes);
    else if (what < 12)
        pop(self, at);
    else if (what < 14)
        start(at, &attributes);
    else if (what < 16)
        end();
    else
        nvtxDomainMarkEx(domains[at], &attributes);
}

static void *work(void *argument)
{
    unsigned self = (unsigned)(uintptr_t)argument;
    pthread_mutex_lock(&mutex);
    while (number < events) {
        if (turn != self) {
            pthread_cond_wait(&turned, &mutex);
            continue;
        }
        act(self);
        number++;
        turn = any(threads);
        pthread_cond_broadcast(&turned);
    }
    pthread_mutex_unlock(&mutex);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t ids[THREADS_MOST];
    if (argc < 4)
        return 98;
    state = strtoull(argv[1], NULL, 10) * 977 + 1;
    threads = (unsigned)strtoul(argv[2], NULL, 10) % (THREADS_MOST + 1);
    events = strtoull(argv[3], NULL, 10);
    for (int i = 1; i < DOMAINS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "d%d", i);
        domains[i] = nvtxDomainCreateA(name);
    }
    for (unsigned i = 0; i < threads; i++)
        if (pthread_create(&ids[i], NULL, work, (void *)(uintptr_t)i))
            return 99;
    for (unsigned i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    return 0;
}
