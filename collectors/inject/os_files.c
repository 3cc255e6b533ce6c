/*
 * Names of what calls work with, and of who makes them: each is asked for once, when it is first used, and is a definition in
 * the rings of the threads that use it.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <link.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "find_object.h"
#include "events.h"
#include "names.h"
#include "os.h"
#include "session.h"

/* Ids are below this: a thread has a bit for each. */
#define FILES   (8 * sizeof(((struct nvt_thread *)0)->files_seen))
#define BUCKETS 16384u

struct file {
    struct file *next;
    union nvt_key key;
    uint32_t id, length;
    char text[];
};
static struct file *_Atomic buckets[BUCKETS], *_Atomic by_id[FILES];
static _Atomic uint32_t last_id;

/* Of each descriptor, the id of what it stands for; 0: not asked yet. */
static _Atomic uint32_t of_descriptor[NVT_OS_DESCRIPTORS];
#define NO_FILE UINT32_MAX

static struct file *_Atomic *bucket_of(const union nvt_key *key)
{
    const uint64_t hash = nvt_key_hash(key->words[0], key->words[1], key->words[2], key->words[3]);
    return &buckets[(hash >> 40) % BUCKETS];
}

/* No more than FILES are kept, nor asked for memory: a program may come by millions of names. */
static const struct file *file_of(const char *text)
{
    union nvt_key key;
    size_t length = strnlen(text, NVT_STRING_MAX);
    nvt_key_make(&key, text, length);
    struct file *_Atomic *bucket = bucket_of(&key);
    for (struct file *known = atomic_load(bucket); known; known = known->next)
        if (nvt_key_equal(&known->key, &key))
            return known;
    struct file *fresh =
        atomic_load(&last_id) + 1 < FILES ? nvt_session_memory(sizeof(*fresh) + length + 1) : NULL;
    uint32_t id = fresh ? atomic_fetch_add(&last_id, 1) + 1 : FILES;
    if (id >= FILES)
        return NULL;
    *fresh = (struct file){
        .next = atomic_load(bucket), .key = key, .id = id, .length = (uint32_t)length};
    /* No memcpy, which ThreadSanitizer would see in a program of its own, where it does not see what orders it. */
    for (size_t i = 0; i < length; i++)
        ((volatile char *)fresh->text)[i] = text[i];
    atomic_store(&by_id[id], fresh);
    while (!atomic_compare_exchange_weak(bucket, &fresh->next, fresh)) {
    }
    return fresh;
}

/* Its id when it is defined in the thread's ring, else 0. */
static uint32_t define(struct nvt_thread *thread, const struct file *file)
{
    if (!file)
        return 0;
    uint8_t *seen = &thread->files_seen[file->id / 8], bit = (uint8_t)(1u << (file->id % 8));
    if (NVT_LIKELY(*seen & bit))
        return file->id;
    uint64_t header[2] = {file->id, file->length};
    struct nvt_piece pieces[2] = {{header, sizeof(header)}, {file->text, file->length}};
    nvt_thread_enter(thread);
    int status = nvt_thread_record(thread, NVT_WORD(NVT_DEFINE_FILE, 0, 0, 0, 0), pieces, 2);
    if (!status)
        thread->files_seen[file->id / 8] |= bit;
    nvt_thread_leave(thread);
    return status ? 0 : file->id;
}

uint32_t nvt_os_path(struct nvt_thread *thread, const char *path)
{
    return *path ? define(thread, file_of(path)) : 0;
}

