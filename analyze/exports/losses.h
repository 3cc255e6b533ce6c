/*
 * What a format has no form for, so that an export says what it leaves out of a trace.
 */
#ifndef NVT_EXPORT_LOSSES_H
#define NVT_EXPORT_LOSSES_H

#include "../../lib/buffer.h"
#include "export.h"

/* Put what is left out, with how often, "CPU samples (3), stacks of calls (12)"; nothing where all is written. 0, or -1 when out
 * of memory. Formats that sum a trace up leave nothing out here. */
int nvt_export_losses(const struct nvt_exporter *exporter, const struct nvt_trace *trace,
                      struct nvt_buffer *out);

#endif
