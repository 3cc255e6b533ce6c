/*
 * How `nvtally ctl --to HOST:PORT --key FILE` reaches a recorder that listens there (`record --listen`): by TCP, one request a connection,
 * each signed with a key that both have (ctl_key.h).
 *
 *   recorder  "nvtally 1 NONCE\n"             32 random bytes of this connection alone
 *   client    "NONCE MAC LENGTH\n" REQUEST    its own 32 random bytes; the MAC is over both nonces and the request
 *   recorder  "MAC LENGTH\n" ANSWER           over both nonces and the answer, '+' or '-' (it could not be done) and a text
 *
 * Nonces and MACs are in hexadecimal digits, lengths in decimal ones. Who sends something else gets no answer: the connection is closed. What was
 * sent once fits no other connection. Nothing is encrypted: who listens on the way sees requests and answers, and cannot make any.
 */
#ifndef NVT_CTL_NET_H
#define NVT_CTL_NET_H

#include "ctl_key.h"
#include "ctl_socket.h"

#define NVT_CTL_PORT    "7117" /* unless another one is given */
#define NVT_CTL_ADDRESS 300    /* bytes of HOST:PORT */

/* "HOST", "HOST:PORT", "[IPV6]:PORT". 0, or -1 with err. */
int nvt_ctl_net_parse(const char *text, char host[NVT_CTL_ADDRESS], char port[8],
                      struct nvt_error *err);

/* --- the recorder's side --- */

enum { NVT_CTL_NET_CLIENTS = 8, NVT_CTL_NET_HEADER = 160 };

struct nvt_ctl_net_client {
    int descriptor; /* -1: none */
    int64_t since;  /* CLOCK_MONOTONIC: who has not asked within some seconds is let go */
    char from[80];
    unsigned char nonce[NVT_CTL_NONCE];
    size_t size; /* bytes that have come */
    char bytes[NVT_CTL_NET_HEADER + NVT_CTL_REQUEST_MOST];
};

struct nvt_ctl_net_server {
    int socket; /* -1: none */
    const struct nvt_ctl_key *key;
    char name[NVT_CTL_ADDRESS]; /* where it listens, as numbers */
    uint64_t refused;           /* requests */
    struct nvt_ctl_net_client clients[NVT_CTL_NET_CLIENTS];
};

/* Listen on ADDRESS[:PORT]; port 0: any. 0, or -1 with err. The key is the caller's. */
int nvt_ctl_net_listen(struct nvt_ctl_net_server *server, const char *address,
                       const struct nvt_ctl_key *key, struct nvt_error *err);
void nvt_ctl_net_close(struct nvt_ctl_net_server *server);

/* What poll(2) is to wait for: the socket and the clients, at most NVT_CTL_NET_CLIENTS + 1. Returns how many. */
struct pollfd;
size_t nvt_ctl_net_descriptors(const struct nvt_ctl_net_server *server, struct pollfd *out);

/* Answer what has been asked; never waits for a client. The first request that is refused is said on stderr. */
void nvt_ctl_net_serve(struct nvt_ctl_net_server *server, nvt_ctl_answer *answer, void *context);

/* --- the other side --- */

struct nvt_ctl_net_way {
    struct nvt_ctl_way way;
    const struct nvt_ctl_key *key;
};

void nvt_ctl_net_reach(struct nvt_ctl_net_way *way, const struct nvt_ctl_key *key);

/* "HOST:PORT,HOST:PORT": a session each, at most `most`. Returns how many, or -1 with err. */
int nvt_ctl_net_sessions(const struct nvt_ctl_net_way *way, const char *list,
                         struct nvt_ctl_session *out, size_t most, struct nvt_error *err);

#endif
