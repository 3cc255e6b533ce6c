/*
 * A layer in int8 on Hopper's tensor cores, its scales applied where the sums are: CUDA's PTX manual, "Asynchronous Warpgroup
 * Level Matrix Instructions" (wgmma) and "cp.async.bulk.tensor".
 *
 * A block of threads computes tiles of the result, one after the other. One of its threads asks for squares of a and b ahead
 * of time, which arrive in shared memory by themselves; two warpgroups multiply them, each a half of the tile's
 * rows, turn their sums into halves, and leave these in shared memory, from where they go out while the next tile is computed.
 */
#include "int8_linear.h"

/* module.mk says so where code for compute capability 9.0 is made: other code would be an empty kernel there. */
#ifdef NVT_HOPPER
#include <cuda.h>

#include "../ops/quantize.h"
#include "device.h"

#define TILE_M 128 /* rows of a tile, those of a */
#define TILE_N 256 /* columns, rows of b */
#define TILE_K 128 /* of a sum, at a time: a line of 128 bytes, which the swizzle is made for */
#define STAGES 3   /* squares that are under way or being multiplied */
#define GROUP  16  /* tiles below each other at the same time, as they share columns of b */

#define CONSUMERS 2 /* warpgroups that multiply */
#define HALF_M    (TILE_M / CONSUMERS)
#define THREADS   (CONSUMERS * 128 + 32)
#define PANEL     64 /* columns of halves in 128 bytes */
#define PANELS    (TILE_N / PANEL)
#define STEP_K    32                           /* of an instruction */
#define SUMS      (HALF_M * TILE_N / 128)      /* of a thread */
#define ARRIVING  ((TILE_M + TILE_N) * TILE_K) /* bytes of a stage */

/* Everything that the copies touch lies at a multiple of 1024 bytes, as the swizzle counts from there. */
struct tiles {
    int8_t a[STAGES][TILE_M * TILE_K];
    int8_t b[STAGES][TILE_N * TILE_K];
    nvt_half out[CONSUMERS][PANELS][HALF_M * PANEL];
    uint64_t full[STAGES], empty[STAGES];
};

struct int8_linear_args {
    const float *sa, *sb;
    int shared, m, n, k;
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/* --- barriers and copies ---------------------------------------------------------------------------- */

static __device__ uint32_t shared_address(const void *pointer)
{
    return (uint32_t)__cvta_generic_to_shared(pointer);
}

static __device__ void barrier_init(uint64_t *barrier, uint32_t arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
                 "r"(arrivals)
                 : "memory");
}

/* Until the phase of this parity is over; that before the first one is 1. */
static __device__ void barrier_wait(uint64_t *barrier, uint32_t parity)
{
    uint32_t over;
    do
        asm volatile("{\n"
                     ".reg .pred over;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, over;\n"
                     "}"
                     : "=r"(over)
                     : "r"(shared_address(barrier)), "r"(parity)
                     : "memory");
    while (!over);
}

static __device__ void barrier_arrive(uint64_t *barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
                 : "memory");
}

static __device__ void barrier_expect(uint64_t *barrier, uint32_t bytes)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
        "r"(bytes)
        : "memory");
}

/* A square of a matrix, from its column x and row y on; what lies outside is zero, and counts as arrived. */
static __device__ void copy_in(void *to, const CUtensorMap *matrix, int x, int y, uint64_t *barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(to)),
                 "l"(matrix), "r"(x), "r"(y), "r"(shared_address(barrier))
                 : "memory");
}

/* And back; what would lie outside is left out. */
static __device__ void copy_out(const CUtensorMap *matrix, int x, int y, const void *from)
{
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(
            matrix),
        "r"(x), "r"(y), "r"(shared_address(from))
        : "memory");
}

/* --- the order of tiles ----------------------------------------------------------------------------- */

struct place {
    int m, n;
};

static __device__ int tiles_of(int length, int tile)
{
    return (length + tile - 1) / tile;
}

static __device__ place place_of(int tile, const int8_linear_args &args)
{
    int across = tiles_of(args.n, TILE_N), first = tile / (GROUP * across) * GROUP;
    int left = tiles_of(args.m, TILE_M) - first, height = left < GROUP ? left : GROUP;
    int within = tile - first * across;
    return {(first + within % height) * TILE_M, within / height * TILE_N};
}

/* --- multiplying ------------------------------------------------------------------------------------ */

