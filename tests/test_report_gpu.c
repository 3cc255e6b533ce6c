/*
 * Reports about devices over one small trace, whose every number is worked out by hand:
 *
 *   time (ns)   0    115  215 220  280 300    380        520       720      1000
 *   main        step [0, 1000], in it forward [100, 300] and backward [400, 900]
 *   stream 7         gemm      gemm
 *   stream 9                       copy [280, 380], 2 MB
 *   stream 8                                              nccl [520, 720], launched by thread 12
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/model/cuda_names.h"
#include "../analyze/device/gaps.h"
#include "../analyze/device/project.h"
#include "../analyze/reports/report.h"
#include "../lib/count_of.h"
#include "../lib/render.h"

static uint32_t string(struct nvt_trace *trace, const char *text)
{
    return nvt_strings_add_text(trace->strings, text);
}

static void add_range(struct nvt_trace *trace, const char *name, int64_t start, int64_t end)
{
    const struct nvt_range range = {.start = start, .end = end, .name = string(trace, name)};
    nvt_range_add(trace, &range);
}

static void add_call(struct nvt_trace *trace, uint32_t thread, uint64_t correlation, int64_t start)
{
    const struct nvt_api api = {
        .start = start,
        .end = start + 10,
        .thread = thread,
        .correlation = correlation,
        .name = string(trace, correlation == 4 ? "cudaMemcpyAsync" : "cudaLaunchKernel")};
    nvt_api_add(trace, &api);
}

static void add_kernel(struct nvt_trace *trace, uint64_t correlation, uint32_t stream,
                       const char *name, int64_t start, int64_t end)
{
    const struct nvt_kernel kernel = {4, 1, 1, 128, 1, 1, 32, 0, 16384, 0, 0, 0, 0};
    const struct nvt_op op = {.start = start,
                              .end = end,
                              .context = 1,
                              .stream = stream,
                              .correlation = correlation,
                              .name = string(trace, name),
                              .short_name = string(trace, name),
                              .detail = nvt_kernel_add(trace, &kernel),
                              .kind = NVT_OP_KERNEL};
    nvt_op_add(trace, &op);
}

static void add_memory(struct nvt_trace *trace, int64_t time, uint8_t kind, uint64_t mib,
                       uint64_t allocated, uint64_t reserved)
{
    const struct nvt_memory_event event = {.time = time,
                                           .address = 0x1000,
                                           .bytes = mib << 20,
                                           .allocated = allocated << 20,
                                           .reserved = reserved << 20,
                                           .source = string(trace, "pool"),
                                           .kind = kind};
    nvt_memory_event_add(trace, &event);
}

static void count_gap(void *context, const struct nvt_gap *gap)
{
    (void)gap;
    ++*(int *)context;
}

static struct nvt_trace *make_trace(void)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("t", "test");
    uint32_t process = nvt_trace_process(trace, 10);
    uint32_t main_thread = nvt_trace_thread(trace, process, 11);
    uint32_t other = nvt_trace_thread(trace, process, 12);
    const struct nvt_device device = {
        .process = NVT_NONE, .name = string(trace, "H100"), .multiprocessors = 132};
    const struct nvt_op copy = {.start = 280,
                                .end = 380,
                                .context = 1,
                                .stream = 9,
                                .correlation = 4,
                                .name = string(trace, "[CUDA memcpy Host-to-Device]"),
                                .short_name = string(trace, "[CUDA memcpy Host-to-Device]"),
                                .bytes = 2000000,
                                .detail = NVT_NONE,
                                .kind = NVT_OP_MEMCPY,
                                .copy_kind = NVT_COPY_HTOD,
                                .source_kind = NVT_KIND_PAGEABLE,
                                .target_kind = NVT_KIND_DEVICE};
    nvt_device_add(trace, &device);
    add_range(trace, "step", 0, 1000);
    add_range(trace, "forward", 100, 300);
    add_range(trace, "backward", 400, 900);
    add_call(trace, main_thread, 1, 110);
    add_call(trace, main_thread, 2, 150);
    add_call(trace, other, 3, 500);
    add_call(trace, main_thread, 4, 240);
    add_kernel(trace, 1, 7, "gemm", 115, 215);
    add_kernel(trace, 2, 7, "gemm", 220, 300);
    add_kernel(trace, 3, 8, "ncclDevKernel", 520, 720);
    nvt_op_add(trace, &copy);
    add_memory(trace, 50, NVT_MEMORY_ALLOC, 1, 1, 2);
    add_memory(trace, 150, NVT_MEMORY_ALLOC, 2, 3, 4);
    add_memory(trace, 250, NVT_MEMORY_FREE, 2, 1, 4);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    return trace;
}

/* The report over traces, which are freed, as CSV without the line of headings. */
static void expect_of(struct nvt_input_trace *inputs, size_t count, const char *name,
                      unsigned flags, const char *rows)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_input input = {.traces = inputs, .trace_count = count, .project_flags = flags};
    struct nvt_tables tables = {0};
    char *out = NULL;
    size_t size;
    FILE *stream = open_memstream(&out, &size);
    assert_non_null(stream);
    assert_int_equal(nvt_report_make(nvt_report_find(name), &input, &tables, &err), 0);
    assert_int_equal(nvt_render_csv(&tables, stream), 0);
    fclose(stream);
    assert_string_equal(strchr(out, '\n') + 1, rows);
    free(out);
    nvt_tables_free(&tables);
    nvt_buffer_free(&input.notes);
    for (size_t i = 0; i < count; i++)
        nvt_trace_free(inputs[i].trace);
}

