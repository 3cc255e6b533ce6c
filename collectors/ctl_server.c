#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../lib/clock.h"
#include "ctl_socket.h"

#define SILENCE_NS INT64_C(2000000000) /* a client that has connected asks within that time */

/* The folder's name may be longer than a socket's address: it is reached by its descriptor. */
static int bind_in(int descriptor, const char *folder)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int place = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (place < 0)
        return -1;
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" NVT_CTL_NAME, place);
    const int status = bind(descriptor, (struct sockaddr *)&address, sizeof(address));
    close(place);
    return status;
}

void nvt_ctl_listen(struct nvt_ctl_server *server, const char *folder)
{
    server->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    for (int i = 0; i < NVT_CTL_CLIENTS; i++)
        server->clients[i].descriptor = -1;
    if (server->socket < 0)
        return;
    if (bind_in(server->socket, folder) || listen(server->socket, 64)) {
        close(server->socket);
        server->socket = -1;
    }
}

static void let_go(struct nvt_ctl_client *client)
{
    if (client->descriptor >= 0)
        close(client->descriptor);
    client->descriptor = -1;
}

void nvt_ctl_close(struct nvt_ctl_server *server)
{
    for (int i = 0; i < NVT_CTL_CLIENTS; i++)
        let_go(&server->clients[i]);
    if (server->socket >= 0)
        close(server->socket);
    server->socket = -1;
}

/* Whose it is. The folder's mode keeps others out; a descriptor may have been passed on: 0. */
static int process_of(int descriptor)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    const int is_ours = !getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) &&
                        (peer.uid == geteuid() || !peer.uid);
    return is_ours ? (int)peer.pid : 0;
}

/* The packet's text, behind the sign. */
static void reply(struct nvt_ctl_server *server, int descriptor, int failed)
{
    *server->packet = failed ? '-' : '+';
    /* Who does not wait for the answer does without. */
    (void)send(descriptor, server->packet, strlen(server->packet), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void answer_one(struct nvt_ctl_server *server, int descriptor, nvt_ctl_answer *answer,
                       void *context)
{
    static const char version[] = NVT_CTL_VERSION " ";
    const size_t length = sizeof(version) - 1, room = sizeof(server->packet) - 1;
    char *text = server->packet + 1;
    int failed = 1;
    *text = 0;
    if (strncmp(server->request, version, length) != 0)
        snprintf(text, room, "the recorder is of another version of nvtally");
    else
        failed = answer(context, server->request + length, text, room);
    reply(server, descriptor, failed);
}

static void hear(struct nvt_ctl_server *server, struct nvt_ctl_client *client, int64_t now,
                 nvt_ctl_answer *answer, void *context)
{
    ssize_t size = 1;
    /* Who asks faster than is answered has all others, and the rings, have their turn. */
    for (int turn = 0; turn < NVT_CTL_AT_ONCE; turn++) {
        size = recv(client->descriptor, server->request, sizeof(server->request) - 1, MSG_DONTWAIT);
        if (size <= 0)
            break;
        server->request[size] = 0;
        client->since = now;
        server->asker = client->process;
        answer_one(server, client->descriptor, answer, context);
    }
    if (!size || now - client->since > SILENCE_NS)
        let_go(client);
}

void nvt_ctl_serve(struct nvt_ctl_server *server, nvt_ctl_answer *answer, void *context)
{
    if (server->socket < 0)
        return;
    const int64_t now = nvt_monotonic_ns();
    for (int i = 0; i < NVT_CTL_CLIENTS; i++) {
        struct nvt_ctl_client *client = &server->clients[i];
        if (client->descriptor >= 0)
            hear(server, client, now, answer, context);
        /* A place may serve one after the other. */
        for (int turn = 0; turn < 64 && client->descriptor < 0; turn++) {
            client->descriptor = accept4(server->socket, NULL, NULL, SOCK_CLOEXEC);
            if (client->descriptor < 0)
                break;
            client->since = now;
            client->process = process_of(client->descriptor);
            if (client->process)
                hear(server, client, now, answer, context);
            else
                let_go(client);
        }
    }
}
