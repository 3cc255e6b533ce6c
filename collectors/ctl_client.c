#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../lib/clock.h"
#include "../lib/folder.h"
#include "attached.h"
#include "ctl_socket.h"
#include "ring.h"
#include "stale.h"
#include "wake.h"

#define WAKE_MS 20 /* the recorder may just have been falling asleep: it is woken so often */

/* --- which sessions there are --- */

/* The folder, if nobody else may enter it, or -1 with errno; EPERM: it is another user's, who may have put anything there. */
static int open_folder(const char *folder)
{
    struct stat status;
    const int place = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (place < 0 ||
        (!fstat(place, &status) && status.st_uid == geteuid() && !(status.st_mode & 077)))
        return place;
    close(place);
    errno = EPERM;
    return -1;
}

/* NULL with errno: EPERM, another user's. */
static struct nvt_control *map_page(const char *folder)
{
    struct stat status;
    struct nvt_control *control = MAP_FAILED;
    const int place = open_folder(folder);
    if (place < 0)
        return NULL;
    const int descriptor =
        openat(place, NVT_CONTROL_NAME, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const int why = errno;
    close(place);
    errno = why;
    if (descriptor < 0)
        return NULL;
    errno = 0;
    if (!fstat(descriptor, &status)) {
        errno = status.st_uid != geteuid() ? EPERM : EPROTO;
        if (errno == EPROTO && S_ISREG(status.st_mode) && status.st_size >= (off_t)sizeof(*control))
            control =
                mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    }
    const int cause = errno;
    close(descriptor);
    errno = cause;
    return control == MAP_FAILED ? NULL : control;
}

static void unmap_page(struct nvt_control *control)
{
    munmap(control, sizeof(*control));
}

/* A standing one that nobody can use any more: its shell has ended, and there is no process in it. */
static int is_left(const struct nvt_ctl_session *session)
{
    struct nvt_control *control =
        session->is_standing && !session->recorder ? map_page(session->folder) : NULL;
    const int left = control && nvt_stale_is_left(control, session->folder);
    if (control)
        unmap_page(control);
    return left;
}

/* One whose recorder was killed: its folder stays, and processes may go on in it. */
static int has_died(const char *folder, struct nvt_ctl_session *out)
{
    struct nvt_control *control = map_page(folder);
    const int died = control && control->magic == NVT_CONTROL_MAGIC &&
                     control->version == NVT_SHARED_VERSION && !control->is_standing &&
                     !atomic_load(&control->ended) &&
                     !nvt_process_is(control->recorder, control->recorder_start);
    if (died)
        out->recorder = control->recorder;
    if (control)
        unmap_page(control);
    return died && nvt_attached(folder, NULL, 0) > 0;
}

static int is_usable(const char *folder, struct nvt_ctl_session *out)
{
    return !nvt_ctl_session_of(folder, out, NULL) && !is_left(out);
}

typedef int is_meant(const char *folder, struct nvt_ctl_session *out);

static void find_in(const char *place, is_meant *is, struct nvt_ctl_session *out, size_t most,
                    size_t *count)
{
    DIR *entries = opendir(place);
    for (struct dirent *entry; entries && (entry = nvt_folder_next(entries));) {
        struct nvt_ctl_session session;
        struct stat status;
        if (strncmp(entry->d_name, NVT_SESSION_PREFIX, strlen(NVT_SESSION_PREFIX)) != 0 ||
            fstatat(dirfd(entries), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) ||
            !S_ISDIR(status.st_mode) || /* a link is another name of one, or a trap */
            snprintf(session.folder, sizeof(session.folder), "%s/%s", place, entry->d_name) >=
                (int)sizeof(session.folder) ||
            !is(session.folder, &session))
            continue;
        if (*count < most)
            out[*count] = session;
        ++*count;
    }
    if (entries)
        closedir(entries);
}

static size_t find(is_meant *is, struct nvt_ctl_session *out, size_t most)
{
    const char *wish = getenv("NVTALLY_TMPDIR"), *other = getenv("TMPDIR");
    size_t count = 0;
    if (wish && *wish) {
        find_in(wish, is, out, most, &count);
        return count;
    }
    find_in("/dev/shm", is, out, most, &count);
    find_in("/tmp", is, out, most, &count);
    if (other && *other && strcmp(other, "/tmp") != 0 && strcmp(other, "/dev/shm") != 0)
        find_in(other, is, out, most, &count);
    return count;
}

size_t nvt_ctl_sessions(struct nvt_ctl_session *out, size_t most)
{
    return find(is_usable, out, most);
}

size_t nvt_ctl_died(struct nvt_ctl_session *out, size_t most)
{
    return find(has_died, out, most);
}

int nvt_ctl_session_of(const char *folder, struct nvt_ctl_session *out, struct nvt_error *err)
{
    struct nvt_control *control = map_page(folder);
    if (!control && (errno == EACCES || errno == EPERM))
        return nvt_fail_at(err, folder, -1, "belongs to another user");
    if (!control && errno != EPROTO)
        return nvt_fail_at(err, folder, -1, "no recording is there");
    const int is_of_ours =
        control && control->magic == NVT_CONTROL_MAGIC && control->version == NVT_SHARED_VERSION;
    const int lives = is_of_ours && nvt_process_is(control->recorder, control->recorder_start);
    const int recorder = is_of_ours ? control->recorder : 0;
    const int is_standing = is_of_ours && control->is_standing;
    const int is_unused = is_standing && !lives && !atomic_load(&control->joined);
    if (control)
        unmap_page(control);
    if (!is_of_ours)
        return nvt_fail_at(err, folder, -1, "a recording of another version of nvtally");
    if (!lives && !is_standing)
        return nvt_fail_at(err, folder, -1, "the recorder (process %d) has died", recorder);
    if (out->folder != folder)
        snprintf(out->folder, sizeof(out->folder), "%s", folder);
    out->recorder = lives ? recorder : 0;
    out->is_standing = is_standing;
    out->is_unused = is_unused;
    out->name[0] = 0;
    out->way = NULL;
    return 0;
}

/* --- a question --- */

static int connect_to(const char *folder)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int place = open_folder(folder);
    const int descriptor = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" NVT_CTL_NAME, place);
    int status = place < 0 || descriptor < 0
                     ? -1
                     : connect(descriptor, (struct sockaddr *)&address, sizeof(address));
    const int cause = errno;
    if (place >= 0)
        close(place);
    if (status && descriptor >= 0)
        close(descriptor);
    errno = cause;
    return status ? -1 : descriptor;
}

