/*
 * The memory of recorded processes over time, as the recorder samples it (record --trace process), and whether what is
 * resident grows steadily (steady_growth.h).
 *
 * Growth is looked for in a loop behind the first quarter of its iterations, as caches and pools fill in the first ones; without
 * a loop, behind the first quarter of the process's time, and up to its highest level in the last tenth, as programs free
 * memory when they end.
 */
#ifndef NVT_PROCESS_MEMORY_H
#define NVT_PROCESS_MEMORY_H

#include "../model/counters.h"
#include "steady_growth.h"

/* Iterations behind the first quarter, or nothing is said of a loop. */
#define NVT_GROWTH_ITERATIONS 16

struct nvt_process_memory {
    uint32_t process;
    const struct nvt_counter_course *courses[NVT_MACHINE_PROCESS_COUNT]; /* NULL: no samples */
};

/* Zero-initialise; release with nvt_processes_memory_free, also after a failure. */
struct nvt_processes_memory {
    struct nvt_counter_courses courses;
    struct nvt_process_memory *items; /* those whose resident memory was sampled, by their rows */
    uint32_t count;
};

/* 0, or -1 when out of memory. */
int nvt_processes_memory_make(struct nvt_processes_memory *all, const struct nvt_trace *trace);
void nvt_processes_memory_free(struct nvt_processes_memory *all);

/* The last value of a quantity, NaN where there is none; the highest. Bytes. */
double nvt_process_memory_last(const struct nvt_process_memory *memory,
                               enum nvt_machine_process id);
double nvt_process_memory_highest(const struct nvt_process_memory *memory,
                                  enum nvt_machine_process id);

/* The loop that a process works for: the starts of its iterations, ascending, and its end. ns. */
struct nvt_memory_loop {
    int64_t *starts; /* owned */
    uint32_t *rows;  /* of ranges, owned; NULL: they are not known */
    uint32_t count;  /* 0: there is none */
    int64_t end;
    uint32_t process; /* that enters it */
};

/*
 * Its own iterations (named_iterations.h), else those of the nearest process that started it, else those of the only process
 * that has any: workers that load data grow with the loop that they load for. Release with nvt_memory_loop_free. 0, or -1 when
 * out of memory.
 */
int nvt_memory_loop_make(struct nvt_memory_loop *loop, const struct nvt_trace *trace,
                         uint32_t process);
void nvt_memory_loop_free(struct nvt_memory_loop *loop);

struct nvt_process_growth {
    struct nvt_steady_growth level;
    int64_t from, to;  /* the part that was looked at; ns */
    double iterations; /* that begin in it; 0 without a loop */
};

/* Of what is resident. 0, or -1 when out of memory. */
int nvt_process_growth_find(struct nvt_process_growth *found,
                            const struct nvt_process_memory *memory,
                            const struct nvt_memory_loop *loop);

/* The level of a course at a time: of the last sample up to it, or the first one. */
double nvt_course_level_at(const struct nvt_counter_course *course, int64_t time);

#endif
