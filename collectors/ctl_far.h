/*
 * `nvtally ctl --watch FILE` and `--to HOST:PORT`: sessions on other hosts, by name.
 */
#ifndef NVT_CTL_FAR_H
#define NVT_CTL_FAR_H

#include "ctl_file.h"
#include "ctl_net.h"

struct nvt_ctl_far_wish {
    const char *watch;   /* a file that sessions watch; or */
    const char *to;      /* HOST:PORT,…, and */
    const char *key;     /* the file of its key */
    const char *session; /* HOST or HOST.PROCESS; NULL, "all": all of them */
};

/* What the chosen sessions point to: it lasts as long as they do. Zeros to begin with. */
struct nvt_ctl_far {
    struct nvt_ctl_file_way file;
    struct nvt_ctl_net_way net;
    struct nvt_ctl_key *key;
};

/* What does not go together. 0, or -1 with err. */
int nvt_ctl_far_check(const struct nvt_ctl_far_wish *wish, struct nvt_error *err);

/* At most `most` sessions in `out`. Those that give no sign of life are left out, which is said on stderr. Returns how many, or -1 with err. 0: nobody
 * watches the file. */
int nvt_ctl_far_choose(struct nvt_ctl_far *far, const struct nvt_ctl_far_wish *wish,
                       struct nvt_ctl_session *out, size_t most, struct nvt_error *err);
void nvt_ctl_far_free(struct nvt_ctl_far *far);

#endif
