/*
 * What `stats -r list` and `stats -f list` print.
 */
#ifndef NVT_STATS_LISTS_H
#define NVT_STATS_LISTS_H

#include <stdio.h>

/* Each report, or format, with what it shows: on a terminal in lines that fit; programs read one line each. */
void nvt_list_reports(FILE *out);
void nvt_list_formats(FILE *out);

#endif
