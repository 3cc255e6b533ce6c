/* The other side of ctl_net.h. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../lib/clock.h"
#include "ctl_hex.h"
#include "ctl_net.h"

/* A connection, and until when it may take. */
struct line {
    const char *name;
    int descriptor;
    int64_t until; /* CLOCK_MONOTONIC */
};

/* 0, or -1 with errno. */
static int wait_for(const struct line *line, short events)
{
    const int64_t left = line->until - nvt_monotonic_ns();
    struct pollfd poller = {.fd = line->descriptor, .events = events};
    errno = ETIMEDOUT;
    return left > 0 && poll(&poller, 1, (int)(left / 1000000) + 1) > 0 ? 0 : -1;
}

static int connect_at(const struct addrinfo *at, struct line *line)
{
    int cause = 0;
    socklen_t size = sizeof(cause);
    line->descriptor =
        socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, at->ai_protocol);
    if (line->descriptor < 0)
        return -1;
    int failed = connect(line->descriptor, at->ai_addr, at->ai_addrlen);
    if (failed && errno == EINPROGRESS) {
        failed = wait_for(line, POLLOUT);
        if (!failed && !getsockopt(line->descriptor, SOL_SOCKET, SO_ERROR, &cause, &size)) {
            errno = cause;
            failed = cause != 0;
        }
    }
    if (!failed)
        return 0;
    cause = errno;
    close(line->descriptor);
    line->descriptor = -1;
    errno = cause;
    return -1;
}

static int connect_to(struct line *line, struct nvt_error *err)
{
    char host[NVT_CTL_ADDRESS], port[8];
    const struct addrinfo wish = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (nvt_ctl_net_parse(line->name, host, port, err))
        return -1;
    const int unknown = getaddrinfo(host, port, &wish, &found);
    if (unknown)
        return nvt_fail(err, "%s: %s", line->name, gai_strerror(unknown));
    int failed = -1;
    for (const struct addrinfo *at = found; at && failed; at = at->ai_next)
        failed = connect_at(at, line);
    const int cause = errno;
    freeaddrinfo(found);
    return failed ? nvt_fail(err, "%s: %s", line->name, strerror(cause)) : 0;
}

