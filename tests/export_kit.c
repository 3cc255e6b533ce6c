#include "export_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../analyze/readers/reader.h"
#include "cli.h"

void export_write_to(const struct nvt_exporter *exporter, const struct nvt_trace *trace,
                     const char *path)
{
    struct nvt_error err = NVT_ERROR_INIT;
    remove(path);
    if (exporter->write_file) {
        if (exporter->write_file(trace, path, &err))
            fail_msg("%s", err.message);
        return;
    }
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_true(exporter->write(trace, out, &err) >= 0); /* 1: no critical path */
    assert_int_equal(fclose(out), 0);
}

struct nvt_trace *export_read_back(const char *path)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_read(path, &err);
    if (!trace)
        fail_msg("%s", err.message);
    return trace;
}

int export_is_perfetto(const struct nvt_exporter *exporter)
{
    return exporter == &nvt_exporter_perfetto;
}

const char *export_file_of(const struct nvt_exporter *exporter)
{
    return cli_in(cli_folder, export_is_perfetto(exporter) ? "t.pftrace" : "t.json");
}