/* The same over so many traces of make_trace. */
static void expect(const char *name, unsigned flags, size_t traces, const char *rows)
{
    struct nvt_input_trace inputs[2] = {{.trace = NULL}, {.trace = NULL}};
    for (size_t i = 0; i < traces; i++)
        inputs[i].trace = make_trace();
    expect_of(inputs, traces, name, flags, rows);
}

static void headings_are_those_of_nsys(void **state)
{
    (void)state;
    static const char *const headings[][2] = {
        {"cuda_gpu_kern_sum", "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),"
                              "Max (ns),StdDev (ns),Name"},
        {"cuda_gpu_kern_gb_sum", "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),"
                                 "Max (ns),StdDev (ns),GridXYZ,BlockXYZ,Name"},
        {"cuda_api_sum", "Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),"
                         "StdDev (ns),Name"},
        {"cuda_gpu_mem_time_sum", "Time (%),Total Time (ns),Count,Avg (ns),Med (ns),Min (ns),"
                                  "Max (ns),StdDev (ns),Operation"},
        {"cuda_gpu_mem_size_sum",
         "Total (MB),Count,Avg (MB),Med (MB),Min (MB),Max (MB),StdDev (MB),Operation"},
        {"cuda_gpu_sum", "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),"
                         "StdDev (ns),Category,Operation"},
        {"cuda_gpu_trace",
         "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),"
         "DymSMem (MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,"
         "Name"},
        {"cuda_api_trace", "Start (ns),Duration (ns),Name,Result,CorrID,Pid,Tid,T-Pri,Thread Name"},
        {"cuda_kern_exec_trace",
         "API Start (ns),API Dur (ns),Queue Start (ns),Queue Dur (ns),Kernel Start (ns),"
         "Kernel Dur (ns),Total Dur (ns),PID,TID,DevId,API Function,GridXYZ,BlockXYZ,Kernel Name"},
        {"cuda_api_gpu_sum", "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),"
                             "Max (ns),StdDev (ns),Category,Operation"},
        {"nvtx_kern_sum",
         "NVTX Range,Style,PID,TID,NVTX Inst,Kern Inst,Total Time (ns),Avg (ns),Med (ns),Min (ns),"
         "Max (ns),StdDev (ns),Kernel Name"},
        {"nvtx_gpu_proj_sum",
         "Range,Style,Total Proj Time (ns),Total Range Time (ns),Range Instances,Proj Avg (ns),"
         "Proj Med (ns),Proj Min (ns),Proj Max (ns),Proj StdDev (ns),Total GPU Ops,Avg GPU Ops,"
         "Avg Range Lvl,Avg Num Child"},
        {"nvtx_gpu_proj_trace",
         "Name,Projected Start (ns),Projected Duration (ns),Orig Start (ns),Orig Duration (ns),"
         "Style,PID,TID,NumGPUOps,Lvl,NumChild,RangeId,ParentId,RangeStack"},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(headings); i++) {
        const struct nvt_report *report = nvt_report_find(headings[i][0]);
        char line[1024] = "";
        size_t length = 0;
        assert_non_null(report);
        for (size_t column = 0; report->columns[column].heading && length < sizeof(line); column++)
            length += (size_t)snprintf(line + length, sizeof(line) - length, "%s%s",
                                       column ? "," : "", report->columns[column].heading);
        assert_string_equal(line, headings[i][1]);
    }
}

