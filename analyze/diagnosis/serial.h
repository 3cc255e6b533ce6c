/*
 * The serial part of a program with several threads: time in which only one of them works, although others work in
 * parallel at other times of the same iteration. The rule `serial` reports it.
 *
 * Time counts that lies in iterations of the steady part (without any, all of it), and in which no device works for the
 * process. Of threads known by samples, stretches of three samples and more count. The one thread is one that enters
 * iterations, or without any the main thread; of several such threads that with the largest serial part. When threads
 * work is known as thread_work.h says.
 *
 * The others are a team if they work together with that thread: it goes on when they have done their work, a quarter of it at
 * least (three quarters where ranges alone are known). Threads that work
 * ahead of it, such as those that load data, do not hold it up, and are none; nor are threads that never work, or work in less
 * than half of the iterations.
 *
 * With n threads, an iteration of T with a serial part of S takes at best T − S + S/n, when that part is spread over all of them
 * (Amdahl 1967, "Validity of the single processor approach to achieving large scale computing capabilities"). n is how many
 * work at once for 5 % of the time or more.
 */
#ifndef NVT_SERIAL_H
#define NVT_SERIAL_H

#include "../studies/pairs.h"
#include "thread_work.h"

/* An avoidable serial part is reported from this share of the time on, and with this share of parallel time. */
#define NVT_SERIAL_SHARE    0.15
#define NVT_SERIAL_PARALLEL 0.1

/* Zero-initialise; release with nvt_serial_free. */
struct nvt_serial {
    uint32_t process, thread; /* the one that works */
    uint32_t others;          /* threads that wait meanwhile, and work at other times */
    uint32_t at_once;         /* n */
    double inside_ns;         /* T of all iterations */
    double ns;                /* S of all iterations */
    double parallel_ns;       /* two threads or more work */
    struct nvt_longest longest;
    struct nvt_span *items; /* the serial part */
    uint32_t count;
    /* whole 0; innermost ranges of the thread in it, as strings, 0: none */
    struct nvt_pairs ranges;
    struct nvt_pairs calls; /* whole 0; what others wait in, as strings */
    /* time of these; where it is for locks, it is contention, and no part to be shared out */
    double waiting_ns, locked_ns;
};

/* The serial part of a view to report: of several processes the largest. None where the others wait for locks for most
 * of it. 1, 0 where there is none, or -1 when out of memory. */
int nvt_serial_find(struct nvt_serial *serial, const struct nvt_view *view);
void nvt_serial_free(struct nvt_serial *serial);

/* The avoidable part of it: S − S/n, ns. */
double nvt_serial_gain(const struct nvt_serial *serial);

#endif
