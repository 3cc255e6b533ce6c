/*
 * How series and names look: the same in all charts, whatever else is in one.
 */
#ifndef NVT_LOOKS_H
#define NVT_LOOKS_H

#include "../analyze/device/kernel_class.h"
#include "../analyze/studies/fragments.h"

/* Of a line or of points. */
struct nvt_look {
    const char *color;
    int dash, point; /* gnuplot's dashtype and pointtype */
};

/* Lines of the fragment study. */
struct nvt_look nvt_look_of_fragments(enum nvt_fragment_line line);

/* A pipeline: a colour for each number of partitions, a mark for each engine, dashes and open marks
 * with checkpointing. */
struct nvt_look nvt_look_of_pipeline(int partitions, int checkpoint, int is_torchgpipe);

/* Others in the order of a run directory, from 0. */
struct nvt_look nvt_look_of_variant(size_t index);

/* The series that a record belongs to: one of the above, the last one by `index`. */
struct nvt_look nvt_look_of_record(const struct nvt_record *record, size_t index);

/* Names that have a colour of their own at most. */
enum { NVT_NAMES_MOST = 7 };

/* Of areas: the colour of a well-known name (forward, backward, optimizer, iteration …, whatever
 * follows a '#' in it), NULL: it is none. */
const char *nvt_known_color(const char *name);

/* The colours of at most NVT_NAMES_MOST different names: well-known ones have theirs, others one
 * that follows from the name alone unless another name of those shown has it. No two are equal:
 * of well-known names of the same thing the first one has its colour. */
void nvt_name_colors(const char *const *names, size_t count, const char **colors);

/* nvt_name_colors for boxes with text in them, next to those of kernels: names that are not well-known are pale. */
void nvt_name_tints(const char *const *names, size_t count, const char **colors);

/* Whether a name is that of forward, backward or the optimizer. */
int nvt_is_phase(const char *name);

/* The colour of a class of kernels. */
const char *nvt_class_color(enum nvt_kernel_class class);

/* The colour of what is written on a colour: black or white, whichever is read better. Neither is the NVT_BLACK of lines, as it
 * stays what it is where the paper is dark. */
const char *nvt_ink_on(const char *color);

/* Of ranges that are no well-known ones, where they need no colours of their own. */
#define NVT_RANGE_COLOR "#A9BCCF"

/* What has no name of its own in the legend; calls of the operating system; a device that has nothing to do, and what is written on
 * that; where a device's operations are drawn. */
#define NVT_OTHERS_COLOR "#D0D0D0"
#define NVT_CALLS_COLOR  "#4D4D4D"
#define NVT_IDLE_COLOR   "#F6DDD8"
#define NVT_IDLE_INK     "#8A2D00"
#define NVT_LANE_COLOR   "#F2F2F2"

#endif