static void sums_by_name(void **state)
{
    (void)state;
    expect("cuda_gpu_kern_sum", 0, 1,
           "52.6,200,1,200.0,200.0,200,200,0.0,ncclDevKernel\n"
           "47.4,180,2,90.0,90.0,80,100,14.1,gemm\n");
    expect("cuda_gpu_kern_sum", 0, 2,
           "52.6,400,2,200.0,200.0,200,200,0.0,ncclDevKernel\n"
           "47.4,360,4,90.0,90.0,80,100,11.5,gemm\n");
    expect(
        "cuda_gpu_kern_gb_sum", 0, 1,
        "52.6,200,1,200.0,200.0,200,200,0.0,\"   4    1    1\",\" 128    1    1\",ncclDevKernel\n"
        "47.4,180,2,90.0,90.0,80,100,14.1,\"   4    1    1\",\" 128    1    1\",gemm\n");
    expect("cuda_api_sum", 0, 1,
           "75.0,30,3,10.0,10.0,10,10,0.0,cudaLaunchKernel\n"
           "25.0,10,1,10.0,10.0,10,10,0.0,cudaMemcpyAsync\n");
    expect("cuda_gpu_mem_time_sum", 0, 1,
           "100.0,100,1,100.0,100.0,100,100,0.0,[CUDA memcpy Host-to-Device]\n");
    expect("cuda_gpu_mem_size_sum", 0, 1,
           "2.000,1,2.000,2.000,2.000,2.000,0.000,[CUDA memcpy Host-to-Device]\n");
    expect("cuda_gpu_sum", 0, 1,
           "41.7,200,1,200.0,200.0,200,200,0.0,CUDA_KERNEL,ncclDevKernel\n"
           "37.5,180,2,90.0,90.0,80,100,14.1,CUDA_KERNEL,gemm\n"
           "20.8,100,1,100.0,100.0,100,100,0.0,MEMORY_OPER,[CUDA memcpy Host-to-Device]\n");
    expect("cuda_api_gpu_sum", 0, 1,
           "38.5,200,1,200.0,200.0,200,200,0.0,CUDA_KERNEL,ncclDevKernel\n"
           "34.6,180,2,90.0,90.0,80,100,14.1,CUDA_KERNEL,gemm\n"
           "19.2,100,1,100.0,100.0,100,100,0.0,MEMORY_OPER,[CUDA memcpy Host-to-Device]\n"
           "5.8,30,3,10.0,10.0,10,10,0.0,CUDA_API,cudaLaunchKernel\n"
           "1.9,10,1,10.0,10.0,10,10,0.0,CUDA_API,cudaMemcpyAsync\n");
}

/* The first gemm starts while its call still runs: no queue time. */
static void launches(void **state)
{
    (void)state;
    expect("cuda_kern_exec_sum", 0, 1,
           "10,12,0,1,1,220.0,220.0,220,220,0.0,10.0,10.0,10,10,0.0,10.0,10.0,10,10,0.0,"
           "200.0,200.0,200,200,0.0,cudaLaunchKernel,ncclDevKernel\n"
           "10,11,0,2,1,127.5,127.5,105,150,31.8,10.0,10.0,10,10,0.0,60.0,60.0,60,60,0.0,"
           "90.0,90.0,80,100,14.1,cudaLaunchKernel,gemm\n");
    expect(
        "cuda_kern_exec_trace", 0, 1,
        "110,10,,,115,100,105,10,11,0,cudaLaunchKernel,\"   4    1    1\",\" 128    1    1\",gemm\n"
        "150,10,160,60,220,80,150,10,11,0,cudaLaunchKernel,\"   4    1    1\",\" 128    1    "
        "1\",gemm\n"
        "500,10,510,10,520,200,220,10,12,0,cudaLaunchKernel,\"   4    1    1\",\" 128    1    1\","
        "ncclDevKernel\n");
}

/* nsys counts a queue of no length as one: its QMin is 0 there. */
static void a_kernel_that_starts_as_its_call_returns_was_queued(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("t", "test");
    uint32_t thread = nvt_trace_thread(trace, nvt_trace_process(trace, 10), 11);
    add_call(trace, thread, 1, 100);
    add_kernel(trace, 1, 7, "gemm", 110, 150);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    expect_of(&(struct nvt_input_trace){.trace = trace}, 1, "cuda_kern_exec_sum", 0,
              "10,11,0,1,1,50.0,50.0,50,50,0.0,10.0,10.0,10,10,0.0,0.0,0.0,0,0,0.0,"
              "40.0,40.0,40,40,0.0,cudaLaunchKernel,gemm\n");
}

static void traces(void **state)
{
    (void)state;
    expect("cuda_gpu_trace", 0, 1,
           "115,100,1,4,1,1,128,1,1,32,0.000,0.016,,,,,H100 (0),1,,7,gemm\n"
           "220,80,2,4,1,1,128,1,1,32,0.000,0.016,,,,,H100 (0),1,,7,gemm\n"
           "280,100,4,,,,,,,,,,2.000,20000000.000,Pageable,Device,H100 (0),1,,9,"
           "[CUDA memcpy Host-to-Device]\n"
           "520,200,3,4,1,1,128,1,1,32,0.000,0.016,,,,,H100 (0),1,,8,ncclDevKernel\n");
    expect("cuda_api_trace", 0, 1,
           "110,10,cudaLaunchKernel,0,1,10,11,,\n150,10,cudaLaunchKernel,0,2,10,11,,\n"
           "240,10,cudaMemcpyAsync,0,4,10,11,,\n500,10,cudaLaunchKernel,0,3,10,12,,\n");
}

