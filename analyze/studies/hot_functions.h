/*
 * What threads run, by function: the samples of a trace (cpu_samples) added up.
 *
 * A function is a name in a module. What is in a module and of no known name ("0x1234", "[libx.so.1]") is one function of it, "[libx.so.1]". Of a function in Python
 * frames have the line that runs: "forward (model.py)" is all of "forward (model.py:117)" and others.
 * Its own time, `self`, is that of the samples that it was the innermost function of; its `total` that of all whose stack it
 * is on, of one that calls itself once. A sample of which the function alone is known (NVT_CPU_SAMPLE_NO_CALLERS) counts
 * for that function, and for the totals of none that called it: where there are such, totals are what is known at least.
 *
 * Time is the CPU time that samples stand for. Where any sample of a trace does not say it, each of them counts 1:
 * shares are right then, as far as samples come at even distances of CPU time, and there are no times.
 */
#ifndef NVT_HOT_FUNCTIONS_H
#define NVT_HOT_FUNCTIONS_H

#include "../../lib/buffer.h"
#include "../model/trace.h"

/* What stands for functions of which neither name nor module is known, and for the function of a sample that has none. */
#define NVT_UNKNOWN_FUNCTION "[unknown]"
/* The module of what an interpreter runs. */
#define NVT_PYTHON_MODULE "Python"
/* From how many samples on a share says something; its interval is nvt_share_interval's (lib/sample.h). */
#define NVT_FEW_SAMPLES 30

/* Whose a function is. */
enum nvt_function_owner {
    NVT_OF_UNKNOWN,
    NVT_OF_PYTHON,      /* interpreted, of no module */
    NVT_OF_PROGRAM,     /* in a module that is no library */
    NVT_OF_LIBRARY,     /* in one that is */
    NVT_OF_INTERPRETER, /* in Python's own, whether program or library */
    NVT_OF_SYSTEM,      /* the kernel's: "[kernel]", "[vdso]" */
};

/* Texts are the trace's, static, or of the list of functions. */
struct nvt_sampled_function {
    const char *name, *module; /* module: without folders; NVT_PYTHON_MODULE; "" unknown */
    enum nvt_function_owner owner;
};

/* Whose the function of a row of call_frames is. */
enum nvt_function_owner nvt_frame_owner(const struct nvt_trace *trace, uint32_t row);

/* Whether it is what the program's author wrote, where that is known: Python's, or in no library; without what begins
 * every program and every thread (_start, Python's threading). */
int nvt_is_own_frame(const struct nvt_trace *trace, uint32_t row);

/* Whether a module, without folders, is Python itself: "python3.12", "libpython3.12.so.1.0". */
int nvt_is_interpreter(const char *module);

/* Whether a function has no known name: none, or its address. */
int nvt_is_nameless(const char *name);

/* What a row of call_frames is called: its name, of one that has none "[libx.so.1]" after its module, which goes into `out`. */
#define NVT_FRAME_NAME_MAX 256
const char *nvt_frame_name(const struct nvt_trace *trace, uint32_t row,
                           char out[NVT_FRAME_NAME_MAX]);

/* Append the innermost functions of the program's own of a stack, three at most: "save (model.py:12) < main (train.py:80)".
 * `frame`: a row of call_frames, and 1; 0, or without such functions: nothing. 0, or -1 when out of memory. */
int nvt_put_own_callers(const struct nvt_trace *trace, uint32_t frame, struct nvt_buffer *text);

/* The functions of a trace. Zero-initialise; release with nvt_sampled_functions_free. */
struct nvt_sampled_functions {
    const struct nvt_trace *trace;
    struct nvt_sampled_function *items; /* the first is NVT_UNKNOWN_FUNCTION */
    uint32_t count;
    struct nvt_strings *texts; /* of its own */
    uint32_t *of_frame;        /* of each row of call_frames: which function */
    /* of each row: that of the innermost function of the program's own (Python's, where it is
     * interpreted) that called it, and 1; 0: none is known. Another function. */
    uint32_t *own_caller;
    uint8_t *is_outermost; /* of each row: the same function is not around it */
    int has_times; /* all samples say which CPU time they stand for; to be cleared where other traces' do not */
};

/* What is one function. */
enum nvt_sampled_functions_by {
    NVT_BY_FUNCTION,
    NVT_BY_MODULE, /* all of a module, under an empty name */
};

/* Linear in the trace's frames and samples. 0, or -1 with err filled (out of memory). */
int nvt_sampled_functions_make(struct nvt_sampled_functions *functions,
                               const struct nvt_trace *trace, enum nvt_sampled_functions_by by,
                               struct nvt_error *err);
void nvt_sampled_functions_free(struct nvt_sampled_functions *functions);

/* Whether a function is what the program's author wrote, where that is known. */
static inline int nvt_is_own_function(const struct nvt_sampled_functions *functions,
                                      uint32_t function)
{
    return functions->items[function].owner == NVT_OF_PYTHON ||
           functions->items[function].owner == NVT_OF_PROGRAM;
}

/* The innermost function of a sample. */
static inline uint32_t nvt_function_of(const struct nvt_sampled_functions *functions,
                                       uint32_t sample)
{
    uint32_t frame = functions->trace->cpu_samples.frame[sample];
    return frame ? functions->of_frame[frame - 1] : 0;
}

/* What a sample counts: ns, or 1. */
static inline int64_t nvt_sample_weight(const struct nvt_sampled_functions *functions,
                                        uint32_t sample)
{
    return functions->has_times ? functions->trace->cpu_samples.cpu_ns[sample] : 1;
}

/* A function in a sentence: "forward (model.py)", "mm (libtorch_cpu.so)", "[libgomp.so.1]": of a name in C++ without scopes,
 * templates and parameters. Cut to what fits; returns out. */
#define NVT_FUNCTION_TEXT_MAX 96
const char *nvt_function_text(const struct nvt_sampled_function *function,
                              char out[NVT_FUNCTION_TEXT_MAX]);
#define NVT_FUNCTION_TEXT(function) nvt_function_text((function), (char[NVT_FUNCTION_TEXT_MAX]){0})

/* --- some of the samples, added up --- */

struct nvt_hot_function {
    int64_t self, total;             /* ns, or samples */
    uint32_t samples, total_samples; /* of self, of total */
};

/* Zero-initialise but for `functions`; release with nvt_hot_free. */
struct nvt_hot {
    const struct nvt_sampled_functions *functions;
    struct nvt_hot_function *items; /* of each function */
    int64_t all;
    uint32_t samples, alone; /* in all; those without callers */
    /* of each row of call_frames; in both with those it calls, from nvt_hot_finish on */
    int64_t *frame_all;
    uint32_t *frame_samples;
};

/* Room, in time linear in the trace's frames. 0, or -1 when out of memory. */
int nvt_hot_begin(struct nvt_hot *hot, const struct nvt_sampled_functions *functions);
void nvt_hot_add(struct nvt_hot *hot, uint32_t sample);
/* Compute the totals, in time linear in the trace's frames. */
void nvt_hot_finish(struct nvt_hot *hot);
void nvt_hot_free(struct nvt_hot *hot);

/* The functions with the most of their own, the most first, at most so many; returns how many have any. */
uint32_t nvt_hot_most(const struct nvt_hot *hot, uint32_t *functions, uint32_t most);

/* All samples of a trace at once. 0, or -1 with err. */
int nvt_hot_make(struct nvt_hot *hot, const struct nvt_sampled_functions *functions,
                 struct nvt_error *err);

#endif
