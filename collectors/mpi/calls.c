/*
 * libnvtally-mpi-calls.so: every call of MPI is a range of NVTX. `record --trace mpi` puts it in front of the program's
 * libraries (LD_PRELOAD), so that calls come here first and go on to MPI from here. NVTX takes the ranges, so that other
 * tools see them, too.
 *
 * No MPI is needed to build it, and it goes with every MPI, as arguments are handed on as they are (pass_on.h). Handles are
 * pointers in Open MPI and numbers in MPICH.
 *
 * What MPI is asked about a call, the size of a type and that of a communicator, it is asked when the call has returned without an
 * error, and only of arguments that count at this rank: with another handle MPI would end the program. So bytes are told at the end
 * of a range, and the rest at its begin.
 */
#include "../../lib/mpi_payload.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include "../../lib/count_of.h"
#include "../outermost.h"
#include "../pass_on.h"
#include "exists.h"
#include "members.h"

#define EXPORT __attribute__((visibility("default")))

/* MPI's own number for an error that has no other. */
#define MPI_ERR_OTHER 16

#define ARGUMENTS 13

typedef word mpi_function(word, word, word, word, word, word, word, word, word, word, word, word,
                          word);

/* --- what calls say ----------------------------------------------------------------------------- */

enum kind { OTHER, P2P, COLLECTIVE, WAIT };

/* Which of a call's arguments say how much it gives and gets. */
enum shape {
    PLAIN,      /* none */
    SEND,       /* count, type */
    RECEIVE,    /* the same */
    EXCHANGE,   /* and those of what it gets */
    REPLACE,    /* it gives and gets as much */
    BROADCAST,  /* the root gives, the others get */
    REDUCE,     /* all give, the root gets */
    ALL_REDUCE, /* all give and get as much */
    EXCLUSIVE,  /* so, but for the first, which gets nothing */
    GATHER,     /* all give, the root gets as much of each */
    SCATTER,    /* the other way round */
    ALL_GATHER, /* all give, and get as much of each */
    ALL_TO_ALL, /* to each as much, and of each */
    PER_RANK,   /* what each gets is said: all give all of that */
};

/* Numbers of arguments, from 1; 0: there is none. */
struct call {
    const char *name;
    enum kind kind;
    enum shape shape;
    uint8_t count, type;         /* of what it gives, or of both */
    uint8_t got_count, got_type; /* of what it gets */
    uint8_t peer, tag, communicator;
    uint8_t other;    /* whom it gets from, of an exchange */
    uint8_t is_large; /* counts are whole words */
    /* the buffer of what it gives: MPI_IN_PLACE says that the counts before it are of no interest */
    uint8_t from;
    uint8_t made, freed; /* where the handle of a communicator lies that it makes, or frees */
};

static void *find_in(const char *library, const char *name)
{
    void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD), *found = NULL;
    if (handle) {
        found = dlsym(handle, name);
        dlclose(handle);
    }
    return found;
}

struct search {
    const char *name;
    void *found;
};

static int look_at_object(struct dl_phdr_info *info, size_t size, void *context)
{
    struct search *search = context;
    (void)size;
    if (strstr(info->dlpi_name, "libmpi"))
        search->found = find_in(info->dlpi_name, search->name);
    return search->found != NULL;
}

/* What the libraries behind this one have by this name, or an MPI that was loaded for somebody else alone by the other. */
static void *find_symbol(const char *name, const char *other)
{
    struct search search = {other, dlsym(RTLD_NEXT, name)};
    if (!search.found)
        dl_iterate_phdr(look_at_object, &search);
    return search.found;
}

/* MPI's own function of this name; with its profiling interface ("PMPI_Send") where it was loaded for somebody else alone. */
static void *find(const char *name)
{
    char own[64];
    snprintf(own, sizeof(own), "%c%s", name[0] == 'm' ? 'p' : 'P', name);
    return find_symbol(name, own);
}

/* Questions to MPI, none of which is a call that is recorded. */
enum question { TYPE_SIZE, COMMUNICATOR_SIZE, COMMUNICATOR_RANK, IS_BETWEEN_GROUPS, QUESTIONS };

