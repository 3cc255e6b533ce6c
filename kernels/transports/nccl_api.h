/*
 * What is used of NCCL, as its header declares it (NCCL 2.4 and later), so that nothing but the
 * library itself is needed, and that only at run time. Streams are CUDA's.
 * https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api.html
 */
#ifndef NVT_NCCL_API_H
#define NVT_NCCL_API_H

#include <stddef.h>

enum { NCCL_SUCCESS = 0, NCCL_IN_PROGRESS = 7 }; /* of ncclResult_t */
enum { NCCL_INT8 = 0 };                          /* of ncclDataType_t */

typedef struct nccl_comm *nccl_comm;

typedef struct {
    char internal[128];
} nccl_id;

struct nccl_api {
    int (*get_version)(int *version);
    const char *(*error_string)(int result);
    int (*get_id)(nccl_id *id);
    int (*init)(nccl_comm *comm, int ranks, nccl_id id, int rank);
    int (*send)(const void *data, size_t count, int type, int peer, nccl_comm comm, void *stream);
    int (*receive)(void *data, size_t count, int type, int peer, nccl_comm comm, void *stream);
    int (*group_start)(void);
    int (*group_end)(void);
    int (*async_error)(nccl_comm comm, int *result);
    int (*abort)(nccl_comm comm);
    int (*destroy)(nccl_comm comm);
    const char *(*last_error)(nccl_comm comm); /* behind those of NCCL_NAMES; NULL before 2.13 */
};

/* Their names in the library, in the order of the members. */
#define NCCL_NAMES                                                                                 \
    {                                                                                              \
        "ncclGetVersion", "ncclGetErrorString", "ncclGetUniqueId", "ncclCommInitRank", "ncclSend", \
            "ncclRecv", "ncclGroupStart", "ncclGroupEnd", "ncclCommGetAsyncError",                 \
            "ncclCommAbort", "ncclCommDestroy"                                                     \
    }

#endif
