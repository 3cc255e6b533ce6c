/* Profiles of PyTorch and of other tools, from their text. */
#ifndef NVT_TESTS_KINETO_KIT_H
#define NVT_TESTS_KINETO_KIT_H

#include "../analyze/readers/reader.h"

/* A file of a text, in the fixture's folder (cli.h): its path, and the trace that is read of it, the caller's. */
const char *kineto_make_file(const char *text);
struct nvt_trace *kineto_read_text(const char *text);

#endif
