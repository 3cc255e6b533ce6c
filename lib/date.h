/*
 * Moments as all files and tables have them: "2026-11-22T15:33:35Z".
 */
#ifndef NVT_DATE_H
#define NVT_DATE_H

#include <time.h>

#define NVT_DATE_SIZE 32

/* In UTC; "" where the calendar does not reach. */
void nvt_date(time_t moment, char out[NVT_DATE_SIZE]);

#endif