/* -1: there is no answer. */
static int ask(enum question question, word object)
{
    static const char *const names[QUESTIONS] = {"PMPI_Type_size", "PMPI_Comm_size",
                                                 "PMPI_Comm_rank", "PMPI_Comm_test_inter"};
    static _Atomic(void *) known[QUESTIONS];
    void *function = atomic_load_explicit(&known[question], memory_order_relaxed);
    int answer = 0;
    if (!function) {
        function = find_symbol(names[question], names[question]);
        atomic_store_explicit(&known[question], function, memory_order_relaxed);
    }
    return !function || ((int (*)(word, int *))function)(object, &answer) ? -1 : answer;
}

static uint64_t bytes(const struct call *call, word count, word type, int ranks)
{
    word number = call->is_large ? count : (int)count;
    int64_t size = number > 0 && ranks > 0 ? ask(TYPE_SIZE, type) : 0;
    return number < 0 || size < 0 || ranks < 0
               ? UINT64_MAX
               : (uint64_t)number * (uint64_t)size * (uint64_t)ranks;
}

/* MPI_IN_PLACE: 1 in Open MPI, -1 in MPICH. */
static int is_in_place(word buffer)
{
    return buffer == 1 || buffer == -1;
}

static void measure_collective(const struct call *call, const word *a, struct nvt_mpi_said *said)
{
    word communicator = a[call->communicator];
    /* Between two groups roots and counts mean something else. */
    if (ask(IS_BETWEEN_GROUPS, communicator))
        return;
    int ranks = ask(COMMUNICATOR_SIZE, communicator), own = ask(COMMUNICATOR_RANK, communicator);
    int is_root = call->peer && own == (int)a[call->peer];
    int in_place = call->from && is_in_place(a[call->from]);
    const word count = a[call->count], type = a[call->type];
    switch (call->shape) {
    case BROADCAST:
        *(is_root ? &said->sent : &said->received) = bytes(call, count, type, 1);
        break;
    case REDUCE:
        said->sent = bytes(call, count, type, 1);
        if (is_root)
            said->received = said->sent;
        break;
    case ALL_REDUCE:
        said->sent = said->received = bytes(call, count, type, 1);
        break;
    case EXCLUSIVE:
        said->sent = bytes(call, count, type, 1);
        if (own)
            said->received = said->sent;
        break;
    case GATHER:
        if (!in_place)
            said->sent = bytes(call, count, type, 1);
        if (is_root)
            said->received = bytes(call, a[call->got_count], a[call->got_type], ranks);
        break;
    case SCATTER:
        if (is_root)
            said->sent = bytes(call, count, type, ranks);
        if (!is_in_place(a[call->from]))
            said->received = bytes(call, a[call->got_count], a[call->got_type], 1);
        break;
    case ALL_GATHER:
        said->received = bytes(call, a[call->got_count], a[call->got_type], ranks);
        said->sent = in_place ? bytes(call, a[call->got_count], a[call->got_type], 1)
                              : bytes(call, count, type, 1);
        break;
    case ALL_TO_ALL:
        said->received = bytes(call, a[call->got_count], a[call->got_type], ranks);
        said->sent = in_place ? said->received : bytes(call, count, type, ranks);
        break;
    case PER_RANK:
        said->sent = bytes(call, count, type, ranks);
        said->received = bytes(call, count, type, 1);
        break;
    default:
        break;
    }
}

/* Any rank and no rank have numbers below zero: one each in Open MPI, in MPICH and those that are built like it (Intel MPI), and in
 * MPI 5's own interface, which is a library of its own ("libmpi_abi.so"). */
static const struct peers {
    int32_t anybody, nobody;
} peers_of[] = {{-1, -2}, {-2, -1}, {-1, -3}};

