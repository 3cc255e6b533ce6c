/* The recorder's side of ctl_net.h. */
#include "ctl_net.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../lib/clock.h"
#include "../lib/wrap.h"
#include "ctl_hex.h"

#define SILENCE_NS INT64_C(5000000000)
#define TURNS      64 /* clients that are taken on in one look, and place */

int nvt_ctl_net_parse(const char *text, char host[NVT_CTL_ADDRESS], char port[8],
                      struct nvt_error *err)
{
    const int is_6 = *text == '[';
    const char *end = is_6 ? strchr(text, ']') : strrchr(text, ':');
    const size_t length = end ? (size_t)(end - text) - (size_t)is_6 : strlen(text);
    const char *colon = is_6 && end ? end + 1 : end;
    const char *number = colon && *colon ? colon + 1 : NVT_CTL_PORT;
    const int is_number = *number && !number[strspn(number, "0123456789")] && strlen(number) < 6;
    if ((is_6 && !end) || !length || length >= NVT_CTL_ADDRESS ||
        (colon && *colon && *colon != ':') || (!is_6 && memchr(text, ':', length)) || !is_number ||
        strtol(number, NULL, 10) > 65535)
        return nvt_fail(
            err, "'%.80s' must be an address and a port: HOST:7117, 10.0.0.1:7117, [::1]:7117",
            text);
    memcpy(host, text + is_6, length);
    host[length] = 0;
    snprintf(port, 8, "%s", number);
    return 0;
}

