/*
 * seed_tables FOLDER TRACE…: of each trace that can be read a file of tables that is not packed, for fuzzing.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../analyze/model/table_file.h"
#include "../../analyze/readers/reader.h"

int main(int argc, char **argv)
{
    int made = 0;
    for (int i = 2; i < argc; i++) {
        struct nvt_error err = NVT_ERROR_INIT;
        struct nvt_trace *trace = nvt_trace_read(argv[i], &err);
        const char *slash = strrchr(argv[i], '/');
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s.nvt", argv[1], slash ? slash + 1 : argv[i]);
        unlink(path);
        if (trace && !nvt_tables_write(trace, path, 0, &err))
            made++;
        nvt_trace_free(trace);
    }
    printf("%d seeds of files of tables\n", made);
    return made ? 0 : 1;
}