static size_t which_peers(void)
{
    Dl_info info;
    if (find_symbol("ompi_mpi_comm_world", "ompi_mpi_comm_world"))
        return 0;
    void *function = find_symbol("PMPI_Type_size", "PMPI_Type_size");
    int is_common = function && dladdr(function, &info) && info.dli_fname &&
                    strstr(info.dli_fname, "libmpi_abi");
    return is_common ? 2 : 1;
}

/* A rank that a message is for or from. */
static int32_t peer_of(int32_t rank)
{
    static _Atomic size_t known; /* which of them, and 1 */
    if (rank >= 0)
        return rank;
    size_t which = atomic_load_explicit(&known, memory_order_relaxed);
    if (!which) {
        which = which_peers() + 1;
        atomic_store_explicit(&known, which, memory_order_relaxed);
    }
    const struct peers *peers = &peers_of[which - 1];
    return rank == peers->anybody ? NVT_MPI_ANYBODY : rank == peers->nobody ? NVT_MPI_NOBODY : rank;
}

static void measure(const struct call *call, const word *a, struct nvt_mpi_said *said)
{
    int is_message = said->peer != NVT_MPI_NOBODY;
    if (call->kind == COLLECTIVE && call->shape != PLAIN)
        measure_collective(call, a, said);
    if (call->shape == SEND || call->shape == EXCHANGE || call->shape == REPLACE)
        said->sent = is_message ? bytes(call, a[call->count], a[call->type], 1) : 0;
    if (call->shape == RECEIVE || call->shape == REPLACE)
        said->received = is_message ? bytes(call, a[call->count], a[call->type], 1) : 0;
    if (call->shape == EXCHANGE)
        said->received = peer_of((int32_t)a[call->other]) == NVT_MPI_NOBODY
                             ? 0
                             : bytes(call, a[call->got_count], a[call->got_type], 1);
}

/* --- ranges ------------------------------------------------------------------------------------- */

static nvtxDomainHandle_t domain;
static uint64_t schema;
static _Atomic int state; /* 0: nobody has begun, 1: somebody has, 2: done */

static void register_schema(void)
{
    static const nvtxPayloadSchemaEntry_t entries[] = {
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "communicator", NULL, 0, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "bytes sent", NULL, 0, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "bytes received", NULL, 0, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "peer", NULL, 0, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "tag", NULL, 0, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "rank", NULL, 0, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT32, "kind", NULL, 0, 0, NULL, NULL},
    };
    const nvtxPayloadSchemaAttr_t attributes = {
        .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
        .name = NVT_MPI_SCHEMA,
        .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
        .entries = entries,
        .numEntries = NVT_COUNT_OF(entries),
        .payloadStaticSize = sizeof(struct nvt_mpi_said)};
    domain = nvtxDomainCreateA(NVT_MPI_DOMAIN);
    schema = nvtxPayloadSchemaRegister(domain, &attributes);
}

/* The first call registers; what other threads call meanwhile is not recorded. */
static int is_ready(void)
{
    int expected = 0;
    if (atomic_load_explicit(&state, memory_order_acquire) == 2)
        return 1;
    if (!atomic_compare_exchange_strong(&state, &expected, 1))
        return 0;
    register_schema();
    atomic_store_explicit(&state, 2, memory_order_release);
    return 1;
}

/* As launchers say it, before MPI could be asked. */
static int32_t own_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "MV2_COMM_WORLD_RANK", "SLURM_PROCID"};
    static _Atomic int32_t known, is_known;
    if (atomic_load_explicit(&is_known, memory_order_acquire))
        return atomic_load_explicit(&known, memory_order_relaxed);
    int32_t rank = INT32_MIN;
    for (size_t i = 0; rank < 0 && i < NVT_COUNT_OF(names); i++) {
        const char *text = getenv(names[i]);
        char *end;
        long value = text ? strtol(text, &end, 10) : -1;
        if (text && end != text && !*end && value >= 0 && value < INT32_MAX)
            rank = (int32_t)value;
    }
    atomic_store_explicit(&known, rank, memory_order_relaxed);
    atomic_store_explicit(&is_known, 1, memory_order_release);
    return rank;
}