static void kernels_by_range(void **state)
{
    (void)state;
    expect("nvtx_kern_sum", 0, 1,
           ",,10,12,0,1,200,200.0,200.0,200,200,0.0,ncclDevKernel\n"
           ":forward,PushPop,10,11,1,2,180,90.0,90.0,80,100,14.1,gemm\n"
           ":step,PushPop,10,11,1,2,180,90.0,90.0,80,100,14.1,gemm\n");
    expect("nvtx_kern_sum", NVT_ACROSS_THREADS, 2,
           ":backward,PushPop,10,11,2,2,400,200.0,200.0,200,200,0.0,ncclDevKernel\n"
           ":step,PushPop,10,11,2,2,400,200.0,200.0,200,200,0.0,ncclDevKernel\n"
           ":forward,PushPop,10,11,2,4,360,90.0,90.0,80,100,11.5,gemm\n"
           ":step,PushPop,10,11,2,4,360,90.0,90.0,80,100,11.5,gemm\n");
}

static void projections(void **state)
{
    (void)state;
    expect("nvtx_gpu_proj_sum", 0, 1,
           ":forward,PushPop,265,200,1,265.0,265.0,265,265,0.0,3,3.0,1.0,0.0\n"
           ":step,PushPop,265,1000,1,265.0,265.0,265,265,0.0,3,3.0,0.0,1.0\n");
    expect("nvtx_gpu_proj_sum", NVT_ACROSS_THREADS, 1,
           ":step,PushPop,605,1000,1,605.0,605.0,605,605,0.0,4,4.0,0.0,2.0\n"
           ":forward,PushPop,265,200,1,265.0,265.0,265,265,0.0,3,3.0,1.0,0.0\n"
           ":backward,PushPop,200,500,1,200.0,200.0,200,200,0.0,1,1.0,1.0,0.0\n");
    expect("nvtx_gpu_proj_trace", NVT_ACROSS_THREADS, 1,
           ":step,115,605,0,1000,PushPop,10,11,4,0,2,1,,:1\n"
           ":forward,115,265,100,200,PushPop,10,11,3,1,0,2,1,:1:2\n"
           ":backward,520,200,400,500,PushPop,10,11,1,1,0,3,1,:1:3\n");
}

/* The copy and the second gemm run at once for 20 ns, which count once. */
static void tree(void **state)
{
    (void)state;
    expect("range_tree", 0, 1,
           ":step,1,1000,300,100.0,0,PushPop,0,260,0,265,3,0\n"
           "--:forward,1,200,200,20.0,1,PushPop,0,260,260,265,3,3\n"
           "--:backward,1,500,500,50.0,1,PushPop,0,0,0,0,0,0\n");
    expect("range_tree", NVT_ACROSS_THREADS, 2,
           ":step,2,2000,600,100.0,0,PushPop,0,920,0,1210,8,0\n"
           "--:forward,2,400,400,20.0,1,PushPop,0,520,520,530,6,6\n"
           "--:backward,2,1000,1000,50.0,1,PushPop,0,400,400,400,2,2\n");
}

/* All on one screen: the same numbers as in the reports that have all of them. */
static void sums_up(void **state)
{
    (void)state;
    expect(
        "summary", 0, 1,
        "1000,1,1,2,3,0,3,1,4,\n"
        "\n"
        "Device,PID,Span (ns),Busy (ns),Busy (%),Idle (ns),Idle (%),Kernels (%),Copies (%),"
        "Exposed Communication (ns),Exposed Communication (%)\n"
        "H100 (0),10,605,460,76.0,145,24.0,62.8,16.5,200,33.1\n"
        "\n"
        "Device,PID,Peak Allocated (MiB),Peak Reserved (MiB),Allocated at End (MiB),Peak at (ns)\n"
        "H100 (0),10,3.00,4.00,1.00,150\n"
        "\n"
        "Time (%),Total Time (ns),Instances,Avg (ns),Name\n"
        "52.6,200,1,200.0,ncclDevKernel\n"
        "47.4,180,2,90.0,gemm\n"
        "\n"
        "Total Proj Time (ns),Range Instances,Proj Avg (ns),Total Range Time (ns),Range\n"
        "265,1,265.0,200,:forward\n"
        "265,1,265.0,1000,:step\n"
        "\n"
        "Time (%),Total Time (ns),Num Calls,Avg (ns),Name\n"
        "75.0,30,3,10.0,cudaLaunchKernel\n"
        "25.0,10,1,10.0,cudaMemcpyAsync\n");
}

