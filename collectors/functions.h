/*
 * Functions that samples were taken in, by the file and the place in it: their names, as the file of a trace has them, and
 * what they are to a stack. Each file's symbols are read once, when it is first seen, and each place is looked up once.
 */
#ifndef NVT_FUNCTIONS_H
#define NVT_FUNCTIONS_H

#include <stdint.h>

struct nvt_output;
struct nvt_functions;

enum nvt_function_kind {
    NVT_FUNCTION_PLAIN,
    NVT_FUNCTION_EVALUATES,   /* Python's evaluation loop, whose functions Python's own stack has */
    NVT_FUNCTION_INTERPRETER, /* another one of Python's */
    NVT_FUNCTION_START,       /* of libc, below the first one of a thread */
    NVT_FUNCTION_OURS,        /* the collector's */
};

struct nvt_function {
    uint32_t name, module; /* strings of the output; of what no file holds, module is 0 */
    uint32_t kind;         /* enum nvt_function_kind */
    uint32_t is_known;     /* else the name is that of the file, in brackets */
};

/* NULL when out of memory. */
struct nvt_functions *nvt_functions_new(struct nvt_output *output);
void nvt_functions_free(struct nvt_functions *functions);

/* The number of a file, 0: it has no path, or there is no memory. */
uint32_t nvt_functions_file(struct nvt_functions *functions, const char *path);

/* What is at a place in a file (0: none). 0, or -1 when out of memory. */
int nvt_functions_find(struct nvt_functions *functions, uint32_t file, uint64_t place,
                       struct nvt_function *function);

#endif