/* "10.0.0.1:7117", "[::1]:7117". */
static void name_address(const struct sockaddr *address, socklen_t size, char *out, size_t room)
{
    char host[64] = "?", port[8] = "?";
    (void)getnameinfo(address, size, host, sizeof(host), port, sizeof(port),
                      NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(out, room, address->sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

/* A socket that listens there, or -1 with errno. */
static int listen_at(const struct addrinfo *at)
{
    const int on = 1;
    const int descriptor =
        socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, at->ai_protocol);
    if (descriptor < 0)
        return -1;
    (void)setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (!bind(descriptor, at->ai_addr, at->ai_addrlen) && !listen(descriptor, 64))
        return descriptor;
    const int cause = errno;
    close(descriptor);
    errno = cause;
    return -1;
}

int nvt_ctl_net_listen(struct nvt_ctl_net_server *server, const char *address,
                       const struct nvt_ctl_key *key, struct nvt_error *err)
{
    char host[NVT_CTL_ADDRESS], port[8];
    const struct addrinfo wish = {.ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    struct sockaddr_storage own = {0};
    socklen_t size = sizeof(own);
    *server = (struct nvt_ctl_net_server){.socket = -1, .key = key};
    for (size_t i = 0; i < NVT_CTL_NET_CLIENTS; i++)
        server->clients[i].descriptor = -1;
    if (nvt_ctl_net_parse(address, host, port, err))
        return -1;
    const int unknown = getaddrinfo(host, port, &wish, &found);
    if (unknown)
        return nvt_fail(err, "%.80s: %s", address, gai_strerror(unknown));
    for (const struct addrinfo *at = found; at && server->socket < 0; at = at->ai_next)
        server->socket = listen_at(at);
    const int cause = errno;
    freeaddrinfo(found);
    if (server->socket < 0)
        return nvt_fail(err, "%.80s: %s", address, strerror(cause));
    if (!getsockname(server->socket, (struct sockaddr *)&own, &size))
        name_address((struct sockaddr *)&own, size, server->name, sizeof(server->name));
    return 0;
}

static void let_go(struct nvt_ctl_net_client *client)
{
    if (client->descriptor >= 0)
        close(client->descriptor);
    client->descriptor = -1;
    client->size = 0;
}

void nvt_ctl_net_close(struct nvt_ctl_net_server *server)
{
    for (size_t i = 0; i < NVT_CTL_NET_CLIENTS && server->socket >= 0; i++)
        let_go(&server->clients[i]);
    if (server->socket >= 0)
        close(server->socket);
    server->socket = -1;
    if (server->refused > 1)
        nvt_message(stderr, "--listen: %llu requests were refused",
                    (unsigned long long)server->refused);
}

size_t nvt_ctl_net_descriptors(const struct nvt_ctl_net_server *server, struct pollfd *out)
{
    size_t count = 0;
    int has_room = 0;
    if (server->socket < 0)
        return 0;
    for (size_t i = 0; i < NVT_CTL_NET_CLIENTS; i++) {
        if (server->clients[i].descriptor >= 0)
            out[count++] = (struct pollfd){.fd = server->clients[i].descriptor, .events = POLLIN};
        has_room |= server->clients[i].descriptor < 0;
    }
    if (has_room)
        out[count++] = (struct pollfd){.fd = server->socket, .events = POLLIN};
    return count;
}

/* --- one client ------------------------------------------------------------------------------------ */

static void refuse(struct nvt_ctl_net_server *server, struct nvt_ctl_net_client *client)
{
    if (!server->refused++)
        nvt_message(stderr,
                    "--listen: a request from %s was refused: it is not signed with this key",
                    client->from);
    let_go(client);
}

/* Whether all of it is sent. */
static int send_all(int descriptor, const char *bytes, size_t size)
{
    return send(descriptor, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size;
}

static int take_on(struct nvt_ctl_net_client *client, int socket, int64_t now)
{
    char hello[16 + 2 * NVT_CTL_NONCE], digits[2 * NVT_CTL_NONCE + 1];
    struct sockaddr_storage from = {0};
    socklen_t size = sizeof(from);
    client->descriptor =
        accept4(socket, (struct sockaddr *)&from, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client->descriptor < 0)
        return 0;
    client->since = now;
    client->size = 0;
    name_address((struct sockaddr *)&from, size, client->from, sizeof(client->from));
    if (getrandom(client->nonce, NVT_CTL_NONCE, 0) != NVT_CTL_NONCE) {
        let_go(client);
        return 1;
    }
    nvt_ctl_hex(client->nonce, NVT_CTL_NONCE, digits);
    const int length = snprintf(hello, sizeof(hello), "nvtally " NVT_CTL_VERSION " %s\n", digits);
    if (!send_all(client->descriptor, hello, (size_t)length))
        let_go(client);
    return 1;
}

/* A request whose header has come: "NONCE MAC LENGTH\n". */
struct request {
    unsigned char nonce[NVT_CTL_NONCE], mac[NVT_CTL_MAC];
    size_t header, length;
};

/* 1: it is there; 0: more is to come; -1: it is none. */
static int read_header(const struct nvt_ctl_net_client *client, struct request *out)
{
    enum { MAC_AT = 2 * NVT_CTL_NONCE + 1, LENGTH_AT = MAC_AT + 2 * NVT_CTL_MAC + 1 };
    const char *bytes = client->bytes, *end = memchr(bytes, '\n', client->size);
    if (!end)
        return client->size < NVT_CTL_NET_HEADER ? 0 : -1;
    const char *digits = bytes + LENGTH_AT;
    const size_t header = (size_t)(end - bytes) + 1;
    if (header < LENGTH_AT + 2 || header > LENGTH_AT + 6 || bytes[MAC_AT - 1] != ' ' ||
        bytes[LENGTH_AT - 1] != ' ' || digits[strspn(digits, "0123456789")] != '\n' ||
        nvt_ctl_unhex(bytes, out->nonce, NVT_CTL_NONCE) ||
        nvt_ctl_unhex(bytes + MAC_AT, out->mac, NVT_CTL_MAC))
        return -1;
    out->header = header;
    out->length = strtoul(digits, NULL, 10);
    return out->length && out->length < NVT_CTL_REQUEST_MOST ? 1 : -1;
}

/* The client has proved that it has the key. */
static void reply(struct nvt_ctl_net_server *server, struct nvt_ctl_net_client *client,
                  const struct request *request, nvt_ctl_answer *answer, void *context)
{
    char text[NVT_CTL_REQUEST_MOST + 1], said[NVT_CTL_ANSWER_MOST + 1] = "";
    char packet[NVT_CTL_NET_HEADER + sizeof(said)], digits[2 * NVT_CTL_MAC + 1];
    unsigned char mac[NVT_CTL_MAC];
    memcpy(text, client->bytes + request->header, request->length);
    text[request->length] = 0;
    *said = answer(context, text, said + 1, NVT_CTL_ANSWER_MOST) ? '-' : '+';
    const struct nvt_ctl_signed message = {"answer", client->nonce, request->nonce, said,
                                           strlen(said)};
    if (!nvt_ctl_key_sign(server->key, &message, mac)) {
        nvt_ctl_hex(mac, NVT_CTL_MAC, digits);
        const int length =
            snprintf(packet, sizeof(packet), "%s %zu\n%s", digits, strlen(said), said);
        (void)send_all(client->descriptor, packet, (size_t)length);
    }
    let_go(client);
}

static void hear(struct nvt_ctl_net_server *server, struct nvt_ctl_net_client *client, int64_t now,
                 nvt_ctl_answer *answer, void *context)
{
    struct request request;
    const ssize_t size = recv(client->descriptor, client->bytes + client->size,
                              sizeof(client->bytes) - client->size, MSG_DONTWAIT);
    const int is_over = !size || (size < 0 && errno != EAGAIN && errno != EINTR);
    if (is_over || now - client->since > SILENCE_NS) {
        let_go(client);
        return;
    }
    client->size += size > 0 ? (size_t)size : 0;
    const int has_header = client->size ? read_header(client, &request) : 0;
    if (has_header < 0) {
        refuse(server, client);
        return;
    }
    if (!has_header || client->size < request.header + request.length)
        return;
    const struct nvt_ctl_signed message = {"request", client->nonce, request.nonce,
                                           client->bytes + request.header, request.length};
    if (client->size > request.header + request.length || memchr(message.text, 0, message.length) ||
        !nvt_ctl_key_fits(server->key, &message, request.mac))
        refuse(server, client);
    else
        reply(server, client, &request, answer, context);
}

void nvt_ctl_net_serve(struct nvt_ctl_net_server *server, nvt_ctl_answer *answer, void *context)
{
    if (server->socket < 0)
        return;
    for (size_t i = 0; i < NVT_CTL_NET_CLIENTS; i++) {
        struct nvt_ctl_net_client *client = &server->clients[i];
        int64_t now = nvt_monotonic_ns();
        if (client->descriptor >= 0)
            hear(server, client, now, answer, context);
        for (int turn = 0; turn < TURNS && client->descriptor < 0; turn++)
            if (!take_on(client, server->socket, now))
                break;
    }
}