/* PyTorch's steps, each with a number of its own, are one range there. */
static void steps_are_summed_up(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("t", "test");
    nvt_trace_thread(trace, nvt_trace_process(trace, 10), 11);
    for (int i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof(name), "ProfilerStep#%d", i);
        add_range(trace, name, 100 * i, 100 * i + 90);
        add_call(trace, 0, (uint64_t)i + 1, 100 * i + 10);
        add_kernel(trace, (uint64_t)i + 1, 7, "gemm", 100 * i + 30, 100 * i + 80);
    }
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    struct nvt_input_trace input_trace = {.trace = trace};
    struct nvt_input input = {.traces = &input_trace, .trace_count = 1};
    struct nvt_tables tables = {0};
    assert_int_equal(nvt_report_make(nvt_report_find("summary"), &input, &tables, &err), 0);
    /* Trace overview, devices, kernels, ranges, calls: no memory. */
    assert_int_equal(tables.count, 5);
    assert_int_equal(nvt_table_rows(tables.items[3]), 1);
    assert_string_equal(nvt_table_text(tables.items[3], 0, 4), ":ProfilerStep#*");
    assert_int_equal(nvt_table_int(tables.items[3], 0, 0), 150);
    nvt_tables_free(&tables);
    nvt_buffer_free(&input.notes);
    nvt_trace_free(trace);
}

/* Gaps [215, 220], when the next call had returned long ago, and [380, 520], of which 130 ns are
 * before the return of the call. */
static void idle(void **state)
{
    (void)state;
    expect("gpu_idle", 0, 1,
           "H100 (0),10,605,460,145,24.0,130,2,72.5,72.5,140\n"
           "\n"
           "Start (ns),Duration (ns),Not Launched (ns),Device,PID,Operation Before,"
           "Operation After\n"
           "380,140,130,H100 (0),10,[CUDA memcpy Host-to-Device],ncclDevKernel\n"
           "215,5,0,H100 (0),10,gemm,gemm\n");
}

/*
 * Two processes that take turns, 100 ns each, on what one calls device 0 and the other device
 * `second`; of the GPU it is known what it is, or not. The report's notes, which the caller frees;
 * *gaps gets the number of gaps that a diagnosis sees.
 */
static char *share(uint32_t second, int known, const char *rows, int *gaps)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("t", "test");
    for (uint32_t process = 0; process < 2; process++) {
        const struct nvt_device device = {.process = nvt_trace_process(trace, 10 + process),
                                          .device = process ? second : 0,
                                          .gpu = known ? string(trace, "GPU-5f") : 0};
        nvt_device_add(trace, &device);
    }
    for (uint32_t i = 0; i < 4; i++) {
        const struct nvt_op op = {.start = 100 * i,
                                  .end = 100 * i + 100,
                                  .process = i % 2,
                                  .device = i % 2 ? second : 0,
                                  .thread = NVT_NONE,
                                  .launch = INT64_MIN,
                                  .name = string(trace, "gemm"),
                                  .detail = NVT_NONE};
        nvt_op_add(trace, &op);
    }
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    struct nvt_input_trace input_trace = {.trace = trace};
    struct nvt_input input = {.traces = &input_trace, .trace_count = 1};
    struct nvt_tables tables = {0};
    char *out = NULL;
    size_t size;
    FILE *stream = open_memstream(&out, &size);
    assert_int_equal(nvt_report_make(nvt_report_find("gpu_idle"), &input, &tables, &err), 0);
    assert_int_equal(nvt_render_csv(&tables, stream), 0);
    fclose(stream);
    assert_memory_equal(strchr(out, '\n') + 1, rows, strlen(rows));
    free(out);
    *gaps = 0;
    assert_int_equal(nvt_gaps(trace, NULL, count_gap, gaps, NULL, &err), 0);
    char *notes =
        input.notes.size ? strndup((const char *)input.notes.data, input.notes.size) : strdup("");
    nvt_tables_free(&tables);
    nvt_buffer_free(&input.notes);
    nvt_trace_free(trace);
    assert_non_null(notes);
    return notes;
}

static void idle_of_a_shared_device(void **state)
{
    (void)state;
    int gaps;
    char *notes = share(1, 1, "(0),,400,400,0,0.0,0,0,,,\n", &gaps);
    assert_string_equal(notes, "");
    assert_int_equal(gaps, 0);
    free(notes);
    notes = share(0, 0, "(0),10,300,200,100,33.3,0,1,100.0,100.0,100\n(0),11,300,200,100,", &gaps);
    assert_non_null(strstr(notes, "note: several processes use devices of the same number"));
    assert_int_equal(gaps, 0);
    free(notes);
    notes = share(1, 0, "(0),10,300,200,100,33.3,0,1,100.0,100.0,100\n(1),11,300,200,100,", &gaps);
    assert_string_equal(notes, "");
    assert_int_equal(gaps, 2);
    free(notes);
}