/* A line and its line feed, a NUL behind it. 0; -1 with errno, 0 there: the connection has ended, or it is no such line. */
static int read_line(const struct line *line, char *out, size_t size)
{
    for (size_t have = 0; have + 1 < size;) {
        if (wait_for(line, POLLIN))
            return -1;
        errno = 0;
        const ssize_t length = recv(line->descriptor, out + have, 1, 0);
        if (length < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (length <= 0)
            return -1;
        have++;
        out[have] = 0;
        if (out[have - 1] == '\n')
            return 0;
    }
    errno = 0;
    return -1;
}

static int read_bytes(const struct line *line, char *out, size_t size)
{
    for (size_t have = 0; have < size;) {
        if (wait_for(line, POLLIN))
            return -1;
        errno = 0;
        const ssize_t length = recv(line->descriptor, out + have, size - have, 0);
        if (length < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (length <= 0)
            return -1;
        have += (size_t)length;
    }
    return 0;
}

/* What the recorder begins with. 0 with its nonce, or -1 with err. */
static int read_hello(const struct line *line, unsigned char nonce[NVT_CTL_NONCE],
                      struct nvt_error *err)
{
    static const char begin[] = "nvtally " NVT_CTL_VERSION " ";
    char hello[sizeof(begin) + 2 * NVT_CTL_NONCE + 1];
    if (read_line(line, hello, sizeof(hello)))
        return nvt_fail(err, "%s: %s", line->name,
                        errno == ETIMEDOUT ? "says nothing"
                                           : "no nvtally of this version listens there");
    if (strncmp(hello, begin, sizeof(begin) - 1) != 0 ||
        nvt_ctl_unhex(hello + sizeof(begin) - 1, nonce, NVT_CTL_NONCE))
        return nvt_fail(err, "%s: no nvtally of this version listens there", line->name);
    return 0;
}

/* Send the request, signed. 0, or -1 with err. */
static int send_request(const struct line *line, const struct nvt_ctl_key *key,
                        const struct nvt_ctl_signed *message, struct nvt_error *err)
{
    char packet[NVT_CTL_NET_HEADER + NVT_CTL_REQUEST_MOST + 1];
    char nonce[2 * NVT_CTL_NONCE + 1], digits[2 * NVT_CTL_MAC + 1];
    unsigned char mac[NVT_CTL_MAC];
    if (nvt_ctl_key_sign(key, message, mac))
        return nvt_fail(err, "out of memory");
    nvt_ctl_hex(message->client, NVT_CTL_NONCE, nonce);
    nvt_ctl_hex(mac, NVT_CTL_MAC, digits);
    const int size = snprintf(packet, sizeof(packet), "%s %s %zu\n%s", nonce, digits,
                              message->length, message->text);
    if (send(line->descriptor, packet, (size_t)size, MSG_NOSIGNAL) != size)
        return nvt_fail(err, "%s: %s", line->name, strerror(errno));
    return 0;
}

/* 0 with the text, or -1 with err. `message` has the nonces. */
static int read_answer(const struct line *line, const struct nvt_ctl_key *key,
                       struct nvt_ctl_signed *message, char *text, size_t size,
                       struct nvt_error *err)
{
    char header[NVT_CTL_NET_HEADER];
    unsigned char mac[NVT_CTL_MAC];
    if (read_line(line, header, sizeof(header)))
        return nvt_fail(err, "%s: %s", line->name,
                        errno == ETIMEDOUT ? "has not answered in time"
                                           : "gives no answer: its key is another one");
    const unsigned long length = strtoul(header + 2 * NVT_CTL_MAC, NULL, 10);
    if (nvt_ctl_unhex(header, mac, NVT_CTL_MAC) || header[2 * NVT_CTL_MAC] != ' ' || !length ||
        length >= size)
        return nvt_fail(err, "%s: no nvtally of this version listens there", line->name);
    if (read_bytes(line, text, length))
        return nvt_fail(err, "%s: the answer is cut off", line->name);
    text[length] = 0;
    message->kind = "answer";
    message->text = text;
    message->length = length;
    return nvt_ctl_key_fits(key, message, mac)
               ? 0
               : nvt_fail(err, "%s: the answer is not signed with this key", line->name);
}

static int ask_one(const struct nvt_ctl_session *session, const char *request, int64_t patience_ns,
                   struct nvt_ctl_reply *out)
{
    const struct nvt_ctl_net_way *way = (const struct nvt_ctl_net_way *)session->way;
    unsigned char server[NVT_CTL_NONCE], client[NVT_CTL_NONCE];
    char text[NVT_CTL_ANSWER_MOST + 1];
    struct nvt_ctl_signed message = {"request", server, client, request, strlen(request)};
    struct line line = {session->name, -1, nvt_monotonic_ns() + patience_ns};
    if (message.length >= NVT_CTL_REQUEST_MOST)
        return nvt_fail(&out->err, "too long: at most %d bytes", NVT_CTL_REQUEST_MOST - 1);
    if (getrandom(client, sizeof(client), 0) != sizeof(client))
        return nvt_fail(&out->err, "the system has no random numbers");
    if (connect_to(&line, &out->err))
        return -1;
    int status = read_hello(&line, server, &out->err);
    if (!status)
        status = send_request(&line, way->key, &message, &out->err);
    if (!status)
        status = read_answer(&line, way->key, &message, text, sizeof(text), &out->err);
    close(line.descriptor);
    if (status)
        return -1;
    memcpy(out->text, text + 1, strlen(text)); /* without the sign, with its NUL */
    return *text == '+' ? 0 : 1;
}

static void ask(const struct nvt_ctl_session *sessions, size_t count, const char *request,
                int64_t patience_ns, struct nvt_ctl_reply *replies)
{
    for (size_t i = 0; i < count; i++)
        replies[i].status = ask_one(&sessions[i], request, patience_ns, &replies[i]);
}

void nvt_ctl_net_reach(struct nvt_ctl_net_way *way, const struct nvt_ctl_key *key)
{
    *way = (struct nvt_ctl_net_way){.way = {.ask = ask, .latency_ns = 20000000}, .key = key};
}

int nvt_ctl_net_sessions(const struct nvt_ctl_net_way *way, const char *list,
                         struct nvt_ctl_session *out, size_t most, struct nvt_error *err)
{
    size_t count = 0;
    for (const char *at = list; *at; at += *at == ',') {
        const size_t length = strcspn(at, ",");
        char name[sizeof(out->name)], host[NVT_CTL_ADDRESS], port[8];
        if (length >= sizeof(name))
            return nvt_fail(err, "--to: %.40s… is too long", at);
        if (count == most)
            return nvt_fail(err, "--to: at most %zu recorders", most);
        snprintf(name, sizeof(name), "%.*s", (int)length, at);
        if (nvt_ctl_net_parse(name, host, port, err))
            return -1;
        out[count] = (struct nvt_ctl_session){.way = &way->way};
        snprintf(out[count].name, sizeof(out[count].name),
                 strchr(host, ':') ? "[%.*s]:%s" : "%.*s:%s", (int)sizeof(name) - 12, host, port);
        count++;
        at += length;
    }
    return count ? (int)count : nvt_fail(err, "--to needs HOST:PORT");
}
