#include "sweeps_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

const struct nvt_sweep_item *sweeps_find(const struct nvt_sweep *sweep, enum nvt_sweep_kind kind,
                                         const char *name)
{
    for (size_t i = 0; i < sweep->count; i++)
        if (sweep->items[i].kind == kind && !strcmp(sweep->items[i].name, name))
            return &sweep->items[i];
    fail_msg("no %s %s", nvt_sweep_kind_name(kind), name);
    return NULL;
}
