#include "mpi_places.h"

#include <stdlib.h>

/* Stretches of a wait that are looked at, or moments of it. */
#define MOST 64

int nvt_mpi_places_make(struct nvt_mpi_places *places, const struct nvt_mpi_job *job,
                        struct nvt_error *err)
{
    places->job = job;
    places->ranges = calloc(job->file_count + 1, sizeof(*places->ranges));
    places->calls = calloc(job->file_count + 1, sizeof(*places->calls));
    if (!places->ranges || !places->calls)
        return nvt_fail(err, "out of memory");
    for (size_t i = 0; i < job->file_count; i++) {
        const struct nvt_trace *trace = job->files[i].from->trace;
        if (nvt_thread_ranges_make(&places->ranges[i], trace, err))
            return -1;
        if (nvt_buckets_make(&places->calls[i], trace->mpi_calls.thread, trace->threads.count, NULL,
                             trace->mpi_calls.count))
            return nvt_fail_at(err, trace->path, -1, "out of memory");
    }
    return 0;
}

void nvt_mpi_places_free(struct nvt_mpi_places *places)
{
    for (size_t i = 0; places->job && i < places->job->file_count; i++) {
        if (places->ranges)
            nvt_thread_ranges_free(&places->ranges[i]);
        if (places->calls)
            nvt_buckets_free(&places->calls[i]);
    }
    free(places->ranges);
    free(places->calls);
    *places = (struct nvt_mpi_places){0};
}

/* Where a thread is at a moment, and until when it does not leave: *until, at least one ns later. */
static struct nvt_mpi_place place_at(const struct nvt_mpi_places *places, uint32_t file,
                                     uint32_t thread, int64_t moment, int64_t *until)
{
    const struct nvt_thread_ranges *holders = &places->ranges[file];
    const struct nvt_mpi_calls *calls = &holders->trace->mpi_calls;
    uint32_t row = nvt_thread_ranges_innermost(holders, thread, moment, until);
    struct nvt_mpi_place place = {row == NVT_NONE ? 0 : holders->trace->ranges.name[row], 0};
    uint32_t at = nvt_buckets_behind(&places->calls[file], thread, calls->start, moment);
    row = at > places->calls[file].first[thread] ? places->calls[file].rows[at - 1] : NVT_NONE;
    if (at < places->calls[file].first[thread + 1]) {
        int64_t next = calls->start[places->calls[file].rows[at]];
        *until = next < *until ? next : *until;
    }
    if (row != NVT_NONE && calls->end[row] > moment) {
        place.call = calls->name[row];
        *until = calls->end[row] < *until ? calls->end[row] : *until;
    }
    return place;
}

struct nvt_mpi_place nvt_mpi_waiting_place(const struct nvt_mpi_places *places,
                                           const struct nvt_mpi_wait *wait)
{
    const struct nvt_mpi_calls *calls = &nvt_mpi_trace(places->job, wait->rank)->mpi_calls;
    int64_t until;
    struct nvt_mpi_place place = place_at(places, places->job->ranks[wait->rank].file,
                                          calls->thread[wait->call], wait->start, &until);
    place.call = calls->name[wait->call];
    return place;
}

/* Places with the time spent in each. */
struct tally {
    struct nvt_mpi_place places[MOST];
    int64_t ns[MOST];
    int count;
};

static void count_place(struct tally *tally, struct nvt_mpi_place place, int64_t ns)
{
    int i = 0;
    while (i < tally->count &&
           (tally->places[i].range != place.range || tally->places[i].call != place.call))
        i++;
    if (i == MOST)
        return;
    if (i == tally->count) {
        tally->places[i] = place;
        tally->ns[i] = 0;
        tally->count++;
    }
    tally->ns[i] += ns;
}

struct nvt_mpi_place nvt_mpi_late_place(const struct nvt_mpi_places *places,
                                        const struct nvt_mpi_wait *wait)
{
    const struct nvt_mpi_calls *calls = &nvt_mpi_trace(places->job, wait->late)->mpi_calls;
    const uint32_t thread = calls->thread[wait->late_call];
    const uint32_t file = places->job->ranks[wait->late].file;
    const int64_t start = nvt_mpi_time(places->job, wait->rank, wait->late, wait->start),
                  end = nvt_mpi_time(places->job, wait->rank, wait->late, wait->end);
    struct tally tally = {.count = 0};
    int64_t at = start, until;
    for (int i = 0; i < MOST && at < end; i++, at = until) {
        struct nvt_mpi_place place = place_at(places, file, thread, at, &until);
        until = until < end ? until : end;
        count_place(&tally, place, until - at);
    }
    if (at < end) {
        tally.count = 0;
        for (int i = 0; i < MOST; i++) {
            at = start + (end - start) / MOST * i;
            count_place(&tally, place_at(places, file, thread, at, &until), 1);
        }
    }
    int most = 0;
    for (int i = 1; i < tally.count; i++)
        most = tally.ns[i] > tally.ns[most] ? i : most;
    return tally.places[most];
}
