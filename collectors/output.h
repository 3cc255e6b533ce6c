/*
 * A trace in the making: strings, processes, threads and definitions are written before the first
 * chunk that refers to them, and again later when the disk was full.
 */
#ifndef NVT_OUTPUT_H
#define NVT_OUTPUT_H

#include "../lib/clock.h"
#include "../lib/costs.h"
#include "../lib/strings.h"
#include "../lib/trace_file.h"
#include "retain.h"

struct nvt_output;
struct nvt_functions;

/* An existing file is left unchanged until nvt_output_begin, as with nvt_trace_writer_open. */
struct nvt_output *nvt_output_new(const char *path, int level, struct nvt_error *err);
int nvt_output_begin(struct nvt_output *output, struct nvt_error *err);

/* A trace that is there is kept, as with nvt_trace_writer_keep, from nvt_output_begin on under the name nvt_output_kept
 * (NULL: none was there). 0, or -1 with err. */
int nvt_output_keep(struct nvt_output *output, struct nvt_error *err);
const char *nvt_output_kept(const struct nvt_output *output);

/* Where to note 1 while the file is being written to and 0 otherwise, and what to count up before that 0: who
 * reads it finds the count grown. Both outlive the output. */
void nvt_output_tell(struct nvt_output *output, _Atomic uint32_t *writing,
                     _Atomic uint64_t *written);

/* Something else that may take its time begins (1), or has ended (0): it is noted as a write is. */
void nvt_output_takes_time(struct nvt_output *output, int begins);

/* Keep only the latest part of what is written (retain.h). 0, or -1 with err: the file is none that can be cut, or
 * there is no memory. */
int nvt_output_retain(struct nvt_output *output, const struct nvt_retain_limits *limits,
                      struct nvt_error *err);

/* So many bytes of events, before compression, are worth a chunk. */
size_t nvt_output_chunk_bytes(const struct nvt_output *output);

/* Go on with cutting; whether there is more to do soon. Where nothing is to be cut, nothing happens. */
int nvt_output_cut(struct nvt_output *output, enum nvt_clock clock);

/* What is older may be cut off, ns; 0: nothing for its age. */
int64_t nvt_output_age(const struct nvt_output *output);

/* How often the front of the file has been cut off. */
uint64_t nvt_output_cuts(const struct nvt_output *output);

/* At the end of the recording: the rest of it. 0, or -1 with err: what is too old may be in the file. */
int nvt_output_cut_all(struct nvt_output *output, enum nvt_clock clock, struct nvt_error *err);

/* Leave the file as it was, and free the output. */
void nvt_output_discard(struct nvt_output *output);

/* Write the last chunk (see docs/trace-format.md, END) and close. 0 or -1 with err. */
int nvt_output_close(struct nvt_output *output, int wait_status, uint64_t lost,
                     struct nvt_error *err);

/* The file's id of a text. NVT_NO_STRING when out of memory. */
uint32_t nvt_output_string(struct nvt_output *output, const char *text, size_t length);

/* The text of an id, owned by the output. */
const char *nvt_output_text(const struct nvt_output *output, uint32_t string);

/* The index of a process, added when new; of a new thread. UINT32_MAX when out of memory. */
uint32_t nvt_output_process(struct nvt_output *output, int pid, int parent, uint64_t image,
                            const char *command, const struct nvt_costs *costs);
uint32_t nvt_output_thread(struct nvt_output *output, uint32_t process, int tid, const char *name);

/* Keep a definition of a process; `extra` are bytes that follow the name. 0, or -1 when out of
 * memory. */
int nvt_output_define(struct nvt_output *output, uint32_t process, enum nvt_definition kind,
                      uint32_t domain, uint64_t id, uint32_t value, const char *text,
                      size_t length);

/* Facts and moments. 0, or -1 with err. */
int nvt_output_fact(struct nvt_output *output, const char *key, const char *value);
int nvt_output_clock(struct nvt_output *output, enum nvt_clock clock, struct nvt_error *err);

/* Write all that the chunk refers to, then the chunk. 0, or -1 with err. */
int nvt_output_chunk(struct nvt_output *output, const struct nvt_chunk *chunk, const void *payload,
                     size_t size, struct nvt_error *err);

/* CLOCK_MONOTONIC where the trace's time axis begins, its first moment. 0: none was written. */
int64_t nvt_output_origin(const struct nvt_output *output);

/* A duration in ticks, by what has gone by since that first moment. */
uint64_t nvt_output_ticks(const struct nvt_output *output, enum nvt_clock clock, int64_t ns);

/* There will be CPU samples. */
void nvt_output_take_samples(struct nvt_output *output);

/* Functions whose names its strings have; made on first use. NULL when out of memory, or there are to be no samples. */
struct nvt_functions *nvt_output_functions(struct nvt_output *output);

uint64_t nvt_output_size(const struct nvt_output *output);
uint32_t nvt_output_processes(const struct nvt_output *output);
uint32_t nvt_output_threads(const struct nvt_output *output);

#endif