/* A trace of a process that works on its device 0, which is `gpu`, for 100 ns from `origin` on. */
static struct nvt_trace *work_on(const char *path, const char *gpu, int64_t origin)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new(path, "test");
    const struct nvt_device device = {.process = nvt_trace_process(trace, 10),
                                      .gpu = gpu ? string(trace, gpu) : 0};
    const struct nvt_op op = {.end = 100,
                              .thread = NVT_NONE,
                              .launch = INT64_MIN,
                              .name = string(trace, "gemm"),
                              .detail = NVT_NONE};
    trace->origin_ns = origin;
    nvt_device_add(trace, &device);
    nvt_op_add(trace, &op);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    return trace;
}

static int tells_of_sharing(const char *first_gpu, const char *second_gpu, int64_t first_origin,
                            int64_t second_origin)
{
    static const char note[] = "note: a.nvt and b.nvt have work on the same device: when it is "
                               "idle in one, it may have work from the other\n";
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_input_trace traces[] = {{.trace = work_on("a.nvt", first_gpu, first_origin)},
                                       {.trace = work_on("b.nvt", second_gpu, second_origin)}};
    struct nvt_input input = {.traces = traces, .trace_count = 2};
    struct nvt_tables tables = {0};
    assert_int_equal(nvt_report_make(nvt_report_find("gpu_idle"), &input, &tables, &err), 0);
    int told = input.notes.size > 0;
    if (told) {
        assert_int_equal(input.notes.size, sizeof(note) - 1);
        assert_memory_equal(input.notes.data, note, sizeof(note) - 1);
    }
    nvt_tables_free(&tables);
    nvt_buffer_free(&input.notes);
    nvt_trace_free(traces[0].trace);
    nvt_trace_free(traces[1].trace);
    return told;
}

/* Ranks that write a trace each, and each call the same device their first. */
static void traces_of_one_device(void **state)
{
    (void)state;
    assert_true(tells_of_sharing("GPU-5f", "GPU-5f", 0, 0));
    assert_true(tells_of_sharing("GPU-5f", "GPU-5f", 5000, 5090));
    assert_true(tells_of_sharing("GPU-5f", "GPU-5f", 5090, 5000));
    assert_false(tells_of_sharing("GPU-5f", "GPU-5f", 5000, 5200));
    assert_false(tells_of_sharing("GPU-5f", "GPU-5f", 5200, 5000));
    assert_false(tells_of_sharing("GPU-5f", "GPU-60", 0, 0));
    assert_false(tells_of_sharing(NULL, NULL, 0, 0));
}

/* A kernel so many ns behind the call that launched it. The trace's notes, which the caller frees. */
static char *notes_of(int64_t behind)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("t", "test");
    uint32_t process = nvt_trace_process(trace, 10);
    const struct nvt_api api = {.start = 5000000,
                                .end = 5000100,
                                .thread = nvt_trace_thread(trace, process, 11),
                                .correlation = 1,
                                .name = string(trace, "cudaLaunchKernel")};
    const struct nvt_op op = {.start = 5000000 + behind,
                              .end = 5001000 + behind,
                              .process = process,
                              .thread = NVT_NONE,
                              .launch = INT64_MIN,
                              .correlation = 1,
                              .name = string(trace, "gemm"),
                              .detail = NVT_NONE};
    nvt_api_add(trace, &api);
    nvt_op_add(trace, &op);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    char *notes = strdup(trace->notes ? trace->notes : "");
    nvt_trace_free(trace);
    assert_non_null(notes);
    return notes;
}

static void times_of_another_clock(void **state)
{
    (void)state;
    char *notes = notes_of(-900000);
    assert_string_equal(notes, "");
    free(notes);
    notes = notes_of(-2500000);
    assert_string_equal(notes, "1 device operation begins before the call that launched it, by "
                               "up to 2.5 ms: such times cannot be relied on\n");
    free(notes);
    /* A device's work may wait, and CLOCK_REALTIME is decades ahead of CLOCK_MONOTONIC. */
    notes = notes_of(INT64_C(3600000000000));
    assert_string_equal(notes, "");
    free(notes);
    notes = notes_of(INT64_C(1795363682241834747));
    assert_string_equal(notes, "1 device operation begins days after the call that launched it: "
                               "such times come from another clock\n");
    free(notes);
}

static void overlap(void **state)
{
    (void)state;
    expect("overlap", 0, 1, "H100 (0),10,605,145,180,200,100,160,200,80,0.0,20.0\n");
}

