/*
 * Findings of a trace of ROCm in its words: where their texts say CUDA, HIP has the same under its own name. What only CUDA has is left
 * out. Names with CUDA in them that PyTorch has for both (torch.cuda) stay.
 */
#ifndef NVT_HIP_WORDS_H
#define NVT_HIP_WORDS_H

#include "diagnose.h"

/* Whether HIP's calls are in it. */
int nvt_is_of_hip(const struct nvt_trace *trace);

/* The text does not grow. has_names: names of the program may stand in it, which stay. */
void nvt_hip_words(char *text, int has_names);

/* A text of ours without names, in the trace's words: `text`, or `out`. */
#define NVT_HIP_WORD 64
const char *nvt_hip_word(const struct nvt_trace *trace, const char *text, char out[NVT_HIP_WORD]);

/* Whether an input has traces, and all are of HIP. */
int nvt_input_is_of_hip(const struct nvt_input *input);

/* All findings of an input whose traces are all of HIP; no other. */
void nvt_findings_in_hip(struct nvt_findings *findings, const struct nvt_input *input);

#endif
