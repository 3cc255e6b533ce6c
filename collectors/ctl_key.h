/*
 * The key that both sides of `record --listen` and `ctl --to` have: a file of 32 to 4,096 bytes that its user alone may read. What is sent
 * is signed with it, by HMAC-SHA256 of libsodium, which is loaded when a key is read: nvtally is built and runs without.
 */
#ifndef NVT_CTL_KEY_H
#define NVT_CTL_KEY_H

#include <stddef.h>

#include "../lib/error.h"

enum { NVT_CTL_NONCE = 32, NVT_CTL_MAC = 32 }; /* bytes */

struct nvt_ctl_key;

/* NULL with err: no such file, one that others may read, one of another size, or there is no libsodium. */
struct nvt_ctl_key *nvt_ctl_key_read(const char *path, struct nvt_error *err);
void nvt_ctl_key_free(struct nvt_ctl_key *key);

/* A signed message: `kind` keeps a request from being taken for an answer, the nonces one exchange from another. */
struct nvt_ctl_signed {
    const char *kind;
    const unsigned char *server, *client; /* NVT_CTL_NONCE bytes of each */
    const char *text;
    size_t length;
};

/* 0, or -1: there is no memory. */
int nvt_ctl_key_sign(const struct nvt_ctl_key *key, const struct nvt_ctl_signed *message,
                     unsigned char mac[NVT_CTL_MAC]);

/* Whether that is its signature. Takes as long whatever it is. */
int nvt_ctl_key_fits(const struct nvt_ctl_key *key, const struct nvt_ctl_signed *message,
                     const unsigned char mac[NVT_CTL_MAC]);

#endif