/* Bytes of the answer; 0: none came, -1: the recorder is gone. */
static ssize_t wait_for_answer(int descriptor, struct nvt_control *control, int64_t patience_ns,
                               char *packet, size_t size)
{
    const int64_t began = nvt_monotonic_ns();
    struct pollfd poller = {.fd = descriptor, .events = POLLIN};
    do {
        nvt_control_wake(control);
        if (poll(&poller, 1, WAKE_MS) > 0) {
            const ssize_t length = recv(descriptor, packet, size, 0);
            return length > 0 ? length : -1;
        }
    } while (nvt_monotonic_ns() - began < patience_ns);
    return 0;
}

static int ask(int descriptor, const struct nvt_ctl_session *session, const char *request,
               int64_t patience_ns, char *packet, struct nvt_error *err)
{
    char line[NVT_CTL_REQUEST_MOST + 1];
    if (snprintf(line, sizeof(line), "%s %s", NVT_CTL_VERSION, request) >= (int)sizeof(line))
        return nvt_fail(err, "too long: at most %d bytes", NVT_CTL_REQUEST_MOST - 2);
    struct nvt_control *control = map_page(session->folder);
    ssize_t size = -1;
    if (control && send(descriptor, line, strlen(line), MSG_NOSIGNAL) == (ssize_t)strlen(line))
        size = wait_for_answer(descriptor, control, patience_ns, packet, NVT_CTL_ANSWER_MOST);
    if (control)
        unmap_page(control);
    if (size < 0)
        return nvt_fail(err, "the recorder (process %d) has ended", session->recorder);
    if (!size)
        return nvt_fail(err, "the recorder (process %d) has not answered within %d s",
                        session->recorder, (int)(patience_ns / 1000000000));
    packet[size] = 0;
    return 0;
}

/* The folder may have gone, or whose it was. */
static int fail_unreached(const struct nvt_ctl_session *session, int cause, struct nvt_error *err)
{
    /* Its socket is closed a moment before it is seen to have ended. */
    if (cause == ECONNREFUSED || !nvt_process_lives(session->recorder))
        return nvt_fail(err, "the recorder (process %d) has ended", session->recorder);
    if (cause == ENOENT)
        return nvt_fail(err, "the recorder (process %d) cannot be asked: %.250s was removed",
                        session->recorder, session->folder);
    return nvt_fail(err, "the recorder (process %d) cannot be reached: %s", session->recorder,
                    strerror(cause));
}

static int ask_here(const struct nvt_ctl_session *session, const char *request, int64_t patience_ns,
                    char *text, size_t size, struct nvt_error *err)
{
    char packet[NVT_CTL_ANSWER_MOST + 1];
    if (!session->recorder)
        return nvt_fail_at(err, session->folder, -1,
                           "nothing is recorded: nvtally ctl start begins");
    const int descriptor = connect_to(session->folder);
    if (descriptor < 0)
        return fail_unreached(session, errno, err);
    const int status = ask(descriptor, session, request, patience_ns, packet, err);
    close(descriptor);
    if (status)
        return -1;
    snprintf(text, size, "%s", packet + 1);
    return packet[0] == '+' ? 0 : 1;
}

int nvt_ctl_ask(const struct nvt_ctl_session *session, const char *request, int64_t patience_ns,
                char *text, size_t size, struct nvt_error *err)
{
    if (!session->way)
        return ask_here(session, request, patience_ns, text, size, err);
    struct nvt_ctl_reply *reply = calloc(1, sizeof(*reply));
    if (!reply)
        return nvt_fail(err, "out of memory");
    session->way->ask(session, 1, request, patience_ns, reply);
    const int status = reply->status;
    if (status < 0 && err)
        *err = reply->err;
    else if (status >= 0)
        snprintf(text, size, "%s", reply->text);
    free(reply);
    return status;
}

void nvt_ctl_ask_all(const struct nvt_ctl_session *sessions, size_t count, const char *request,
                     int64_t patience_ns, struct nvt_ctl_reply *replies)
{
    if (count && sessions[0].way)
        sessions[0].way->ask(sessions, count, request, patience_ns, replies);
    for (size_t i = 0; i < count && !sessions[0].way; i++)
        replies[i].status = ask_here(&sessions[i], request, patience_ns, replies[i].text,
                                     sizeof(replies[i].text), &replies[i].err);
}

const char *nvt_ctl_title(const struct nvt_ctl_session *session, char *out, size_t size)
{
    if (session->way)
        snprintf(out, size, "%s", session->name);
    else
        snprintf(out, size, "recorder %d", session->recorder);
    return out;
}