/* A matrix of lines of 128 bytes for the tensor cores: where it begins, 1024 bytes from eight lines to the next eight, and the
 * swizzle of 128 bytes ("Matrix Descriptor Format"). */
static __device__ uint64_t described(const int8_t *square)
{
    return (shared_address(square) & 0x3ffff) >> 4 | (uint64_t)1 << 16 |
           (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 62;
}

#define REGISTERS_8(sums, i)                                                                       \
    "+r"(sums[i]), "+r"(sums[(i) + 1]), "+r"(sums[(i) + 2]), "+r"(sums[(i) + 3]),                  \
        "+r"(sums[(i) + 4]), "+r"(sums[(i) + 5]), "+r"(sums[(i) + 6]), "+r"(sums[(i) + 7])
#define REGISTERS_32(sums, i)                                                                      \
    REGISTERS_8(sums, i), REGISTERS_8(sums, (i) + 8), REGISTERS_8(sums, (i) + 16),                 \
        REGISTERS_8(sums, (i) + 24)

/* sums += a·bᵀ of 64 by 256 by 32, or = where nothing is kept. */
static __device__ void multiply(int32_t (&sums)[SUMS], uint64_t a, uint64_t b, int keep)
{
    asm volatile("{\n"
                 ".reg .pred keep;\n"
                 "setp.ne.b32 keep, %130, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, "
                 "%8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, "
                 "%24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, "
                 "%40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, "
                 "%56, %57, %58, %59, %60, %61, %62, %63, "
                 "%64, %65, %66, %67, %68, %69, %70, %71, "
                 "%72, %73, %74, %75, %76, %77, %78, %79, "
                 "%80, %81, %82, %83, %84, %85, %86, %87, "
                 "%88, %89, %90, %91, %92, %93, %94, %95, "
                 "%96, %97, %98, %99, %100, %101, %102, %103, "
                 "%104, %105, %106, %107, %108, %109, %110, %111, "
                 "%112, %113, %114, %115, %116, %117, %118, %119, "
                 "%120, %121, %122, %123, %124, %125, %126, %127"
                 "}, %128, %129, keep;\n"
                 "}"
                 : REGISTERS_32(sums, 0), REGISTERS_32(sums, 32), REGISTERS_32(sums, 64),
                   REGISTERS_32(sums, 96)
                 : "l"(a), "l"(b), "r"(keep));
}

/* Which stage comes next, and the parity of its barriers' phase. */
struct turn {
    int stage;
    uint32_t parity;

    __device__ void go_on()
    {
        if (++stage == STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
};

static __device__ void produce(tiles *tiles, const int8_linear_args &args, const CUtensorMap *a,
                               const CUtensorMap *b, int count)
{
    turn turn = {0, 0};
    for (int tile = (int)blockIdx.x; tile < count; tile += (int)gridDim.x) {
        place at = place_of(tile, args);
        for (int k = 0; k < args.k; k += TILE_K) {
            uint64_t *full = &tiles->full[turn.stage];
            barrier_wait(&tiles->empty[turn.stage], turn.parity ^ 1);
            barrier_expect(full, ARRIVING);
            copy_in(tiles->a[turn.stage], a, k, at.m, full);
            copy_in(tiles->b[turn.stage], b, k, at.n, full);
            turn.go_on();
        }
    }
}

/* The sums of a tile's half. A stage is given back by each warp when its products, of which one may still be under way, have
 * been computed. */
static __device__ void sum_up(int32_t (&sums)[SUMS], tiles *tiles, int half, int k, turn &turn)
{
    int before = -1;
    for (int i = 0; i < k; i += TILE_K) {
        const int8_t *a = tiles->a[turn.stage] + half * HALF_M * TILE_K, *b = tiles->b[turn.stage];
        barrier_wait(&tiles->full[turn.stage], turn.parity);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int step = 0; step < TILE_K; step += STEP_K)
            multiply(sums, described(a + step), described(b + step), i + step);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        if (before >= 0 && threadIdx.x % 32 == 0)
            barrier_arrive(&tiles->empty[before]);
        before = turn.stage;
        turn.go_on();
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    if (threadIdx.x % 32 == 0)
        barrier_arrive(&tiles->empty[before]);
}

/* --- the result ------------------------------------------------------------------------------------- */

/* The threads of one half of the tile. */
static __device__ void half_sync(int half)
{
    asm volatile("bar.sync %0, 128;" ::"r"(half + 1) : "memory");
}

static __device__ uint32_t halves_of(int32_t first, int32_t second, float scale, float2 by)
{
    return nvt_half_of((float)first * (scale * by.x)) |
           (uint32_t)nvt_half_of((float)second * (scale * by.y)) << 16;
}

/* Sixteen rows by sixteen columns of a warp, as stmatrix takes them: a thread has of each eight by eight the two numbers that
 * it has of the sums, and says where a line of eight goes. Lines of 16 bytes lie where the swizzle has them: in place
 * of the n-th of row r is that of n xor r % 8. */
static __device__ void put(nvt_half *panel, int column, const uint32_t (&halves)[4])
{
    int lane = (int)threadIdx.x % 32, row = (int)threadIdx.x / 32 % 4 * 16 + lane % 16;
    int line = column / 8 + lane / 16;
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                     shared_address(panel + row * PANEL + (line ^ row % 8) * 8)),
                 "r"(halves[0]), "r"(halves[1]), "r"(halves[2]), "r"(halves[3])
                 : "memory");
}

static __device__ float scale_of_row(const int8_linear_args &args, int row)
{
    return row < args.m ? args.sa[row] * (1.0f / (127 * 127)) * (args.shared ? args.sb[0] : 1.0f)
                        : 0;
}

static __device__ float2 scales_of_columns(const int8_linear_args &args, int column)
{
    return args.shared || column >= args.n ? float2{1, 1}
                                           : float2{args.sb[column], args.sb[column + 1]};
}

/* A thread has of each eight columns two, of its row and of the eighth below it ("Register Fragments and Shared Memory
 * Matrix Layouts", D of wgmma.m64nNk32). */
static __device__ void finish(const int32_t (&sums)[SUMS], tiles *tiles, int half,
                              const int8_linear_args &args, place at, const CUtensorMap *out)
{
    int lane = (int)threadIdx.x % 32, row = at.m + (int)threadIdx.x / 32 * 16 + lane / 4;
    float high = scale_of_row(args, row), low = scale_of_row(args, row + 8);
    int leads = threadIdx.x % 128 == 0;
    /* What was left there before has gone out. */
    if (leads)
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    half_sync(half);
#pragma unroll
    for (int column = 0; column < TILE_N; column += 16) {
        const int32_t *sum = sums + column / 8 * 4;
        float2 by = scales_of_columns(args, at.n + column + lane % 4 * 2);
        float2 next = scales_of_columns(args, at.n + column + 8 + lane % 4 * 2);
        const uint32_t halves[4] = {
            halves_of(sum[0], sum[1], high, by), halves_of(sum[2], sum[3], low, by),
            halves_of(sum[4], sum[5], high, next), halves_of(sum[6], sum[7], low, next)};
        put(tiles->out[half][column / PANEL], column % PANEL, halves);
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    half_sync(half);
    if (!leads)
        return;
    for (int panel = 0; panel < PANELS && at.n + panel * PANEL < args.n; panel++)
        copy_out(out, at.n + panel * PANEL, at.m + half * HALF_M, tiles->out[half][panel]);
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

static __device__ void consume(tiles *tiles, const int8_linear_args &args, const CUtensorMap *out,
                               int count)
{
    int half = (int)threadIdx.x / 128;
    int32_t sums[SUMS];
    turn turn = {0, 0};
    for (int tile = (int)blockIdx.x; tile < count; tile += (int)gridDim.x) {
        sum_up(sums, tiles, half, args.k, turn);
        finish(sums, tiles, half, args, place_of(tile, args), out);
    }
    /* Shared memory lasts until the last has gone out. */
    if (threadIdx.x % 128 == 0)
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

#endif

static __global__ void __launch_bounds__(THREADS, 1)
    int8_linear_device(const __grid_constant__ int8_linear_args args,
                       const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                       const __grid_constant__ CUtensorMap out)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ uint8_t memory[];
    tiles *tiles = (struct tiles *)(((uintptr_t)memory + 1023) / 1024 * 1024);
    int count = tiles_of(args.m, TILE_M) * tiles_of(args.n, TILE_N);
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(&tiles->full[i], 1);
            barrier_init(&tiles->empty[i], CONSUMERS * 4);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x < CONSUMERS * 128)
        consume(tiles, args, &out, count);
    else if (threadIdx.x % 32 == 0)
        produce(tiles, args, &a, &b, count);
#else
    (void)args, (void)a, (void)b, (void)out;
#endif
}

/* --- the host's part -------------------------------------------------------------------------------- */

typedef CUresult (*encoder)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,
                            const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,
                            const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                            CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

/* The driver's own, which the runtime has no form of. */
static encoder find_encoder()
{
    void *found = NULL;
    cudaDriverEntryPointQueryResult answer;
#if CUDART_VERSION >= 12050
    cudaError_t status = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000,
                                                          cudaEnableDefault, &answer);
#else
    cudaError_t status =
        cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &answer);
#endif
    return status == cudaSuccess && answer == cudaDriverEntryPointSuccess ? (encoder)found : NULL;
}

