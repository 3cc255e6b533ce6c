/*
 * How `nvtally ctl` reaches a recorder: a socket in the session's folder, which only its user may enter. A request is one packet, a
 * protocol version, a blank, a word and what may follow it; so is the answer, '+' or '-' (it could not be done) and a text. A recorder looks
 * for requests when it is woken (wake.h); who has asked wakes it until the answer is there.
 */
#ifndef NVT_CTL_SOCKET_H
#define NVT_CTL_SOCKET_H

#include <stddef.h>
#include <stdint.h>

#include "../lib/error.h"

#define NVT_CTL_NAME         "ctl" /* of the socket in the folder */
#define NVT_CTL_VERSION      "1"
#define NVT_CTL_REQUEST_MOST 4096 /* bytes */
#define NVT_CTL_ANSWER_MOST  16384
#define NVT_CTL_CLIENTS      8 /* that are connected at once; others wait for one to go */
#define NVT_CTL_AT_ONCE                                                                            \
    64 /* requests of one that are answered before the recorder does something else */

/* --- the recorder's side --- */

struct nvt_ctl_server {
    int socket; /* -1: there is none */
    struct nvt_ctl_client {
        int descriptor; /* -1: none */
        int process;    /* whose it is */
        int64_t since;  /* CLOCK_MONOTONIC: one that says nothing is let go */
    } clients[NVT_CTL_CLIENTS];
    /* What is asked and answered, one at a time: not on the stack, which may be small (ulimit -s). */
    char request[NVT_CTL_REQUEST_MOST + 1];
    char packet[NVT_CTL_ANSWER_MOST + 1];
    int asker; /* the process that is being answered */
};

/* Make the socket in that folder. Without one (no descriptor, a file system that has none) nobody is served. */
void nvt_ctl_listen(struct nvt_ctl_server *server, const char *folder);
void nvt_ctl_close(struct nvt_ctl_server *server);

/*
 * Answer what has been asked; never waits. `answer` gets a request without the version and writes the text of its answer, at most
 * `size` bytes with a NUL: 0, or -1: it could not be done, as the text says.
 */
typedef int nvt_ctl_answer(void *context, const char *request, char *text, size_t size);
void nvt_ctl_serve(struct nvt_ctl_server *server, nvt_ctl_answer *answer, void *context);

/* --- the other side --- */

/* How a session is asked that is not reached by its folder: by a file (ctl_file.h), by TCP (ctl_net.h). */
struct nvt_ctl_way;

/* A session of this user whose recorder lives, or a standing one, which may have none. */
struct nvt_ctl_session {
    char folder[256];
    int recorder;                  /* its process; 0: none */
    int is_standing;               /* (standing.h) */
    int is_unused;                 /* of such a one: no process has joined it yet */
    char name[160];                /* of one with a way: HOST.PROCESS, HOST:PORT */
    const struct nvt_ctl_way *way; /* NULL: the folder is here */
};

/* What came of a request, as nvt_ctl_ask returns it. */
struct nvt_ctl_reply {
    int status;
    struct nvt_error err;
    char text[NVT_CTL_ANSWER_MOST];
};

/* `ask` puts one request to all of `count` sessions, and has a reply for each. */
struct nvt_ctl_way {
    void (*ask)(const struct nvt_ctl_session *sessions, size_t count, const char *request,
                int64_t patience_ns, struct nvt_ctl_reply *replies);
    int64_t latency_ns; /* that a request takes to arrive, as a rule */
};

/* Those in the places where sessions are made, or in NVTALLY_TMPDIR alone where that is set; at most `most`. Returns how many there
 * are. */
size_t nvt_ctl_sessions(struct nvt_ctl_session *out, size_t most);

/* Those whose recorder was killed while processes that it recorded go on, by the number that it had. */
size_t nvt_ctl_died(struct nvt_ctl_session *out, size_t most);

/* What is in this folder. 0, or -1 with err: no session, another user's, one whose recorder has died, or one of another nvtally. */
int nvt_ctl_session_of(const char *folder, struct nvt_ctl_session *out, struct nvt_error *err);

/*
 * Ask, and wait for the answer, at most `patience_ns`. 0 with the text; 1: it could not be done, as the text says; -1 with err: no
 * answer came.
 */
int nvt_ctl_ask(const struct nvt_ctl_session *session, const char *request, int64_t patience_ns,
                char *text, size_t size, struct nvt_error *err);

/* Ask all of `count` sessions, which are reached the same way, the same. */
void nvt_ctl_ask_all(const struct nvt_ctl_session *sessions, size_t count, const char *request,
                     int64_t patience_ns, struct nvt_ctl_reply *replies);

/* What messages call it: "recorder 123", or its name. Returns `out`. */
const char *nvt_ctl_title(const struct nvt_ctl_session *session, char *out, size_t size);

#endif
