/* What second.c needs of selected.c: records of selected fields. */
#ifndef NVT_TESTS_SELECTED_H
#define NVT_TESTS_SELECTED_H

#include <cupti.h>

#include "../../collectors/inject/cupti_selected.h"

/* CUPTI_ACTIVITY_ATTR_USER_DEFINED_RECORDS is 1. */
void stand_in_select_fields(void);
int stand_in_selects_fields(void);

/* A kind is enabled in this way. */
CUptiResult stand_in_configure(CUpti_ActivityKind kind, const void *how);

/* What goes with a buffer. */
struct nvt_cupti_completion stand_in_completion(void);

#endif