static void memory(void **state)
{
    (void)state;
    expect("memory_peak", 0, 1,
           "(whole trace),H100 (0),10,1,3.00,4.00,1.00\n"
           ":step,H100 (0),10,1,3.00,4.00,1.00\n"
           ":forward,H100 (0),10,1,3.00,4.00,0.00\n"
           ":backward,H100 (0),10,1,1.00,4.00,0.00\n");
    expect("memory_timeline", 0, 1,
           "50,allocate,1048576,1048576,2097152,H100 (0),10,11,0x1000,pool\n"
           "150,allocate,2097152,3145728,4194304,H100 (0),10,11,0x1000,pool\n"
           "250,free,2097152,1048576,4194304,H100 (0),10,11,0x1000,pool\n");
    expect("memory_at_peak", 0, 1,
           "H100 (0),3.00,100.0,0.00,1,150,0\n"
           "--step,2.00,66.7,0.00,1,,1\n"
           "----forward,2.00,66.7,2.00,1,,2\n"
           "--[allocated before],1.00,33.3,1.00,0,,1\n");
}

/* Without an allocator's word, levels are running sums. */
static void memory_from_single_allocations(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("t", "test");
    nvt_trace_thread(trace, nvt_trace_process(trace, 10), 11);
    for (int i = 0; i < 5; i++) {
        const struct nvt_memory_event event = {.time = i * 10,
                                               .bytes = 1 << 20,
                                               .allocated = UINT64_MAX,
                                               .reserved = UINT64_MAX,
                                               .kind = i < 3 ? NVT_MEMORY_ALLOC : NVT_MEMORY_FREE};
        nvt_memory_event_add(trace, &event);
    }
    add_range(trace, "late", 35, 36);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    struct nvt_input_trace input_trace = {.trace = trace};
    struct nvt_input input = {.traces = &input_trace, .trace_count = 1};
    struct nvt_tables tables = {0};
    assert_int_equal(nvt_report_make(nvt_report_find("memory_peak"), &input, &tables, &err), 0);
    assert_true(nvt_table_real(tables.items[0], 0, 4) == 3.0);
    assert_true(nvt_table_real(tables.items[0], 0, 6) == 1.0);
    assert_true(nvt_table_real(tables.items[0], 1, 4) == 2.0);
    nvt_tables_free(&tables);
    nvt_buffer_free(&input.notes);
    nvt_trace_free(trace);
}

/* PyTorch's allocator of the host says 0 of what it holds, which is less than what is in use: nothing is shown. */
static void memory_whose_reserve_is_not_told(void **state)
{
    (void)state;
    static const char *const reports[] = {"memory_peak", "memory_timeline", "summary"};
    static const char *const columns[] = {"Peak Reserved (MiB)", "Reserved (bytes)",
                                          "Peak Reserved (MiB)"};
    struct nvt_error err = NVT_ERROR_INIT;
    for (int told = 0; told < 2; told++) {
        struct nvt_trace *trace = nvt_trace_new("t", "test");
        struct nvt_input_trace input_trace = {.trace = trace};
        struct nvt_input input = {.traces = &input_trace, .trace_count = 1};
        nvt_trace_thread(trace, nvt_trace_process(trace, 10), 11);
        add_memory(trace, 10, NVT_MEMORY_ALLOC, 5, 5, told ? 6 : 0);
        add_memory(trace, 20, NVT_MEMORY_FREE, 5, 0, 0);
        assert_int_equal(nvt_trace_finish(trace, &err), 0);
        for (size_t i = 0; i < NVT_COUNT_OF(reports); i++) {
            struct nvt_tables tables = {0};
            assert_int_equal(nvt_report_make(nvt_report_find(reports[i]), &input, &tables, &err),
                             0);
            const struct nvt_table *table = tables.items[i == 2]; /* behind the trace overview */
            assert_int_equal(nvt_table_is_null(table, 0, nvt_table_find(table, columns[i])), !told);
            nvt_tables_free(&tables);
        }
        nvt_buffer_free(&input.notes);
        nvt_trace_free(trace);
    }
}

/* Where the allocator says what is in use, what was there before the recording is no growth. */
static void memory_from_before_the_recording(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("t", "test");
    nvt_trace_thread(trace, nvt_trace_process(trace, 10), 11);
    add_memory(trace, 10, NVT_MEMORY_ALLOC, 5, 1005, 2000);
    add_memory(trace, 20, NVT_MEMORY_FREE, 5, 1000, 2000);
    add_range(trace, "early", 0, 5);
    add_range(trace, "step", 6, 25);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    struct nvt_input_trace input_trace = {.trace = trace};
    struct nvt_input input = {.traces = &input_trace, .trace_count = 1};
    struct nvt_tables tables = {0};
    assert_int_equal(nvt_report_make(nvt_report_find("memory_peak"), &input, &tables, &err), 0);
    static const double peaks[] = {1005, 1005, 1000}; /* the whole trace, step, early */
    for (size_t row = 0; row < 3; row++) {
        assert_true(nvt_table_real(tables.items[0], row, 4) == peaks[row]);
        assert_true(nvt_table_real(tables.items[0], row, 6) == 0);
    }
    nvt_tables_free(&tables);
    nvt_buffer_free(&input.notes);
    nvt_trace_free(trace);
}

