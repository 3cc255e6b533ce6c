#include "ctl_key.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/count_of.h"

enum { KEY_LEAST = 32, KEY_MOST = 4096 };

/* As libsodium 1.0 documents them. */
struct nvt_ctl_key {
    void *library;
    int (*start)(void);
    size_t (*state_bytes)(void);
    int (*init)(void *state, const unsigned char *key, size_t length);
    int (*update)(void *state, const unsigned char *in, unsigned long long length);
    int (*final)(void *state, unsigned char *out);
    int (*compare)(const void *a, const void *b, size_t length);
    size_t length;
    unsigned char bytes[KEY_MOST];
};

static int load(struct nvt_ctl_key *key, struct nvt_error *err)
{
    static const char *const names[] = {"libsodium.so.26", "libsodium.so.23", "libsodium.so"};
    const struct {
        const char *name;
        void *place;
    } functions[] = {{"sodium_init", &key->start},
                     {"crypto_auth_hmacsha256_statebytes", &key->state_bytes},
                     {"crypto_auth_hmacsha256_init", &key->init},
                     {"crypto_auth_hmacsha256_update", &key->update},
                     {"crypto_auth_hmacsha256_final", &key->final},
                     {"sodium_memcmp", &key->compare}};
    for (size_t i = 0; i < NVT_COUNT_OF(names) && !key->library; i++)
        key->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!key->library)
        return nvt_fail(err, "--key needs libsodium (Debian: libsodium23)");
    for (size_t i = 0; i < NVT_COUNT_OF(functions); i++) {
        void *function = dlsym(key->library, functions[i].name);
        if (!function)
            return nvt_fail(err, "--key: libsodium has no %s", functions[i].name);
        memcpy(functions[i].place, &function, sizeof(function));
    }
    return key->start() < 0 ? nvt_fail(err, "--key: libsodium does not start") : 0;
}

static int read_bytes(struct nvt_ctl_key *key, int descriptor, const char *path,
                      struct nvt_error *err)
{
    struct stat status;
    if (fstat(descriptor, &status))
        return nvt_fail_at(err, path, -1, "%s", strerror(errno));
    if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() || status.st_mode & 077)
        return nvt_fail_at(err, path, -1,
                           "a key must be a file that you alone may read: chmod 600");
    if (status.st_size < KEY_LEAST || status.st_size > KEY_MOST)
        return nvt_fail_at(err, path, -1, "a key has from %d to %d bytes", KEY_LEAST, KEY_MOST);
    key->length = (size_t)status.st_size;
    return read(descriptor, key->bytes, key->length) == (ssize_t)key->length
               ? 0
               : nvt_fail_at(err, path, -1, "cannot be read");
}

struct nvt_ctl_key *nvt_ctl_key_read(const char *path, struct nvt_error *err)
{
    const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) {
        nvt_fail_at(err, path, -1, "%s", strerror(errno));
        return NULL;
    }
    struct nvt_ctl_key *key = calloc(1, sizeof(*key));
    int status = key ? read_bytes(key, descriptor, path, err) : nvt_fail(err, "out of memory");
    close(descriptor);
    if (!status)
        status = load(key, err);
    if (!status)
        return key;
    nvt_ctl_key_free(key);
    return NULL;
}

void nvt_ctl_key_free(struct nvt_ctl_key *key)
{
    if (key && key->library)
        dlclose(key->library);
    if (key)
        explicit_bzero(key, sizeof(*key));
    free(key);
}

/* The kind with its NUL, and the nonces, have a length of their own each: no two messages are the same bytes. */
int nvt_ctl_key_sign(const struct nvt_ctl_key *key, const struct nvt_ctl_signed *message,
                     unsigned char mac[NVT_CTL_MAC])
{
    void *state = malloc(key->state_bytes());
    if (!state)
        return -1;
    key->init(state, key->bytes, key->length);
    key->update(state, (const unsigned char *)message->kind, strlen(message->kind) + 1);
    key->update(state, message->server, NVT_CTL_NONCE);
    key->update(state, message->client, NVT_CTL_NONCE);
    key->update(state, (const unsigned char *)message->text, message->length);
    key->final(state, mac);
    free(state);
    return 0;
}

int nvt_ctl_key_fits(const struct nvt_ctl_key *key, const struct nvt_ctl_signed *message,
                     const unsigned char mac[NVT_CTL_MAC])
{
    unsigned char own[NVT_CTL_MAC];
    return !nvt_ctl_key_sign(key, message, own) && !key->compare(own, mac, NVT_CTL_MAC);
}