static void begin(const struct call *call, struct nvt_mpi_said *said)
{
    nvtxPayloadData_t payload = {schema, sizeof(*said), said};
    nvtxEventAttributes_t event = {.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .payloadType = NVTX_PAYLOAD_TYPE_EXT,
                                   .reserved0 = 1,
                                   .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                   .message = {.ascii = call->name}};
    event.payload.ullValue = (uint64_t)(uintptr_t)&payload;
    nvtxDomainRangePushEx(domain, &event);
}

/* How much it was, when it is known. */
static void end(const struct call *call, const word *a, struct nvt_mpi_said *said, int is_done)
{
    nvtxPayloadData_t payload = {schema, sizeof(*said), said};
    if (is_done && call->shape != PLAIN)
        measure(call, a, said);
    if (said->sent == UINT64_MAX && said->received == UINT64_MAX)
        nvtxDomainRangePop(domain);
    else
        nvtxRangePopPayload(domain, &payload, 1);
}

static word go_on(mpi_function *to, const word *a)
{
    return to(a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13]);
}

static __thread struct nvt_place *outermost;

/* Whether a call is one of the program's. One before it that was left has not been ended. */
static int is_outermost(struct nvt_place *place)
{
    enum nvt_entered entered = nvt_place_enter(&outermost, place);
    if (entered == NVT_ENTERED_AFRESH && is_ready())
        nvtxDomainRangePop(domain);
    return entered != NVT_ENTERED_WITHIN;
}

/* In Fortran arguments are the addresses of what they are in C. */
static void say(const struct call *call, const word *a, int is_fortran, struct nvt_mpi_said *said)
{
    *said = (struct nvt_mpi_said){.sent = UINT64_MAX,
                                  .received = UINT64_MAX,
                                  .peer = INT32_MIN,
                                  .tag = INT32_MIN,
                                  .rank = own_rank(),
                                  .kind = call->kind};
    if (call->peer)
        said->peer = is_fortran ? *(const int *)a[call->peer] : (int32_t)a[call->peer];
    if (call->peer && call->kind == P2P)
        said->peer = peer_of(said->peer);
    if (call->tag)
        said->tag = is_fortran ? *(const int *)a[call->tag] : (int32_t)a[call->tag];
    if (call->communicator)
        said->communicator = is_fortran ? (uint64_t) * (const unsigned *)a[call->communicator]
                                        : (uint64_t)a[call->communicator];
}

static const char here; /* in this library */

static void mark(const char *text)
{
    const nvtxEventAttributes_t event = {.version = NVTX_VERSION,
                                         .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                         .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                         .message = {.ascii = text}};
    nvtxDomainMarkEx(domain, &event);
}

/* As MPI ends: what of it we have not seen is a mark. */
static void tell_passed(void)
{
    char text[1024] = NVT_MPI_PASSED;
    const size_t length = sizeof(NVT_MPI_PASSED) - 1;
    nvt_mpi_passed(&here, text + length, sizeof(text) - length);
    if (text[length])
        mark(text);
}

static void *find_function(const char *name)
{
    return find_symbol(name, name);
}

/* Whose handle a communicator has from now on, or nobody (`is_freed`). */
static void tell_communicator(const void *at, int is_freed)
{
    char text[512] = NVT_MPI_COMMUNICATOR;
    const size_t length = sizeof(NVT_MPI_COMMUNICATOR) - 1;
    const enum nvt_mpi_handles handles = (enum nvt_mpi_handles)which_peers();
    if (!nvt_mpi_has_members(find_function))
        return;
    const uint64_t communicator = nvt_mpi_handle_at(handles, at);
    if (is_freed)
        snprintf(text + length, sizeof(text) - length, "%llu 0", (unsigned long long)communicator);
    else
        nvt_mpi_write_members(handles, communicator, find_function, text + length,
                              sizeof(text) - length);
    mark(text);
}

