/*
 * CUPTI without a collector: the driver loads this library in the place of ours (CUDA_INJECTION64_PATH), it asks CUPTI for what
 * CUPTI_ALONE says by the collector's own functions, and throws away what comes. What a program takes longer with it than
 * without, no collector with CUPTI takes less than.
 *
 * CUPTI_ALONE, words with a comma between them. What is asked for, one of
 *   loaded    nothing
 *   records   kernels, copies and memsets, without the calls that launched them: nothing links them to a range
 *   kernel, full   as at those levels of --trace
 * and how, of
 *   subscribed  with the callbacks of the collector's subscriber, which are of calls that end a context
 *   plain     CUPTI's own clock and its own numbers of threads, and buffers that it clears itself
 *   pinned    times that devices write go to page-locked memory of the host
 *   late      nothing until the program calls cupti_alone_begin() in here
 * A line to stderr where something is not as it was asked for; the program runs in any case. At its end one more: how many bytes
 * of records came.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../collectors/inject/cupti_trace.h"
#include "../../collectors/inject/os.h"
#include "../../collectors/ring.h"
#include "../../lib/clock.h"
#include "../../lib/count_of.h"

#define BUFFER_BYTES ((size_t)256 << 10) /* the collector's */

__attribute__((visibility("default"))) int InitializeInjection(void);

static struct nvt_cupti_api api;
static _Atomic size_t came;

static void complain(const char *what, const char *why)
{
    fprintf(stderr, "cupti_alone: %s%s%s\n", what, why[0] ? ": " : "", why);
}

/* For what finds CUPTI: nothing of the operating system's is recorded here. */
void nvt_os_own_library(const void *address)
{
    (void)address;
}

static uint64_t CUPTIAPI timestamp(void)
{
    return (uint64_t)nvt_monotonic_ns();
}

/* Clear, as CUPTI is told that they are. */
static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *most)
{
    *size = BUFFER_BYTES;
    *buffer = calloc(1, BUFFER_BYTES);
    *most = 0;
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                 size_t valid)
{
    (void)context, (void)stream, (void)size;
    atomic_fetch_add(&came, valid);
    free(buffer);
}

static void CUPTIAPI on_call(void *context, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                             const void *data)
{
    (void)context, (void)domain, (void)id, (void)data;
}

/* Whether `wish`, words with a comma between them, has this one. */
static int has_word(const char *wish, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = wish; (at = strstr(at, word)); at += length)
        if ((at == wish || at[-1] == ',') && (!at[length] || at[length] == ','))
            return 1;
    return 0;
}

static void set_up(const char *wish)
{
    CUpti_SubscriberHandle subscriber;
    uint8_t yes = 1;
    size_t size = sizeof(yes);
    if (has_word(wish, "subscribed")) {
        if (api.cuptiSubscribe(&subscriber, on_call, NULL) != CUPTI_SUCCESS)
            complain("no subscription", "");
        nvt_cupti_listen_to_endings(&api, subscriber);
        nvt_cupti_listen_to_state(&api, subscriber);
    }
    if (has_word(wish, "pinned") &&
        api.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, &size,
                                      &yes) != CUPTI_SUCCESS)
        complain("no page-locked memory", "");
    if (!has_word(wish, "plain") && !nvt_cupti_take_zeros(&api))
        complain("CUPTI clears buffers itself", "");
    if (api.cuptiActivityRegisterCallbacks(give_buffer, take_buffer) != CUPTI_SUCCESS)
        complain("CUPTI takes no buffers", "");
    if (!has_word(wish, "plain") &&
        (api.cuptiActivityRegisterTimestampCallback(timestamp) != CUPTI_SUCCESS ||
         api.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM) != CUPTI_SUCCESS))
        complain("CUPTI has a clock or numbers of threads of its own", "");
}

static void ask(const char *wish, int late)
{
    static const CUpti_ActivityKind records[] = {
        CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
        CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET};
    char refused[512] = "";
    if (has_word(wish, "records")) {
        for (size_t i = 0; i < NVT_COUNT_OF(records); i++)
            if (api.cuptiActivityEnable(records[i]) != CUPTI_SUCCESS)
                complain("CUPTI refuses a kind of record", "");
    } else if (has_word(wish, "kernel") || has_word(wish, "full")) {
        const int all = has_word(wish, "full");
        nvt_cupti_levels(&api, all ? NVT_TRACE_FULL : NVT_TRACE_KERNEL, 1, late, refused,
                         sizeof(refused));
    } else if (!has_word(wish, "loaded")) {
        complain("nothing is asked for", wish);
    }
    if (refused[0])
        complain("CUPTI refuses", refused);
}

__attribute__((visibility("default"))) void cupti_alone_begin(void);

void cupti_alone_begin(void)
{
    ask(getenv("CUPTI_ALONE"), 1);
}

static void finish(void)
{
    api.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    fprintf(stderr, "cupti_alone: %zu bytes of records\n", atomic_load(&came));
}

/* The driver's own threads, and the program's signals for the program's: as the collector has it. */
int InitializeInjection(void)
{
    const char *wish = getenv("CUPTI_ALONE");
    char why[512] = "";
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (nvt_cupti_load(&api, why, sizeof(why))) {
        complain("no CUPTI", why);
    } else {
        set_up(wish ? wish : "");
        if (!wish || !has_word(wish, "late"))
            ask(wish ? wish : "", 0);
        (void)atexit(finish);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return 1;
}
