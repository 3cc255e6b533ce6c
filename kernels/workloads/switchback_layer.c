#include "switchback_layer.h"
#include "../../lib/count_of.h"

/* --- memory ----------------------------------------------------------------------------------- */

static void *take(struct nvt_switchback *layer, int64_t count, size_t size, int *failed)
{
    void *memory = nvt_allocator_take(layer->allocator, (size_t)count * size);
    *failed |= !memory;
    return memory;
}

static size_t largest(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The operations run one at a time: the scratch memory is that of the one that wants most. */
static size_t scratch_bytes(const struct nvt_switchback *layer)
{
    int64_t batch = layer->batch, in = layer->in, out = layer->out;
    size_t bytes = nvt_backend_half_scratch(0, batch, out, in);
    bytes = largest(bytes, nvt_backend_half_scratch(0, batch, in, out));
    bytes = largest(bytes, nvt_backend_half_scratch(1, out, in, batch));
    bytes = largest(bytes, (size_t)nvt_int8_scratch(batch, out) * sizeof(int32_t));
    bytes = largest(bytes, (size_t)nvt_int8_scratch(batch, in) * sizeof(int32_t));
    return largest(bytes, (size_t)nvt_quantize_scratch(out, in) * sizeof(uint16_t));
}

static int take_all(struct nvt_switchback *layer)
{
    int failed = 0;
    int64_t in = layer->batch * layer->in, out = layer->batch * layer->out;
    int64_t weights = layer->out * layer->in;
    const int64_t scales[NVT_W_FORMS] = {layer->out, layer->in, 1, 1};
    layer->x = (nvt_half *)take(layer, in, sizeof(nvt_half), &failed);
    layer->gx = (nvt_half *)take(layer, in, sizeof(nvt_half), &failed);
    layer->g = (nvt_half *)take(layer, out, sizeof(nvt_half), &failed);
    layer->y = (nvt_half *)take(layer, out, sizeof(nvt_half), &failed);
    layer->w = (nvt_half *)take(layer, weights, sizeof(nvt_half), &failed);
    layer->gw = (nvt_half *)take(layer, weights, sizeof(nvt_half), &failed);
    layer->x8 = (int8_t *)take(layer, in, 1, &failed);
    layer->g8 = (int8_t *)take(layer, out, 1, &failed);
    layer->sx = (float *)take(layer, layer->batch, sizeof(float), &failed);
    layer->sg = (float *)take(layer, layer->batch, sizeof(float), &failed);
    for (int form = 0; form < NVT_W_FORMS; form++) {
        layer->w8[form] = (int8_t *)take(layer, weights, 1, &failed);
        layer->sw[form] = (float *)take(layer, scales[form], sizeof(float), &failed);
    }
    layer->scratch = take(layer, (int64_t)scratch_bytes(layer), 1, &failed);
    return failed ? -1 : 0;
}

void nvt_switchback_teardown(struct nvt_switchback *layer)
{
    void *all[] = {layer->x,  layer->g,  layer->w,  layer->y,  layer->gx,     layer->gw,
                   layer->x8, layer->g8, layer->sx, layer->sg, layer->scratch};
    for (size_t i = 0; i < NVT_COUNT_OF(all); i++)
        nvt_allocator_give(layer->allocator, all[i]);
    for (int form = 0; form < NVT_W_FORMS; form++) {
        nvt_allocator_give(layer->allocator, layer->w8[form]);
        nvt_allocator_give(layer->allocator, layer->sw[form]);
    }
}

/* --- setup ------------------------------------------------------------------------------------ */

#define FILL_MOST ((int64_t)1 << 22) /* floats at a time */

/* Normal halves. A part has a stream of its own: the numbers do not depend on what memory there is.
 */
static int fill(struct nvt_switchback *layer, nvt_half *out, int64_t count, uint64_t seed,
                uint64_t stream)
{
    int64_t most = count < FILL_MOST ? count : FILL_MOST;
    real *part = (real *)nvt_allocator_take(layer->allocator, (size_t)most * sizeof(real));
    if (!part)
        return -1;
    for (int64_t first = 0; first < count; first += most) {
        int64_t n = count - first < most ? count - first : most;
        nvt_random_normal(part, n, seed, stream + ((uint64_t)(first / most) << 8), 1);
        nvt_half_from_float(out + first, part, n);
    }
    nvt_allocator_give(layer->allocator, part);
    return 0;
}

int nvt_switchback_setup(struct nvt_switchback *layer, uint64_t seed)
{
    if (take_all(layer) || fill(layer, layer->x, layer->batch * layer->in, seed, 1) ||
        fill(layer, layer->g, layer->batch * layer->out, seed, 2) ||
        fill(layer, layer->w, layer->out * layer->in, seed, 3)) {
        nvt_switchback_teardown(layer);
        return -1;
    }
    for (int op = NVT_X_QUANTIZE_ROWWISE; op <= NVT_W_QUANTIZE_GLOBAL_TRANSPOSE; op++)
        nvt_switchback_run(layer, (enum nvt_switchback_op)op);
    return 0;
}

/* --- operations ------------------------------------------------------------------------------- */

static void run_standard(struct nvt_switchback *layer, enum nvt_switchback_op op)
{
    int64_t batch = layer->batch, in = layer->in, out = layer->out;
    if (op == NVT_STANDARD_FWD)
        nvt_backend_matmul_half(0, 1, batch, out, in, layer->x, layer->w, layer->y, layer->scratch);
    else if (op == NVT_STANDARD_GX)
        nvt_backend_matmul_half(0, 0, batch, in, out, layer->g, layer->w, layer->gx,
                                layer->scratch);
    else
        nvt_backend_matmul_half(1, 0, out, in, batch, layer->g, layer->x, layer->gw,
                                layer->scratch);
}

static void run_quantize(struct nvt_switchback *layer, enum nvt_switchback_op op)
{
    int64_t batch = layer->batch, in = layer->in, out = layer->out;
    uint16_t *scratch = (uint16_t *)layer->scratch;
    if (op == NVT_X_QUANTIZE_ROWWISE)
        nvt_quantize_rows(layer->x8, layer->sx, layer->x, batch, in);
    else if (op == NVT_G_QUANTIZE_ROWWISE)
        nvt_quantize_rows(layer->g8, layer->sg, layer->g, batch, out);
    else if (op == NVT_W_QUANTIZE_ROWWISE)
        nvt_quantize_rows(layer->w8[NVT_W_ROWS], layer->sw[NVT_W_ROWS], layer->w, out, in);
    else if (op == NVT_W_QUANTIZE_COLWISE_TRANSPOSE)
        nvt_quantize_columns_transposed(layer->w8[NVT_W_COLUMNS], layer->sw[NVT_W_COLUMNS],
                                        layer->w, out, in, scratch);
    else if (op == NVT_W_QUANTIZE_GLOBAL)
        nvt_quantize_all(layer->w8[NVT_W_ALL], layer->sw[NVT_W_ALL], layer->w, out, in, scratch);
    else
        nvt_quantize_all_transposed(layer->w8[NVT_W_ALL_TURNED], layer->sw[NVT_W_ALL_TURNED],
                                    layer->w, out, in, scratch);
}

static void run_int8(struct nvt_switchback *layer, enum nvt_switchback_op op)
{
    int64_t batch = layer->batch, in = layer->in, out = layer->out;
    int32_t *scratch = (int32_t *)layer->scratch;
    int shared = op == NVT_GLOBAL_FWD || op == NVT_GLOBAL_BWD;
    if (op == NVT_ROWWISE_FWD || op == NVT_GLOBAL_FWD) {
        int form = shared ? NVT_W_ALL : NVT_W_ROWS;
        nvt_int8_linear(layer->y, layer->x8, layer->sx, layer->w8[form], layer->sw[form], shared,
                        batch, out, in, scratch);
    } else {
        int form = shared ? NVT_W_ALL_TURNED : NVT_W_COLUMNS;
        nvt_int8_linear(layer->gx, layer->g8, layer->sg, layer->w8[form], layer->sw[form], shared,
                        batch, in, out, scratch);
    }
}

/* A yardstick whose results nobody reads: they go over those of the products, which are as large.
 */
static void run_cast(struct nvt_switchback *layer, enum nvt_switchback_op op)
{
    if (op == NVT_CAST_X)
        nvt_quantize_cast((int8_t *)layer->gx, layer->x, layer->batch * layer->in);
    else if (op == NVT_CAST_G)
        nvt_quantize_cast((int8_t *)layer->y, layer->g, layer->batch * layer->out);
    else
        nvt_quantize_cast((int8_t *)layer->gw, layer->w, layer->out * layer->in);
}

void nvt_switchback_run(struct nvt_switchback *layer, enum nvt_switchback_op op)
{
    if (op <= NVT_STANDARD_GX)
        run_standard(layer, op);
    else if (op <= NVT_W_QUANTIZE_GLOBAL_TRANSPOSE)
        run_quantize(layer, op);
    else if (op <= NVT_GLOBAL_BWD)
        run_int8(layer, op);
    else
        run_cast(layer, op);
}

/* --- work ------------------------------------------------------------------------------------- */

/* A row is quantised while it is in the cache; of a column or of everything the largest must be
 * known first, so it is read twice. */
static uint64_t bytes_of_quantize(uint64_t count, int passes, uint64_t scales)
{
    return ((uint64_t)passes * sizeof(nvt_half) + 1) * count + scales * sizeof(float);
}

struct nvt_work_payload nvt_switchback_work(const struct nvt_switchback *layer,
                                            enum nvt_switchback_op op)
{
    uint64_t batch = (uint64_t)layer->batch, in = (uint64_t)layer->in, out = (uint64_t)layer->out;
    uint64_t x = batch * in, g = batch * out, w = in * out;
    int is_product = op <= NVT_STANDARD_GX || (op >= NVT_ROWWISE_FWD && op <= NVT_GLOBAL_BWD);
    struct nvt_work_payload work = {is_product ? 2 * x * out : 0, 0};
    switch (op) {
    case NVT_X_QUANTIZE_ROWWISE:
        work.bytes = bytes_of_quantize(x, 1, batch);
        break;
    case NVT_G_QUANTIZE_ROWWISE:
        work.bytes = bytes_of_quantize(g, 1, batch);
        break;
    case NVT_W_QUANTIZE_ROWWISE:
        work.bytes = bytes_of_quantize(w, 1, out);
        break;
    case NVT_W_QUANTIZE_COLWISE_TRANSPOSE:
        work.bytes = bytes_of_quantize(w, 2, in);
        break;
    case NVT_W_QUANTIZE_GLOBAL:
    case NVT_W_QUANTIZE_GLOBAL_TRANSPOSE:
        work.bytes = bytes_of_quantize(w, 2, 1);
        break;
    case NVT_ROWWISE_FWD:
    case NVT_GLOBAL_FWD:
        work.bytes = x + w + g * sizeof(nvt_half);
        break;
    case NVT_ROWWISE_BWD:
    case NVT_GLOBAL_BWD:
        work.bytes = g + w + x * sizeof(nvt_half);
        break;
    case NVT_CAST_X:
        work.bytes = 3 * x;
        break;
    case NVT_CAST_G:
        work.bytes = 3 * g;
        break;
    case NVT_CAST_W:
        work.bytes = 3 * w;
        break;
    default: /* the products of halves: each reads two of the three and writes the third */
        work.bytes = (x + g + w) * sizeof(nvt_half);
    }
    return work;
}