/* The other end of a socket, "socket" where there is none. */
static void name_socket(int descriptor, char *out, size_t size)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_un local;
    } end = {.any = {.sa_family = AF_UNSPEC}};
    socklen_t length = sizeof(end);
    char host[INET6_ADDRSTRLEN];
    snprintf(out, size, "socket");
    if (getpeername(descriptor, &end.any, &length))
        return;
    if (end.any.sa_family == AF_INET && inet_ntop(AF_INET, &end.v4.sin_addr, host, sizeof(host)))
        snprintf(out, size, "socket %s:%d", host, ntohs(end.v4.sin_port));
    else if (end.any.sa_family == AF_INET6 &&
             inet_ntop(AF_INET6, &end.v6.sin6_addr, host, sizeof(host)))
        snprintf(out, size, "socket [%s]:%d", host, ntohs(end.v6.sin6_port));
    else if (end.any.sa_family == AF_UNIX && length > offsetof(struct sockaddr_un, sun_path) &&
             end.local.sun_path[0])
        snprintf(out, size, "socket %.*s", (int)(length - offsetof(struct sockaddr_un, sun_path)),
                 end.local.sun_path);
}

/* What /proc calls it, pipes and sockets without their numbers, of which there is no end. */
static int name_descriptor(int descriptor, char *out, size_t size)
{
    char link[40];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, out, size - 1);
    if (length <= 0)
        return -1;
    out[length] = 0;
    if (!strncmp(out, "socket:[", 8))
        name_socket(descriptor, out, size);
    else if (!strncmp(out, "pipe:[", 6))
        out[4] = 0;
    return 0;
}

/* The last part of the path of what is loaded there; of the program itself the linker knows none. */
static const char *name_library(const void *address, char *out, size_t size)
{
    struct nvt_object found;
    /* It takes no lock, as dladdr does, which a thread that loads a library may hold while it waits for us. */
    if (nvt_find_object((uintptr_t)address, &found))
        return NULL;
    const char *slash = strrchr(found.path, '/');
    if (*found.path)
        return slash ? slash + 1 : found.path;
    ssize_t length = readlink("/proc/self/exe", out, size - 1);
    out[length > 0 ? length : 0] = 0;
    slash = strrchr(out, '/');
    return slash ? slash + 1 : NULL;
}

uint32_t nvt_os_library(struct nvt_thread *thread, const void *address)
{
    char name[512];
    struct nvt_caller *known = &thread->callers[(uintptr_t)address / 4 % NVT_CALLERS];
    if (NVT_UNLIKELY(known->address != address)) {
        const char *text = name_library(address, name, sizeof(name));
        const struct file *file = text ? file_of(text) : NULL;
        *known = (struct nvt_caller){address, file ? file->id : 0};
    }
    return known->file
               ? define(thread, atomic_load_explicit(&by_id[known->file], memory_order_acquire))
               : 0;
}

uint32_t nvt_os_file(struct nvt_thread *thread, int descriptor)
{
    char name[512];
    if (descriptor >= NVT_OS_DESCRIPTORS)
        return 0;
    uint32_t id = atomic_load_explicit(&of_descriptor[descriptor], memory_order_relaxed);
    if (id == NO_FILE)
        return 0;
    if (NVT_LIKELY(id))
        return define(thread, atomic_load_explicit(&by_id[id], memory_order_acquire));
    const struct file *file =
        name_descriptor(descriptor, name, sizeof(name)) ? NULL : file_of(name);
    /* A child of vfork has descriptors of its own, and its parent's memory. */
    if (!nvt_os_is_borrowed(thread))
        atomic_store_explicit(&of_descriptor[descriptor], file ? file->id : NO_FILE,
                              memory_order_release);
    return define(thread, file);
}

void nvt_os_forget(int descriptor)
{
    const struct nvt_thread *thread = nvt_self;
    if (descriptor < 0 || descriptor >= NVT_OS_DESCRIPTORS ||
        !atomic_load_explicit(&of_descriptor[descriptor], memory_order_relaxed))
        return;
    /* What a child of vfork closes stays open in its parent, whose names these are: the name of a socket whose other end has
     * gone is not to be had again. */
    if (!thread || !thread->slots || !nvt_os_is_borrowed(thread))
        atomic_store_explicit(&of_descriptor[descriptor], 0, memory_order_relaxed);
}
