/*
 * The script of the HTML document, built in from plots/documents/page/report.js.
 */
#include "../../lib/embed.h"
#include "../document.h"

NVT_EMBED(nvt_report_js, "plots/documents/page/report.js");

void nvt_document_html_script(FILE *out)
{
    fputs("<script>\n", out);
    fputs(nvt_report_js, out); /* ends with a NUL */
    fputs("</script>\n", out);
}
