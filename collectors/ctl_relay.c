#include "ctl_relay.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/count_of.h"
#include "ctl_dump.h"
#include "ctl_standing.h"

#define PATIENCE_NS INT64_C(10000000000)

static const char *const verbs[] = {"status", "start",   "stop", "steps",
                                    "fix",    "stepped", "mark", "dump"};

static int fail(const struct nvt_error *err, char *text, size_t size)
{
    nvt_error_text(err, text, size);
    return -1;
}

static int dump(const struct nvt_ctl_session *session, const char *words, char *text, size_t size)
{
    struct nvt_error err = NVT_ERROR_INIT;
    char name[PATH_MAX];
    if (nvt_ctl_dump(session, NULL, strtoll(words, NULL, 10), PATIENCE_NS, name, sizeof(name),
                     &err))
        return fail(&err, text, size);
    snprintf(text, size, "%s", name);
    return 0;
}

/* Of a standing session without a recorder. 0 or -1 with the text of the answer, 1: it has one now, which is to be asked. */
static int see_to_recorder(struct nvt_ctl_session *session, const char *verb, const char *words,
                           char *text, size_t size)
{
    char trace[PATH_MAX];
    struct nvt_error err = NVT_ERROR_INIT;
    const int is_start = !strcmp(verb, "start");
    if (!strcmp(verb, "status")) {
        nvt_ctl_standing_status(session, text, size);
        return 0;
    }
    if (!strcmp(verb, "stop")) {
        snprintf(text, size, "not recording");
        return 0;
    }
    if (!is_start && strcmp(verb, "steps") != 0)
        return 1;
    if (nvt_ctl_standing_start(session, is_start && *words ? words : NULL, 0, is_start, trace,
                               sizeof(trace), &err))
        return fail(&err, text, size);
    if (!is_start)
        return 1;
    snprintf(text, size, "recording to %s", trace);
    return 0;
}

int nvt_ctl_relay(void *context, const char *request, char *text, size_t size)
{
    char verb[16];
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_ctl_session session;
    const size_t length = strcspn(request, " ");
    const char *words = request + length + (request[length] == ' ');
    size_t i = 0;
    snprintf(verb, sizeof(verb), "%.*s", length < sizeof(verb) ? (int)length : 15, request);
    while (i < NVT_COUNT_OF(verbs) && strcmp(verb, verbs[i]) != 0)
        i++;
    if (i == NVT_COUNT_OF(verbs)) {
        snprintf(text, size, "the recorder does not know '%.32s'", request);
        return -1;
    }
    if (nvt_ctl_session_of(context, &session, &err))
        return fail(&err, text, size);
    const int status = session.recorder ? 1 : see_to_recorder(&session, verb, words, text, size);
    if (status <= 0)
        return status;
    if (!strcmp(verb, "dump"))
        return dump(&session, words, text, size);
    if (!strcmp(verb, "start") && *words) {
        snprintf(text, size, "recorder %d writes its trace already: --output is for a new one",
                 session.recorder);
        return -1;
    }
    const int failed = nvt_ctl_ask(&session, request, PATIENCE_NS, text, size, &err);
    return failed < 0 ? fail(&err, text, size) : failed;
}
