/* Perfetto's traces, written field by field. */
#ifndef NVT_TESTS_PERFETTO_KIT_H
#define NVT_TESTS_PERFETTO_KIT_H

#include <stdint.h>

#include "../analyze/readers/reader.h"
#include "../lib/proto_put.h"

/* Types of events. */
enum { BEGIN = 1, END = 2, INSTANT = 3, COUNTER = 4 };

/* The file that a test writes, and parts of what comes next. */
extern struct nvt_buffer perfetto_file, perfetto_packet, perfetto_message, perfetto_inner;

/* Fixtures of each test. */
int perfetto_set_up(void **state);
int perfetto_tear_down(void **state);

/* The packet that was made is the next one of a sequence; another one begins. */
void perfetto_put_packet(uint32_t sequence);

/* The packet's time. */
void perfetto_at(uint64_t time);

/* A track with a process (`tid` 0), a thread, or a name alone (`pid` 0). */
void perfetto_put_track(uint64_t uuid, uint64_t parent, uint64_t pid, uint64_t tid,
                        const char *name);

/* An event of a track, of a type above, which may have a category and a name; a slice from its begin to its end. */
void perfetto_put_event(uint64_t time, unsigned type, uint64_t track, const char *category,
                        const char *name);
void perfetto_put_slice(uint64_t begin, uint64_t end, uint64_t track, const char *category,
                        const char *name);

/* The trace of the file, the caller's. */
struct nvt_trace *perfetto_read_file(void);

/* The range of a name, without which the test fails; when it begins and ends. */
uint32_t perfetto_range_called(const struct nvt_trace *trace, const char *name);
void perfetto_assert_span(const struct nvt_trace *trace, const char *name, int64_t start,
                          int64_t end);

/* A test with these fixtures. */
#define PERFETTO_TEST(name)                                                                        \
    cmocka_unit_test_setup_teardown(name, perfetto_set_up, perfetto_tear_down)

#endif
