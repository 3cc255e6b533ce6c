#include "module.h"

real *nvt_pass_keep(struct nvt_pass *pass, int64_t numbers)
{
    if (pass->kept->count == NVT_KEPT_MOST)
        return NULL;
    real *block = nvt_pass_take(pass, numbers);
    if (block)
        pass->kept->blocks[pass->kept->count++] = block;
    return block;
}

real *nvt_pass_take(struct nvt_pass *pass, int64_t numbers)
{
    return (real *)nvt_allocator_take(pass->allocator, (size_t)numbers * sizeof(real));
}

void nvt_pass_give(struct nvt_pass *pass, void *block)
{
    nvt_allocator_give(pass->allocator, block);
}

void nvt_pass_release(struct nvt_pass *pass)
{
    while (pass->kept->count)
        nvt_allocator_give(pass->allocator, pass->kept->blocks[--pass->kept->count]);
}
