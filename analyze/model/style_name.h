/* The two styles of ranges in words. */
#ifndef NVT_STYLE_NAME_H
#define NVT_STYLE_NAME_H

#include "trace.h"

/* As nsys writes it. */
static inline const char *nvt_style_name(uint32_t style)
{
    return style == NVT_PUSH_POP ? "PushPop" : "StartEnd";
}

#endif
