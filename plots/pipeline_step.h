/*
 * One step of a pipeline, drawn: a Gantt chart of what its partitions did, and their memory meanwhile.
 */
#ifndef NVT_PIPELINE_STEP_H
#define NVT_PIPELINE_STEP_H

#include "chart.h"

/* A step of each schedule that the input's traces have (pipeline_rows.h): gpipe-schedule and gpipe-memory-time, with the
 * suffix of all schedules but the first. 0, or -1 with err. */
int nvt_pipeline_steps_draw(const struct nvt_chart_request *request, struct nvt_error *err);

#endif
