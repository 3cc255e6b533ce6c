/* Views over the tables: what is asked for again and again. */
#ifdef HAVE_SQLITE
#include "connection.h"

const struct nvt_sql_view nvt_sql_views[] = {
    {"kernels",
     "kernels with their ranges and launch configurations",
     "SELECT o.id, o.file, o.rank, o.process, o.device, o.context, o.stream, o.start, o.end, "
     "o.duration, o.name, o.short_name, o.correlation, o.api, o.thread, o.launch, "
     "o.start - o.launch AS latency_ns, o.range, o.range_name, o.grid_x, o.grid_y, o.grid_z, "
     "o.block_x, o.block_y, o.block_z, o.registers, o.static_shared, o.dynamic_shared, "
     "o.local_memory, o.graph, o.collective FROM ops o WHERE o.kind = 0",
     {"ops", "kernel_shapes"},
     NVT_OP_KERNEL + 1},
    {"copies",
     "copies between host and devices, with their ranges",
     "SELECT o.id, o.file, o.rank, o.process, o.device, o.stream, o.start, o.end, o.duration, "
     "o.name, o.bytes, o.copy_kind, o.source_kind, o.target_kind, o.api, o.thread, o.launch, "
     "o.range, o.range_name FROM ops o WHERE o.kind = 1",
     {"ops"},
     NVT_OP_MEMCPY + 1},
    {"communicators",
     "communication kernels by group of ranks and kind, where the framework names "
     "them",
     "SELECT c.group_name, c.purpose, c.members, c.ranks, c.name, count(*) AS calls, "
     "sum(o.duration) AS total_ns, min(o.duration) AS min_ns, max(o.duration) AS max_ns "
     "FROM collectives c JOIN kernel_shapes k ON k.collective = c.id "
     "JOIN ops o ON o.kind = 0 AND o.detail = k.id "
     "GROUP BY c.group_name, c.purpose, c.members, c.ranks, c.name",
     {"collectives"},
     0},
    {.name = NULL}};

const char *const nvt_sql_view_columns[][2] = {
    {"latency_ns", "from the begin of the launching call to the begin of the kernel"},
    {"calls", "kernels"},
    {"total_ns", "their durations added up"},
    {"min_ns", "the shortest"},
    {"max_ns", "the longest"},
    {NULL, NULL}};
#endif
