/* The number of a rank in a text: the name of a file or a process. */
#ifndef NVT_RANK_TEXT_H
#define NVT_RANK_TEXT_H

#include <stdint.h>

/* The number behind the word "rank": t.rank3.nvt, rank-0.json, "RANK 2 - GPU", "rank: 4". UINT32_MAX where there is none. */
uint32_t nvt_rank_in_text(const char *text);

#endif