/* A matrix of rows by `columns` numbers of a size, in squares of lines of 128 bytes. */
static int describe(encoder encode, CUtensorMap *map, CUtensorMapDataType type, size_t size,
                    const void *matrix, int64_t rows, int64_t columns, int height)
{
    const cuuint64_t lengths[2] = {(cuuint64_t)columns, (cuuint64_t)rows};
    const cuuint64_t pitch[1] = {(cuuint64_t)columns * size};
    const cuuint32_t square[2] = {(cuuint32_t)(TILE_K / size), (cuuint32_t)height};
    const cuuint32_t strides[2] = {1, 1};
    return encode(map, type, 2, (void *)matrix, lengths, pitch, square, strides,
                  CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                  CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS
               ? 0
               : -1;
}

#define SHARED_BYTES (sizeof(struct tiles) + 1024)

/* Multiprocessors of the device that is current, 0 where it has not the code, or not the memory. Where another thread asks at
 * the same time, both find the same. */
static int multiprocessors()
{
    static int known[NVT_DEVICES_MOST]; /* one more than their number, 0: not asked */
    int device = 0, most = 0, count = 0;
    cudaFuncAttributes code;
    if (cudaGetDevice(&device) != cudaSuccess || device >= NVT_DEVICES_MOST)
        return 0;
    int answer = __atomic_load_n(&known[device], __ATOMIC_ACQUIRE);
    if (answer)
        return answer - 1;
    if (cudaFuncGetAttributes(&code, int8_linear_device) != cudaSuccess ||
        code.binaryVersion != 90 ||
        cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) !=
            cudaSuccess ||
        most < (int)SHARED_BYTES ||
        cudaFuncSetAttribute(int8_linear_device, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             (int)SHARED_BYTES) != cudaSuccess ||
        cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
        count = 0;
    cudaGetLastError(); /* that there is no such code is no failure of what comes next */
    __atomic_store_n(&known[device], count + 1, __ATOMIC_RELEASE);
    return count;
}

int nvt_cuda_int8_linear(nvt_half *out, const int8_t *a, const float *sa, const int8_t *b,
                         const float *sb, int shared, int64_t m, int64_t n, int64_t k)
{
    static encoder encode = find_encoder();
    CUtensorMap map_a, map_b, map_out;
    int64_t count = ((m + TILE_M - 1) / TILE_M) * ((n + TILE_N - 1) / TILE_N);
    if (m < 1 || n < 1 || k < 1 || n % 8 || k % 16 || m > INT32_MAX / 2 || n > INT32_MAX / 2 ||
        k > INT32_MAX / 2 || count > INT32_MAX / 2 || !nvt_cuda_is_wide(out) ||
        !nvt_cuda_is_wide(a) || !nvt_cuda_is_wide(b) || !encode)
        return -1;
    int blocks = multiprocessors();
    if (!blocks || describe(encode, &map_a, CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, a, m, k, TILE_M) ||
        describe(encode, &map_b, CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, b, n, k, TILE_N) ||
        describe(encode, &map_out, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, sizeof(nvt_half), out, m, n,
                 HALF_M))
        return -1;
    int8_linear_args args = {sa, sb, shared, (int)m, (int)n, (int)k};
    int8_linear_device<<<(unsigned)(count < blocks ? count : blocks), THREADS, SHARED_BYTES,
                         nvt_backend_stream()>>>(args, map_a, map_b, map_out);
    nvt_cuda_note(cudaGetLastError(), "int8_linear_device");
    return 0;
}

#else

int nvt_cuda_int8_linear(nvt_half *out, const int8_t *a, const float *sa, const int8_t *b,
                         const float *sb, int shared, int64_t m, int64_t n, int64_t k)
{
    (void)out, (void)a, (void)sa, (void)b, (void)sb, (void)shared, (void)m, (void)n, (void)k;
    return -1;
}

#endif
