/*
 * MPI calls of a program that calls what its MPI has of the latest, by mpi4py: Debian's Open MPI, MPICH and Intel MPI, as far as
 * ./setup has put them into .deps/mpi. The functions with large counts have the names of the others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "record_kit.h"

static const char program[] =
    "import sys\n"
    "from mpi4py import MPI\n"
    "world = MPI.COMM_WORLD\n"
    "given, got = bytearray(8000), bytearray(8000)\n"
    "for i in range(5):\n"
    "    world.Send(given, dest=1, tag=7) if world.rank == 0 else world.Recv(got, source=0, "
    "tag=7)\n"
    "    world.Allreduce(given, got)\n"
    "    world.Bcast(given, root=0)\n"
    "    world.Barrier()\n"
    "world.Recv(got, source=MPI.PROC_NULL)\n"
    "file = MPI.File.Open(MPI.COMM_SELF, '/dev/null', MPI.MODE_WRONLY)\n"
    "file.Write_all(given); file.Close()\n"
    "if MPI.Get_version()[0] > 3:\n"
    "    MPI.Session.Init().Finalize()\n"
    "    request = world.Allreduce_init(given, got)\n"
    "    request.Start(); request.Wait(); request.Free()\n"
    "    if world.rank == 0:\n"
    "        request = world.Psend_init(given, 2, 1, 0)\n"
    "        request.Start(); request.Pready(0); request.Pready(1)\n"
    "    else:\n"
    "        request = world.Precv_init(got, 2, 0, 0)\n"
    "        request.Start()\n"
    "    request.Wait(); request.Free()\n"
    "else:\n"
    "    try: world.Allreduce_init(given, got); sys.exit('there is no such function')\n"
    "    except NotImplementedError: pass\n";

/* How often a function was called, by all ranks, with so many bytes sent and received (UINT64_MAX: any), and that peer. */
static uint32_t count(const struct nvt_trace *trace, const char *name, uint64_t sent,
                      uint64_t received, int32_t peer)
{
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    uint32_t found = 0;
    for (uint32_t i = 0; i < calls->count; i++)
        found += !strcmp(nvt_name(trace, calls->name[i]), name) &&
                 (sent == UINT64_MAX || calls->sent[i] == sent) &&
                 (received == UINT64_MAX || calls->received[i] == received) &&
                 (peer == NVT_MPI_NONE || calls->peer[i] == peer);
    return found;
}

static uint32_t calls_of(const struct nvt_trace *trace, const char *name)
{
    return count(trace, name, UINT64_MAX, UINT64_MAX, NVT_MPI_NONE);
}

/* Where mpi4py was put, and with what it is to be started, by a shell; `folder`: of the MPI. */
static const char recorded[] =
    "folder=$1; abi=$2; shift 2\n"
    "package=$(find \"$PWD/.deps/mpi\" -type d -path '*/mpi4py' -prune | head -n 1)\n"
    "[ -n \"$package\" ] && [ -x \"$folder/bin/mpiexec\" ] || exit 77\n"
    "[ \"$folder\" = /usr ] || export LD_LIBRARY_PATH=\"$folder/lib\"\n"
    "export PYTHONPATH=\"${package%/*}\" MPI4PY_MPIABI=\"$abi\" OMPI_ALLOW_RUN_AS_ROOT=1\n"
    "export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1\n"
    "exec \"$NVTALLY\" record --trace mpi -o \"$1\" -- \"$folder/bin/mpiexec\" -n 2 python3 -c "
    "\"$2\"\n";

/* The trace; NULL: that MPI is not here. */
static struct nvt_trace *record(const char *folder, const char *abi)
{
    char nvtally[4200];
    const char *build = getenv("NVTALLY_BUILD");
    snprintf(nvtally, sizeof(nvtally), "NVTALLY=%s/nvtally", build ? build : "build");
    const struct cli_options options = {.environment = (const char *[]){nvtally, NULL},
                                        .timeout_s = 120};
    struct cli_result result =
        cli_run_with(&options, (const char *const[]){"sh", "-c", recorded, "sh", folder, abi,
                                                     recorded_path(), program, NULL});
    struct nvt_trace *trace = NULL;
    if (result.status == 77) {
        print_message("no mpi4py with the MPI of %s here (see ./setup): not run\n", folder);
    } else {
        cli_expect_status(&result, 0);
        trace = recorded_trace();
    }
    cli_result_free(&result);
    return trace;
}

static void expect_calls(const struct nvt_trace *trace)
{
    assert_int_equal(count(trace, "MPI_Send", 8000, UINT64_MAX, 1), 5);
    assert_int_equal(count(trace, "MPI_Recv", UINT64_MAX, 8000, 0), 5);
    assert_int_equal(count(trace, "MPI_Recv", UINT64_MAX, 0, -2), 2); /* from nobody */
    assert_int_equal(count(trace, "MPI_Allreduce", 8000, 8000, NVT_MPI_NONE), 10);
    assert_int_equal(count(trace, "MPI_Bcast", UINT64_MAX, UINT64_MAX, 0), 10);
    assert_int_equal(calls_of(trace, "MPI_Barrier"), 10);
}

/* No function that mpi4py has called is missing. */
static void expect_no_note(const struct nvt_trace *trace)
{
    assert_true(!trace->notes || !strstr(trace->notes, "not recorded"));
}

static void expect_mpi_4(const struct nvt_trace *trace)
{
    assert_int_equal(calls_of(trace, "MPI_Session_init"), 2);
    assert_int_equal(calls_of(trace, "MPI_Session_finalize"), 2);
    assert_int_equal(calls_of(trace, "MPI_Allreduce_init"), 2);
    assert_int_equal(calls_of(trace, "MPI_Psend_init"), 1);
    assert_int_equal(calls_of(trace, "MPI_Precv_init"), 1);
    assert_int_equal(calls_of(trace, "MPI_Pready"), 2);
    assert_int_equal(calls_of(trace, "MPI_Start"), 4);
    assert_int_equal(calls_of(trace, "MPI_Wait"), 4);
}

static void calls_of_every_mpi_are_recorded(void **state)
{
    static const struct {
        const char *folder, *abi;
        int is_4;
    } all[] = {
        {"/usr", "openmpi", 0}, {".deps/mpi/mpich", "mpich", 1}, {".deps/mpi/intel", "mpich", 1}};
    int ran = 0;
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(all); i++) {
        struct nvt_trace *trace = record(all[i].folder, all[i].abi);
        if (!trace)
            continue;
        expect_calls(trace);
        expect_no_note(trace);
        if (all[i].is_4)
            expect_mpi_4(trace);
        nvt_trace_free(trace);
        ran++;
    }
    if (!ran)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls_of_every_mpi_are_recorded)};
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
