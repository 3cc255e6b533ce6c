#include "ctl_far.h"

#include <stdio.h>
#include <string.h>

#include "../lib/wrap.h"

int nvt_ctl_far_check(const struct nvt_ctl_far_wish *wish, struct nvt_error *err)
{
    if (wish->watch && wish->to)
        return nvt_fail(err, "--watch and --to exclude each other");
    if (wish->to && !wish->key)
        return nvt_fail(err, "--to needs --key FILE: that of record --listen");
    return wish->key && !wish->to ? nvt_fail(err, "--key is an option of ctl --to") : 0;
}

static void say_silent(const char *name, int64_t silent_ns)
{
    nvt_message(stderr, "%s has given no sign of life for %lld s and is left out", name,
                (long long)(silent_ns / 1000000000));
}

/* "node1" of "node1.123". */
static int is_meant(const char *name, const char *which)
{
    const size_t length = strlen(which), host = (size_t)(strrchr(name, '.') - name);
    return !strcmp(name, which) || (length == host && !memcmp(name, which, host));
}

static int select_some(const char *which, struct nvt_ctl_session *sessions, int count,
                       struct nvt_error *err)
{
    int kept = 0;
    if (!which || !strcmp(which, "all"))
        return count;
    for (int i = 0; i < count; i++)
        if (is_meant(sessions[i].name, which))
            sessions[kept++] = sessions[i];
    return kept
               ? kept
               : nvt_fail(err, "no session is called %.80s; nvtally ctl --watch FILE ps lists them",
                          which);
}

int nvt_ctl_far_choose(struct nvt_ctl_far *far, const struct nvt_ctl_far_wish *wish,
                       struct nvt_ctl_session *out, size_t most, struct nvt_error *err)
{
    if (wish->to) {
        far->key = nvt_ctl_key_read(wish->key, err);
        if (!far->key)
            return -1;
        nvt_ctl_net_reach(&far->net, far->key);
        return nvt_ctl_net_sessions(&far->net, wish->to, out, most, err);
    }
    if (nvt_ctl_file_reach(&far->file, wish->watch, err))
        return -1;
    const int count = nvt_ctl_file_sessions(&far->file, out, most, say_silent, err);
    if (count > (int)most)
        return nvt_fail(err, "%d sessions watch %.200s: at most %zu", count, wish->watch, most);
    return count <= 0 ? count : select_some(wish->session, out, count, err);
}

void nvt_ctl_far_free(struct nvt_ctl_far *far)
{
    nvt_ctl_key_free(far->key);
    far->key = NULL;
}
