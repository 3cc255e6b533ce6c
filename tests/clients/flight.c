/*
 * Ranges of every kind for some seconds, of three threads: flight MILLISECONDS [RANGES A STEP]. Some are open from the first moment
 * to the last, some begin in one thread and end in another, so that wherever a trace is cut some lie across.
 */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PLACES 8

static _Atomic uint64_t handed[PLACES]; /* ranges that the other thread ends */
static _Atomic int over;
static nvtxDomainHandle_t domain;
static long kernels = 50;

static void sleep_us(long us)
{
    nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
}

static nvtxEventAttributes_t attributes_of(const char *name, uint64_t number)
{
    nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
                                        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                        .category = 3,
                                        .colorType = NVTX_COLOR_ARGB,
                                        .color = 0xff00ff00u,
                                        .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                        .payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64};
    attributes.message.ascii = name;
    attributes.payload.ullValue = number;
    return attributes;
}

/* Steps that are numbered, with short ranges within. */
static void step(uint64_t number)
{
    nvtxEventAttributes_t attributes = attributes_of("step", number);
    nvtxDomainRangePushEx(domain, &attributes);
    nvtxRangePushA("forward");
    for (long i = 0; i < kernels; i++) {
        nvtxRangePushA("kernel");
        nvtxRangePop();
    }
    sleep_us(700);
    nvtxRangePop();
    nvtxMarkA("between");
    if (!atomic_load(&handed[number % PLACES])) {
        attributes = attributes_of("request", number);
        atomic_store(&handed[number % PLACES], nvtxDomainRangeStartEx(domain, &attributes));
    }
    nvtxDomainRangePop(domain);
}

static void *train(void *argument)
{
    (void)argument;
    nvtxRangePushA("epoch");
    for (uint64_t number = 0; !atomic_load(&over); number++) {
        if (number % 100 == 0)
            nvtxRangePushA("hundred");
        step(number);
        if (number % 100 == 99)
            nvtxRangePop();
    }
    return NULL; /* what is open stays so */
}

static void *serve(void *argument)
{
    (void)argument;
    for (unsigned i = 0; !atomic_load(&over); i++) {
        uint64_t range = atomic_exchange(&handed[i * 5 % PLACES], 0);
        if (range)
            nvtxDomainRangeEnd(domain, range);
        sleep_us(900);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    long ms = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    kernels = argc > 2 ? strtol(argv[2], NULL, 10) : kernels;
    domain = nvtxDomainCreateA("train");
    nvtxRangePushA("main");
    nvtxRangeStartA("whole");
    if (pthread_create(&threads[0], NULL, train, NULL) ||
        pthread_create(&threads[1], NULL, serve, NULL))
        return 99;
    sleep_us(ms * 1000);
    atomic_store(&over, 1);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    nvtxRangePop();
    return 0;
}
