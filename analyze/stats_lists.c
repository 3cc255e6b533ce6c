#include "stats_lists.h"

#include <stdio.h>
#include <string.h>

#include "../lib/render.h"
#include "../lib/terminal.h"
#include "../lib/wrap.h"
#include "reports/report.h"

void nvt_list_reports(FILE *out)
{
    size_t count, widest = 0;
    const size_t width = nvt_terminal_width(out);
    const struct nvt_report *const *reports = nvt_reports(&count);
    for (size_t i = 0; i < count; i++)
        if (strlen(reports[i]->name) > widest)
            widest = strlen(reports[i]->name);
    for (size_t i = 0; i < count; i++) {
        char about[400];
        snprintf(about, sizeof(about), "%s%s", reports[i]->about,
                 reports[i]->published ? " (-f published)" : "");
        fprintf(out, "%-*s ", (int)widest, reports[i]->name);
        (void)nvt_wrap(about, widest + 1, widest + 1, width, out);
        putc('\n', out);
    }
}

void nvt_list_formats(FILE *out)
{
    size_t count;
    const struct nvt_format *formats = nvt_formats(&count);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%-10s %s\n", formats[i].name, formats[i].about);
    fputs("published  the layout of the workload's published file, where there is one\n", out);
}
