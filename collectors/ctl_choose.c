#include "ctl_choose.h"

#include <stdlib.h>
#include <string.h>

#include "attached.h"
#include "ctl_standing.h"

static int is_in_use(const struct nvt_ctl_session *session)
{
    return session->recorder || nvt_attached(session->folder, NULL, 0);
}

static int was_in_use(const struct nvt_ctl_session *session)
{
    return !session->is_unused;
}

/* Those alone of which that holds. Returns how many. */
static size_t keep(struct nvt_ctl_session *sessions, size_t count,
                   int (*holds)(const struct nvt_ctl_session *session))
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (holds(&sessions[i]))
            sessions[kept++] = sessions[i];
    return kept;
}

static size_t count_of(const struct nvt_ctl_session *sessions, size_t count,
                       int (*holds)(const struct nvt_ctl_session *session))
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += holds(&sessions[i]) != 0;
    return found;
}

static int choose_recorder(const char *which, struct nvt_ctl_session *sessions, size_t *count,
                           struct nvt_error *err)
{
    char *end;
    const long recorder = strtol(which, &end, 10);
    if (end == which || *end)
        return nvt_fail(err, "--session %s: must be a process, a folder or all", which);
    size_t i = 0;
    while (i < *count && (!sessions[i].recorder || sessions[i].recorder != recorder))
        i++;
    if (i == *count)
        return nvt_fail(err, "no recording has the recorder %s; nvtally ctl ps lists them", which);
    sessions[0] = sessions[i];
    *count = 1;
    return 0;
}

static int choose_used(struct nvt_ctl_session *sessions, size_t *count, struct nvt_error *err)
{
    const size_t all = *count;
    const int are_in_use = count_of(sessions, all, is_in_use) > 0;
    *count = keep(sessions, all, are_in_use ? is_in_use : was_in_use);
    if (!*count && all)
        return nvt_fail(err,
                        "no recording is going on: no program has begun with the variables of "
                        "nvtally env (--session FOLDER begins all the same; nvtally ctl ps lists "
                        "them)");
    return *count ? 0 : nvt_fail(err, "no recording is going on");
}

int nvt_ctl_choose(const char *which, struct nvt_ctl_session *out, size_t most, size_t *count,
                   struct nvt_error *err)
{
    char folder[512];
    if (!which)
        which = nvt_ctl_standing_own(folder, sizeof(folder));
    if (which && strchr(which, '/')) {
        *count = 1;
        return nvt_ctl_session_of(which, &out[0], err);
    }
    const size_t found = nvt_ctl_sessions(out, most);
    *count = found < most ? found : most;
    if (which && strcmp(which, "all") != 0)
        return choose_recorder(which, out, count, err);
    if (choose_used(out, count, err))
        return -1;
    if (!which && *count > 1)
        return nvt_fail(err,
                        "%zu recordings are going on: --session says which one, nvtally ctl ps "
                        "lists them",
                        *count);
    return 0;
}