/* A call with its arguments from a[1] on. */
static word pass(const struct call *call, const char *name, _Atomic(void *) *known,
                 const word a[ARGUMENTS + 1], int is_fortran)
{
    struct nvt_mpi_said said;
    struct nvt_place place;
    void *real = atomic_load_explicit(known, memory_order_relaxed);
    if (!real) {
        real = find(name);
        atomic_store_explicit(known, real, memory_order_relaxed);
    }
    if (!real) {
        fprintf(stderr, "nvtally: %s: there is no MPI that has it\n", name);
        return MPI_ERR_OTHER;
    }
    if (!is_outermost(&place))
        return go_on((mpi_function *)real, a);
    int is_recorded = is_ready();
    if (is_recorded && !strcmp(call->name, "MPI_Finalize"))
        tell_passed();
    if (is_recorded) {
        say(call, a, is_fortran, &said);
        begin(call, &said);
    }
    if (is_recorded && call->freed && !is_fortran && a[call->freed])
        tell_communicator((const void *)a[call->freed], 1);
    word status = go_on((mpi_function *)real, a);
    const int is_done = is_recorded && !is_fortran && (int)status == 0;
    if (is_recorded)
        end(call, a, &said, is_done);
    if (is_done && call->made)
        tell_communicator((const void *)a[call->made], 0);
    nvt_place_leave(&outermost, &place);
    return status;
}

/* --- the calls ---------------------------------------------------------------------------------- */

/* A function of a name that is there where MPI has one of that name. */
#define RESOLVED(type, function, name, other, count)                                               \
    typedef type type_of_##function(PARAMETERS_##count);                                           \
    __attribute__((unused)) static type_of_##function *resolve_##function(void)                    \
    {                                                                                              \
        return nvt_mpi_exists(name, other, &here) ? call_of_##function : NULL;                     \
    }                                                                                              \
    EXPORT type function(PARAMETERS_##count) __attribute__((ifunc("resolve_" #function)));

#define CALL_NAMED(Name, function, count, ...)                                                     \
    static const struct call call_##function = {.name = "MPI_" #Name, __VA_ARGS__};                \
    static int call_of_MPI_##function(PARAMETERS_##count)                                          \
    {                                                                                              \
        static _Atomic(void *) known;                                                              \
        const word arguments[ARGUMENTS + 1] = {0 GIVEN_##count};                                   \
        return (int)pass(&call_##function, "MPI_" #function, &known, arguments, 0);                \
    }                                                                                              \
    RESOLVED(int, MPI_##function, "MPI_" #function, "PMPI_" #function, count)

#define CALL_OF_C(Name, count, kind_, ...)                                                         \
    CALL_NAMED(Name, Name, count, .kind = kind_, .shape = __VA_ARGS__)

/* The same with counts that are whole words (MPI 4): of the same name in a trace. */
#define LARGE(Name, count, kind_, ...)                                                             \
    CALL_NAMED(Name, Name##_c, count, .is_large = 1, .kind = kind_, .shape = __VA_ARGS__)

/* In Fortran, which has the error behind its arguments. */
#define CALL_OF_FORTRAN(Name, function, count)                                                     \
    static void call_of_##function(PARAMETERS_##count)                                             \
    {                                                                                              \
        static _Atomic(void *) known;                                                              \
        const word arguments[ARGUMENTS + 1] = {0 GIVEN_##count};                                   \
        (void)pass(&call_##Name, #function, &known, arguments, 1);                                 \
    }                                                                                              \
    RESOLVED(void, function, #function, "p" #function, count)

/* With mpi_f08 in Open MPI, too. That of MPICH calls the functions of C. */
#define CALL(Name, fortran, count, with_error, kind_, ...)                                         \
    CALL_OF_C(Name, count, kind_, __VA_ARGS__)                                                     \
    CALL_OF_FORTRAN(Name, mpi_##fortran##_, with_error)                                            \
    CALL_OF_FORTRAN(Name, mpi_##fortran##_f08_, with_error)
#define COUNTED(Name, fortran, count, with_error, ...)                                             \
    CALL(Name, fortran, count, with_error, __VA_ARGS__)                                            \
    LARGE(Name, count, __VA_ARGS__)

#include "list.def"
