/* Reports about devices over one small trace, whose every number is worked out by hand (gpu_trace_kit.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../analyze/reports/report.h"
#include "../lib/count_of.h"
#include "gpu_trace_kit.h"

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
    gpu_expect("cuda_gpu_kern_sum", 0, 1,
               "52.6,200,1,200.0,200.0,200,200,0.0,ncclDevKernel\n"
               "47.4,180,2,90.0,90.0,80,100,14.1,gemm\n");
    gpu_expect("cuda_gpu_kern_sum", 0, 2,
               "52.6,400,2,200.0,200.0,200,200,0.0,ncclDevKernel\n"
               "47.4,360,4,90.0,90.0,80,100,11.5,gemm\n");
    gpu_expect(
        "cuda_gpu_kern_gb_sum", 0, 1,
        "52.6,200,1,200.0,200.0,200,200,0.0,\"   4    1    1\",\" 128    1    1\",ncclDevKernel\n"
        "47.4,180,2,90.0,90.0,80,100,14.1,\"   4    1    1\",\" 128    1    1\",gemm\n");
    gpu_expect("cuda_api_sum", 0, 1,
               "75.0,30,3,10.0,10.0,10,10,0.0,cudaLaunchKernel\n"
               "25.0,10,1,10.0,10.0,10,10,0.0,cudaMemcpyAsync\n");
    gpu_expect("cuda_gpu_mem_time_sum", 0, 1,
               "100.0,100,1,100.0,100.0,100,100,0.0,[CUDA memcpy Host-to-Device]\n");
    gpu_expect("cuda_gpu_mem_size_sum", 0, 1,
               "2.000,1,2.000,2.000,2.000,2.000,0.000,[CUDA memcpy Host-to-Device]\n");
    gpu_expect("cuda_gpu_sum", 0, 1,
               "41.7,200,1,200.0,200.0,200,200,0.0,CUDA_KERNEL,ncclDevKernel\n"
               "37.5,180,2,90.0,90.0,80,100,14.1,CUDA_KERNEL,gemm\n"
               "20.8,100,1,100.0,100.0,100,100,0.0,MEMORY_OPER,[CUDA memcpy Host-to-Device]\n");
    gpu_expect("cuda_api_gpu_sum", 0, 1,
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
    gpu_expect("cuda_kern_exec_sum", 0, 1,
               "10,12,0,1,1,220.0,220.0,220,220,0.0,10.0,10.0,10,10,0.0,10.0,10.0,10,10,0.0,"
               "200.0,200.0,200,200,0.0,cudaLaunchKernel,ncclDevKernel\n"
               "10,11,0,2,1,127.5,127.5,105,150,31.8,10.0,10.0,10,10,0.0,60.0,60.0,60,60,0.0,"
               "90.0,90.0,80,100,14.1,cudaLaunchKernel,gemm\n");
    gpu_expect(
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
    gpu_add_call(trace, thread, 1, 100);
    gpu_add_kernel(trace, 1, 7, "gemm", 110, 150);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    gpu_expect_of(&(struct nvt_input_trace){.trace = trace}, 1, "cuda_kern_exec_sum", 0,
                  "10,11,0,1,1,50.0,50.0,50,50,0.0,10.0,10.0,10,10,0.0,0.0,0.0,0,0,0.0,"
                  "40.0,40.0,40,40,0.0,cudaLaunchKernel,gemm\n");
}

static void traces(void **state)
{
    (void)state;
    gpu_expect("cuda_gpu_trace", 0, 1,
               "115,100,1,4,1,1,128,1,1,32,0.000,0.016,,,,,H100 (0),1,,7,gemm\n"
               "220,80,2,4,1,1,128,1,1,32,0.000,0.016,,,,,H100 (0),1,,7,gemm\n"
               "280,100,4,,,,,,,,,,2.000,20000000.000,Pageable,Device,H100 (0),1,,9,"
               "[CUDA memcpy Host-to-Device]\n"
               "520,200,3,4,1,1,128,1,1,32,0.000,0.016,,,,,H100 (0),1,,8,ncclDevKernel\n");
    gpu_expect("cuda_api_trace", 0, 1,
               "110,10,cudaLaunchKernel,0,1,10,11,,\n150,10,cudaLaunchKernel,0,2,10,11,,\n"
               "240,10,cudaMemcpyAsync,0,4,10,11,,\n500,10,cudaLaunchKernel,0,3,10,12,,\n");
}

static void kernels_by_range(void **state)
{
    (void)state;
    gpu_expect("nvtx_kern_sum", 0, 1,
               ",,10,12,0,1,200,200.0,200.0,200,200,0.0,ncclDevKernel\n"
               ":forward,PushPop,10,11,1,2,180,90.0,90.0,80,100,14.1,gemm\n"
               ":step,PushPop,10,11,1,2,180,90.0,90.0,80,100,14.1,gemm\n");
    gpu_expect("nvtx_kern_sum", NVT_ACROSS_THREADS, 2,
               ":backward,PushPop,10,11,2,2,400,200.0,200.0,200,200,0.0,ncclDevKernel\n"
               ":step,PushPop,10,11,2,2,400,200.0,200.0,200,200,0.0,ncclDevKernel\n"
               ":forward,PushPop,10,11,2,4,360,90.0,90.0,80,100,11.5,gemm\n"
               ":step,PushPop,10,11,2,4,360,90.0,90.0,80,100,11.5,gemm\n");
}

static void projections(void **state)
{
    (void)state;
    gpu_expect("nvtx_gpu_proj_sum", 0, 1,
               ":forward,PushPop,265,200,1,265.0,265.0,265,265,0.0,3,3.0,1.0,0.0\n"
               ":step,PushPop,265,1000,1,265.0,265.0,265,265,0.0,3,3.0,0.0,1.0\n");
    gpu_expect("nvtx_gpu_proj_sum", NVT_ACROSS_THREADS, 1,
               ":step,PushPop,605,1000,1,605.0,605.0,605,605,0.0,4,4.0,0.0,2.0\n"
               ":forward,PushPop,265,200,1,265.0,265.0,265,265,0.0,3,3.0,1.0,0.0\n"
               ":backward,PushPop,200,500,1,200.0,200.0,200,200,0.0,1,1.0,1.0,0.0\n");
    gpu_expect("nvtx_gpu_proj_trace", NVT_ACROSS_THREADS, 1,
               ":step,115,605,0,1000,PushPop,10,11,4,0,2,1,,:1\n"
               ":forward,115,265,100,200,PushPop,10,11,3,1,0,2,1,:1:2\n"
               ":backward,520,200,400,500,PushPop,10,11,1,1,0,3,1,:1:3\n");
}

/* The copy and the second gemm run at once for 20 ns, which count once. */
static void tree(void **state)
{
    (void)state;
    gpu_expect("range_tree", 0, 1,
               ":step,1,1000,300,100.0,0,PushPop,0,260,0,265,3,0\n"
               "--:forward,1,200,200,20.0,1,PushPop,0,260,260,265,3,3\n"
               "--:backward,1,500,500,50.0,1,PushPop,0,0,0,0,0,0\n");
    gpu_expect("range_tree", NVT_ACROSS_THREADS, 2,
               ":step,2,2000,600,100.0,0,PushPop,0,920,0,1210,8,0\n"
               "--:forward,2,400,400,20.0,1,PushPop,0,520,520,530,6,6\n"
               "--:backward,2,1000,1000,50.0,1,PushPop,0,400,400,400,2,2\n");
}

/* All on one screen: the same numbers as in the reports that have all of them. */
static void sums_up(void **state)
{
    (void)state;
    gpu_expect(
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
        gpu_add_range(trace, name, 100 * i, 100 * i + 90);
        gpu_add_call(trace, 0, (uint64_t)i + 1, 100 * i + 10);
        gpu_add_kernel(trace, (uint64_t)i + 1, 7, "gemm", 100 * i + 30, 100 * i + 80);
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
    gpu_expect("gpu_idle", 0, 1,
               "H100 (0),10,605,460,145,24.0,130,2,72.5,72.5,140\n"
               "\n"
               "Start (ns),Duration (ns),Not Launched (ns),Device,PID,Operation Before,"
               "Operation After\n"
               "380,140,130,H100 (0),10,[CUDA memcpy Host-to-Device],ncclDevKernel\n"
               "215,5,0,H100 (0),10,gemm,gemm\n");
}

static void overlap(void **state)
{
    (void)state;
    gpu_expect("overlap", 0, 1, "H100 (0),10,605,145,180,200,100,160,200,80,0.0,20.0\n");
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
        cmocka_unit_test(overlap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
