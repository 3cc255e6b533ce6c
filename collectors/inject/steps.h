/*
 * Iterations: the ranges that record --iteration names, or --on-slow.
 *
 * `nvtally ctl steps N`: only some iterations of a dormant session are recorded. Each process counts its iterations, whether anything is
 * recorded or not; the recorder writes on the control page which numbers are wanted. As all processes count alike, they record the same
 * iterations, whenever they come to them. What lies between two of these is recorded, too.
 */
#ifndef NVT_INJECT_STEPS_H
#define NVT_INJECT_STEPS_H

#include "events.h"

extern int nvt_steps_watch; /* the session knows what its iterations are */

/* With one of these letters the name of an iteration begins, or that of its domain. */
extern char nvt_steps_letters[2];

/* Pushes of the thread since its last iteration began that are none by their first letter, and left out. */
extern __thread uint32_t nvt_steps_others __attribute__((tls_model("initial-exec")));

/* The process has joined it. */
void nvt_steps_begin(void);

/* Called for each push and start of such a session, before anything else: count it if it begins an iteration. */
void nvt_steps_note(const struct nvt_event *event);

/* What the event is that the thread has noted last: the beginning of the first iteration that is wanted, of the last, of both. After the
 * first, they have begun. */
enum { NVT_STEPS_FIRST = 1, NVT_STEPS_LAST = 2 };
int nvt_steps_noted(void);
int nvt_steps_have_begun(void);

/* This process has recorded the last of them; whether it has, and nothing else is asked for. */
void nvt_steps_done(void);
int nvt_steps_are_over(void);

#endif