/* A copy between devices is communication, and no kernel; a library's call is none of CUDA's; devices never had less in
 * reserve than in use, before the first event neither. */
static void sums_up_copies_between_devices(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("t", "test");
    nvt_trace_thread(trace, nvt_trace_process(trace, 10), 11);
    add_call(trace, 0, 1, 10);
    const struct nvt_api library = {.start = 5,
                                    .end = 25,
                                    .name = nvt_strings_add_text(trace->strings, "cublasSgemm_v2"),
                                    .class = NVT_API_LIBRARY};
    assert_true(nvt_api_add(trace, &library) != NVT_NONE);
    add_kernel(trace, 1, 7, "gemm", 100, 125);
    const struct nvt_op copy = {.start = 125,
                                .end = 200,
                                .detail = NVT_NONE,
                                .correlation = 2,
                                .stream = 7,
                                .kind = NVT_OP_MEMCPY,
                                .copy_kind = NVT_COPY_PTOP,
                                .name = nvt_strings_add_text(trace->strings, "copy")};
    assert_true(nvt_op_add(trace, &copy) != NVT_NONE);
    add_memory(trace, 10, NVT_MEMORY_FREE, 5, 1000, 1000);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    struct nvt_input_trace input_trace = {.trace = trace};
    struct nvt_input input = {.traces = &input_trace, .trace_count = 1};
    struct nvt_tables tables = {0};
    assert_int_equal(nvt_report_make(nvt_report_find("summary"), &input, &tables, &err), 0);
    const struct nvt_table *devices = tables.items[1];
    assert_int_equal(
        nvt_table_int(tables.items[0], 0, nvt_table_find(tables.items[0], "CUDA Calls")), 1);
    assert_true(nvt_table_real(devices, 0, nvt_table_find(devices, "Kernels (%)")) == 25);
    assert_true(nvt_table_real(devices, 0, nvt_table_find(devices, "Busy (%)")) == 100);
    nvt_tables_free(&tables);
    assert_int_equal(nvt_report_make(nvt_report_find("memory_peak"), &input, &tables, &err), 0);
    assert_true(nvt_table_real(tables.items[0], 0, 4) == 1005);
    assert_true(nvt_table_real(tables.items[0], 0, 5) == 1005);
    nvt_tables_free(&tables);
    nvt_buffer_free(&input.notes);
    nvt_trace_free(trace);
}

static void short_names(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"gemm", "gemm"},
        {"void f<int>(int)", "f"},
        {"void at::native::elementwise_kernel<(int)128, at::(anonymous namespace)::g(int)>(T1)",
         "elementwise_kernel"},
        {"void ns::(anonymous namespace)::k<float, (4 > 3)>(float const*)", "k"},
        {"std::enable_if<true, void>::type cub::Reduce<a, b<c> >(int*)", "Reduce"},
        {"_Z1kPf", "k"},
        {"_ZL4gemmPKf", "gemm"},
        {"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bLi256EEEvPT0_", "add_rmsnorm_quant_kernel"},
        {"_ZN12_GLOBAL__N_1L6reduceEPf", "reduce"},
        {"_Z9kPf", "_Z9kPf"},
        {"_Z99999999999999999999999kPf", "_Z99999999999999999999999kPf"},
        {"_ZN", "_ZN"},
        {"_Zero", "_Zero"},
        {"", ""},
        {"<<<", "<<<"},
        {"(((", "((("},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(names); i++) {
        size_t length;
        const char *start = nvt_short_name(names[i][0], strlen(names[i][0]), &length);
        assert_int_equal(length, strlen(names[i][1]));
        assert_memory_equal(start, names[i][1], length);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headings_are_those_of_nsys),
        cmocka_unit_test(sums_by_name),
        cmocka_unit_test(launches),
        cmocka_unit_test(a_kernel_that_starts_as_its_call_returns_was_queued),
        cmocka_unit_test(traces),
        cmocka_unit_test(kernels_by_range),
        cmocka_unit_test(projections),
        cmocka_unit_test(tree),
        cmocka_unit_test(sums_up),
        cmocka_unit_test(steps_are_summed_up),
        cmocka_unit_test(idle),
        cmocka_unit_test(idle_of_a_shared_device),
        cmocka_unit_test(traces_of_one_device),
        cmocka_unit_test(times_of_another_clock),
        cmocka_unit_test(overlap),
        cmocka_unit_test(memory),
        cmocka_unit_test(memory_from_single_allocations),
        cmocka_unit_test(memory_whose_reserve_is_not_told),
        cmocka_unit_test(memory_from_before_the_recording),
        cmocka_unit_test(sums_up_copies_between_devices),
        cmocka_unit_test(short_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
