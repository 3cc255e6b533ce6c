/* Traces written in another format and read back. */
#ifndef NVT_TESTS_EXPORT_KIT_H
#define NVT_TESTS_EXPORT_KIT_H

#include "../analyze/exports/export.h"

/*
 * A trace by an exporter into a file, and the trace of a file, the caller's; otherwise the test fails with the reason.
 */
void export_write_to(const struct nvt_exporter *exporter, const struct nvt_trace *trace,
                     const char *path);
struct nvt_trace *export_read_back(const char *path);

/* Whether an exporter is that of Perfetto. */
int export_is_perfetto(const struct nvt_exporter *exporter);

/* A file of either, in the folder of the fixture (cli.h). */
const char *export_file_of(const struct nvt_exporter *exporter);

#endif
