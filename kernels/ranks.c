#include "ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_number(const char *name, int least, int *value)
{
    const char *text = getenv(name);
    char *end;
    if (!text || !*text)
        return 0;
    long number = strtol(text, &end, 10);
    if (*end || number < least || number > 1000000)
        return 0;
    *value = (int)number;
    return 1;
}

struct nvt_ranks nvt_ranks_here(void)
{
    static const char *const names[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"SLURM_PROCID", "SLURM_NTASKS"}};
    for (int i = 0; i < 3; i++) {
        struct nvt_ranks ranks;
        if (read_number(names[i][0], 0, &ranks.rank) && read_number(names[i][1], 1, &ranks.size) &&
            ranks.rank < ranks.size)
            return ranks;
    }
    return (struct nvt_ranks){0, 1};
}

int nvt_rank_trace(const char *rank0, int rank, char *path, size_t size)
{
    const char *folder = strrchr(rank0, '/');
    const char *at = strstr(folder ? folder : rank0, "-rank0.");
    if (!at)
        return -1;
    int length = snprintf(path, size, "%.*s-rank%d%s", (int)(at - rank0), rank0, rank,
                          at + strlen("-rank0"));
    return length > 0 && (size_t)length < size ? 0 : -1;
}
