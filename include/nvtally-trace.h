/*
 * libnvtally-trace: traces as data. Tables of the trace model as Arrow streams without a copy, reports, SQL and findings,
 * of every format that nvtally reads.
 *
 *     const char *paths[] = {"a.nvt", "b.sqlite"};
 *     nvtally_trace *trace;
 *     nvtally_result *result;
 *     struct ArrowArrayStream stream;
 *     if (nvtally_trace_open(paths, 2, 0, &trace))
 *         fputs(nvtally_trace_error(), stderr);
 *     nvtally_trace_sql(trace, "SELECT name, sum(duration) FROM kernels GROUP BY 1", 60, 0, &result);
 *     nvtally_result_stream(result, 0, &stream);
 *     ...
 *     nvtally_result_free(result);
 *     nvtally_trace_close(trace);
 *
 * Ownership. What a function gives is the caller's, who releases it. Streams, and arrays that came from them, keep what they
 * need: a trace may be closed before its streams and arrays are released. A result keeps its trace.
 *
 * Errors. Functions return 0, or -1 when the text of nvtally_trace_error says why; it is the calling thread's, one line, and
 * lasts until its next call.
 *
 * Threads. A trace is used by one thread at a time; streams and arrays may be used and released by any.
 *
 * Version. Names and meanings stay as long as NVTALLY_TRACE_ABI does, which is in the name of the library's file.
 */
#ifndef NVTALLY_TRACE_H
#define NVTALLY_TRACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NVTALLY_TRACE_ABI 0
#define NVTALLY_TRACE_API __attribute__((visibility("default")))

/* Of Arrow's C stream interface. */
struct ArrowArrayStream;

typedef struct nvtally_trace nvtally_trace;
typedef struct nvtally_result nvtally_result;

/* Flags of nvtally_trace_open. */
enum {
    NVTALLY_TRACE_PLAIN_NAMES = 1, /* without the numbers that PyTorch gives to calls and steps */
};

/* NVTALLY_TRACE_ABI of the library, and the version of nvtally: static text. */
NVTALLY_TRACE_API int nvtally_trace_abi(void);
NVTALLY_TRACE_API const char *nvtally_trace_version(void);

/* Why the calling thread's last call failed; "" where none did. */
NVTALLY_TRACE_API const char *nvtally_trace_error(void);

/* Read traces, run directories and directories of traces, as every command of nvtally does. *trace is NULL on failure. */
NVTALLY_TRACE_API int nvtally_trace_open(const char *const *paths, size_t count, unsigned flags,
                                         nvtally_trace **trace);
NVTALLY_TRACE_API void nvtally_trace_close(nvtally_trace *trace);

/* Lines about the input, such as what could not be read, each with its line feed; they grow with what is asked. The trace's. */
NVTALLY_TRACE_API const char *nvtally_trace_notes(nvtally_trace *trace);

/* Tables of the model: how many, the name of each (NULL behind the last), what it is, and its rows in all traces. */
NVTALLY_TRACE_API size_t nvtally_trace_tables(void);
NVTALLY_TRACE_API const char *nvtally_trace_table(size_t table);
NVTALLY_TRACE_API const char *nvtally_trace_table_about(size_t table);
NVTALLY_TRACE_API int64_t nvtally_trace_rows(const nvtally_trace *trace, size_t table);

/*
 * A table of the model as a stream: one batch for each trace. Columns of fixed width, and indices of names, are the
 * trace's own memory (but for id, rank, duration, and references to rows where there are several traces). A name is a
 * dictionary's.
 */
NVTALLY_TRACE_API int nvtally_trace_stream(nvtally_trace *trace, const char *table,
                                           struct ArrowArrayStream *stream);

/* The timeline of one of the traces, in the order of their files, as a picture in SVG, for nvtally_trace_free_text; *svg is NULL where
 * it has nothing to draw, or there is no such trace. */
NVTALLY_TRACE_API int nvtally_trace_timeline(const nvtally_trace *trace, size_t which, char **svg);

/* Tables: those of a report of `nvtally stats`; results of SQL, as `nvtally sql` (seconds 0: no limit, rows 0: all); findings. */
NVTALLY_TRACE_API int nvtally_trace_report(nvtally_trace *trace, const char *report,
                                           nvtally_result **result);
NVTALLY_TRACE_API int nvtally_trace_sql(nvtally_trace *trace, const char *query, double seconds,
                                        size_t rows, nvtally_result **result);
NVTALLY_TRACE_API int nvtally_trace_diagnose(nvtally_trace *trace, nvtally_result **result);

/* How many tables a result has; the name and the title of each; its rows. */
NVTALLY_TRACE_API size_t nvtally_result_tables(const nvtally_result *result);
NVTALLY_TRACE_API const char *nvtally_result_name(const nvtally_result *result, size_t table);
NVTALLY_TRACE_API const char *nvtally_result_title(const nvtally_result *result, size_t table);
NVTALLY_TRACE_API size_t nvtally_result_rows(const nvtally_result *result, size_t table);

/* A table of a result as a stream, of one batch. */
NVTALLY_TRACE_API int nvtally_result_stream(nvtally_result *result, size_t table,
                                            struct ArrowArrayStream *stream);

/* A table of a result as text in a format of nvtally ("table", "csv", "json" …), for nvtally_trace_free_text. */
NVTALLY_TRACE_API int nvtally_result_text(const nvtally_result *result, size_t table,
                                          const char *format, char **text);
NVTALLY_TRACE_API void nvtally_trace_free_text(char *text);
NVTALLY_TRACE_API void nvtally_result_free(nvtally_result *result);

#ifdef __cplusplus
}
#endif
#endif
