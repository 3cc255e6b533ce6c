/* What the collector costs, subtracted from times (--compensate): what titles and notes say of it. */
#ifndef NVT_INPUT_COSTS_H
#define NVT_INPUT_COSTS_H

#include "input.h"

/* A note of what was subtracted; none where nothing was asked for. */
void nvt_note_costs(struct nvt_input *input);

/* A title with what was subtracted from the times below it, cut to size; as it is where nothing was. */
void nvt_costs_title(const struct nvt_input *input, const char *title, char *out, size_t size);

#endif
