/*
 * A process that asked for the session and could not join it says why: its folder is not in the process's mount namespace, or belongs
 * to another user. So does one that has joined and then changed its user, when a thread gets no buffer for that. It cannot say so in the folder, so it sends a datagram to an abstract socket of the folder's name, which is known in
 * all mount namespaces of one network namespace.
 */
#ifndef NVT_REFUSAL_H
#define NVT_REFUSAL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

struct nvt_refusal {
    int32_t pid;   /* as the process knows itself */
    int32_t cause; /* errno; EPROTO: the session is of another version of nvtally */
    char name[16]; /* of the process; "" unknown */
    int32_t has_joined;
};

/* The socket's address. Returns its length. */
static inline socklen_t nvt_refusal_address(const char *folder, struct sockaddr_un *address)
{
    const char *slash = strrchr(folder, '/'), *name = slash ? slash + 1 : folder;
    size_t length = strlen(name);
    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    length = length < sizeof(address->sun_path) - 1 ? length : sizeof(address->sun_path) - 1;
    memcpy(address->sun_path + 1, name, length);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

#endif
