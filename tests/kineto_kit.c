#include "kineto_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli.h"
#include "read_kit.h"

const char *kineto_make_file(const char *text)
{
    const char *path = cli_in(cli_folder, "t.json");
    cli_write_file(path, text, strlen(text));
    return path;
}

struct nvt_trace *kineto_read_text(const char *text)
{
    return kit_read_text("t.json", text);
}
