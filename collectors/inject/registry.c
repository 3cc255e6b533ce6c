#include "registry.h"

#include <string.h>

#include "session.h"

/* A tree by two bits of the hash a step, from the top: a million texts are some ten steps deep. Nothing in it ever moves. */
static struct nvtxStringRegistration *_Atomic strings;
static struct nvtxDomainRegistration_st *_Atomic domains;

/* The registration of this text, which is made where there is none if it `is_wanted`. */
static struct nvtxStringRegistration *find_string(const char *text, int is_wanted)
{
    union nvt_key key;
    size_t length = strnlen(text, NVT_STRING_MAX);
    nvt_key_make(&key, text, length);
    uint64_t hash = nvt_key_hash(key.words[0], key.words[1], key.words[2], key.words[3]);
    struct nvtxStringRegistration *_Atomic *place = &strings, *fresh = NULL;
    for (;; hash <<= 2) {
        struct nvtxStringRegistration *known = atomic_load(place);
        if (!known && !is_wanted)
            return NULL;
        if (!known && !fresh) {
            fresh = nvt_session_memory(sizeof(*fresh) + length + 1);
            if (!fresh)
                return NULL;
            fresh->key = key;
            fresh->length = (uint32_t)length;
            memcpy(fresh->text, text, length);
        }
        /* On failure `known` is what another thread has just put there. */
        if (!known && atomic_compare_exchange_strong(place, &known, fresh))
            return fresh;
        if (nvt_key_equal(&known->key, &key))
            return known;
        place = &known->below[hash >> 62];
    }
}

struct nvtxStringRegistration *nvt_registry_string(const char *text)
{
    return find_string(text, 1);
}

const struct nvtxStringRegistration *nvt_registry_known(const char *text)
{
    return find_string(text, 0);
}

nvtxDomainHandle_t nvt_registry_domain(const char *name)
{
    size_t length = strnlen(name, NVT_STRING_MAX);
    struct nvtxDomainRegistration_st *head = atomic_load(&domains), *fresh = NULL;
    if (!length)
        return NULL;
    for (;;) {
        for (struct nvtxDomainRegistration_st *known = head; known; known = known->next)
            if (known->length == length && !memcmp(known->name, name, length))
                return known;
        uint32_t number = head ? head->number + 1 : 1;
        if (!fresh)
            fresh = number < 65536 ? nvt_session_memory(sizeof(*fresh) + length + 1) : NULL;
        if (!fresh || number > 65535)
            return NULL;
        fresh->number = number;
        fresh->length = (uint32_t)length;
        memcpy(fresh->name, name, length);
        fresh->next = head;
        if (atomic_compare_exchange_strong(&domains, &head, fresh))
            return fresh;
    }
}
