/* What the parts of the stand-in for libcupti share. */
#ifndef NVT_TESTS_STAND_IN_PARTS_H
#define NVT_TESTS_STAND_IN_PARTS_H

#include <cupti.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "stand_in.h"

struct stand_in_state {
    pthread_mutex_t lock;
    CUpti_BuffersCallbackRequestFunc requested;
    CUpti_BuffersCallbackCompleteFunc completed;
    CUpti_TimestampCallbackFunc timestamp;
    CUpti_CallbackFunc callback;
    int has_other; /* subscriber: CUPTI is that one's */
    int is_second; /* it was subscribed by the second interface (second.c): the first may not be used any more */
    int thread_ids;
    _Atomic int coming_up, is_down; /* the driver is */
    _Atomic int has_driver;  /* it is up, which has been told where somebody wanted to know */
    _Atomic int has_context; /* it has been told of one */
    uint8_t counters[16];    /* of managed memory, that are configured */
    _Atomic int is_over;     /* it has been flushed by force */
    int gets_zeros;          /* buffers have to come with nothing else */
    int wants_answers;       /* of questions, only those that something has ended are recorded */
    uint8_t on[64];          /* kinds */
    uint8_t calls[2][4096];  /* single calls: driver, runtime */
    _Atomic int was_called;  /* a program has called */
    int heard[2];            /* single calls were asked for by then */
    uint8_t callbacks[8][4096];
    uint8_t *buffer;
    size_t size, used;
    int incomplete; /* records in the buffer that never end */
    uint64_t dropping, dropped;
    uint32_t correlation;
};
extern struct stand_in_state stand_in;

/* $STAND_IN_REFUSES names it. */
int stand_in_refuses(const char *what);

/* To be called where a program calls the first interface: it aborts one that mixes both. The second one's functions are made of the
 * first one's, between these two. */
void stand_in_is_first(void);
void stand_in_enter_second(void);
void stand_in_leave_second(void);

/* second.c: other subscribers get the record, too, if they want its kind. */
void stand_in_give_others(const void *record, size_t size);

/* selected.c: a record as those who use the second interface want it, of selected fields if they have asked for that: `size` and what is
 * returned, `room` or the record itself. And what such a record takes; 0: they have all fields. */
const void *stand_in_selected(const void *record, size_t *size, void *room);
size_t stand_in_selected_size(uint32_t kind);

/* The time as CUPTI has it. */
uint64_t stand_in_now(void);

/* A record into the buffer; complete = 0: it never ends. */
void stand_in_put(const void *record, size_t size, int complete);
#define PUT(record) stand_in_put(&(record), sizeof(record), 1)

/* The calling thread, as records name it. */
uint32_t stand_in_thread(void);

/* A call of the runtime (1) or the driver (0) that ends now, if its record is wanted. */
void stand_in_record_call(int runtime, uint32_t id, uint64_t start, uint32_t correlation);

/* CUPTI's number of a stream. */
uint32_t stand_in_stream(const void *handle);

/* The number of a runtime call by its name without "_v3020"; 0 when there is none. */
uint32_t stand_in_call_id(const char *function);

#endif
