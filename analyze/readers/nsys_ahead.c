#ifdef HAVE_SQLITE
#include "nsys_ahead.h"

#include <pthread.h>
#include <stdlib.h>

#include "../model/parallel.h"

/* A range of rows that was read. */
struct block {
    int is_ready;
    int is_whole; /* all of its rows are here */
    uint32_t rows;
    struct nvt_buffer texts;
    struct nvt_nsys_cell cells[NVT_NSYS_AHEAD_ROWS][NVT_NSYS_COLUMNS];
};

struct nvt_nsys_ahead {
    struct nvt_nsys *reader;
    sqlite3_stmt *statement;
    unsigned present;
    int64_t first, last; /* row ids */
    uint64_t ranges;
    pthread_mutex_t lock; /* of what follows, up to the threads, and of who is ready */
    pthread_cond_t changed;
    uint64_t begun, taken; /* ranges: begun to be read, and given back */
    int stops;             /* nobody wants more */
    struct helper {
        struct nvt_nsys_ahead *ahead;
        pthread_t thread;
        unsigned number;
    } helpers[NVT_NSYS_HELPERS];
    unsigned started;
    struct block *block; /* that is taken, NULL: none is */
    uint32_t row;        /* of it: the next */
    int is_direct;       /* the statement steps through its range */
    struct block *blocks;
};

/* Ranges at once: one of each thread, and two that lie ready. */
#define BLOCKS (NVT_NSYS_HELPERS + 3)

/* --- a range --- */

/* The ids of a range become the parameters. */
static void bind_range(const struct nvt_nsys_ahead *ahead, sqlite3_stmt *statement, uint64_t number)
{
    const int64_t from = ahead->first + (int64_t)(number * NVT_NSYS_AHEAD_ROWS);
    const int is_last = number + 1 == ahead->ranges;
    sqlite3_bind_int64(statement, 1, from);
    sqlite3_bind_int64(statement, 2, is_last ? ahead->last : from + NVT_NSYS_AHEAD_ROWS - 1);
}

/* A cell of the statement's row. A text lies where it will be in the block's, which may still move. 0, or -1: not so. */
static int fill_cell(sqlite3_stmt *statement, int column, struct block *block,
                     struct nvt_nsys_cell *cell)
{
    *cell = nvt_nsys_cell_of(statement, column);
    if (cell->type != SQLITE_TEXT)
        return 0;
    const char *text = cell->text;
    cell->whole = (int64_t)block->texts.size;
    return !text || block->texts.size + cell->size >= NVT_NSYS_AHEAD_TEXTS ||
                   nvt_buffer_append(&block->texts, text, (size_t)cell->size + 1)
               ? -1
               : 0;
}

static int fill_row(sqlite3_stmt *statement, unsigned present, struct block *block)
{
    if (block->rows == NVT_NSYS_AHEAD_ROWS)
        return -1;
    struct nvt_nsys_cell *cells = block->cells[block->rows++];
    for (unsigned left = present; left; left &= left - 1) {
        const int column = __builtin_ctz(left);
        if (fill_cell(statement, column, block, &cells[column]))
            return -1;
    }
    return 0;
}

/* Texts are where they stay. */
static void place_texts(unsigned present, struct block *block)
{
    if (!block->texts.size)
        return;
    for (uint32_t row = 0; row < block->rows; row++)
        for (unsigned left = present; left; left &= left - 1) {
            struct nvt_nsys_cell *cell = &block->cells[row][__builtin_ctz(left)];
            if (cell->type == SQLITE_TEXT)
                cell->text = (const char *)block->texts.data + cell->whole;
        }
}

static void fill(const struct nvt_nsys_ahead *ahead, sqlite3_stmt *statement, uint64_t number,
                 struct block *block)
{
    int status;
    bind_range(ahead, statement, number);
    block->rows = 0;
    block->texts.size = 0;
    while ((status = sqlite3_step(statement)) == SQLITE_ROW)
        if (fill_row(statement, ahead->present, block))
            break;
    sqlite3_reset(statement);
    block->is_whole = status == SQLITE_DONE;
    if (block->is_whole)
        place_texts(ahead->present, block);
}

/* --- their order --- */

/* Whether a range can be begun. With the lock. */
static int can_begin(const struct nvt_nsys_ahead *ahead)
{
    return !ahead->stops && ahead->begun < ahead->ranges && ahead->begun - ahead->taken < BLOCKS;
}

/* Read a range. With the lock, which is released in between. */
static void work(struct nvt_nsys_ahead *ahead, sqlite3_stmt *statement)
{
    const uint64_t number = ahead->begun++;
    struct block *block = &ahead->blocks[number % BLOCKS];
    pthread_mutex_unlock(&ahead->lock);
    fill(ahead, statement, number, block);
    pthread_mutex_lock(&ahead->lock);
    block->is_ready = 1;
    pthread_cond_broadcast(&ahead->changed);
}

static void help(struct nvt_nsys_ahead *ahead, sqlite3_stmt *statement)
{
    pthread_mutex_lock(&ahead->lock);
    while (!ahead->stops && ahead->begun < ahead->ranges) {
        if (can_begin(ahead))
            work(ahead, statement);
        else
            pthread_cond_wait(&ahead->changed, &ahead->lock);
    }
    pthread_mutex_unlock(&ahead->lock);
}

/* Where the connection or the statement cannot be had, the others do it all. */
static void *run(void *argument)
{
    const struct helper *helper = argument;
    struct nvt_nsys_ahead *ahead = helper->ahead;
    sqlite3 **db = &ahead->reader->helpers[helper->number];
    sqlite3_stmt *statement = NULL;
    if ((*db || nvt_nsys_connect(ahead->reader, db) == SQLITE_OK) &&
        sqlite3_prepare_v2(*db, sqlite3_sql(ahead->statement), -1, &statement, NULL) == SQLITE_OK)
        help(ahead, statement);
    sqlite3_finalize(statement);
    return NULL;
}

/* Blocks, in which what the file has no column for is null. NULL when out of memory. */
static struct block *make_blocks(void)
{
    struct block *blocks = calloc(BLOCKS, sizeof(*blocks));
    for (unsigned i = 0; blocks && i < BLOCKS; i++)
        for (size_t row = 0; row < NVT_NSYS_AHEAD_ROWS; row++)
            for (size_t column = 0; column < NVT_NSYS_COLUMNS; column++)
                blocks[i].cells[row][column].type = SQLITE_NULL;
    return blocks;
}

static void start_threads(struct nvt_nsys_ahead *ahead)
{
    const unsigned count = sqlite3_threadsafe() ? nvt_thread_count() : 1;
    ahead->blocks = count > 1 ? make_blocks() : NULL;
    while (ahead->blocks && ahead->started < NVT_NSYS_HELPERS && ahead->started + 1 < count) {
        struct helper *helper = &ahead->helpers[ahead->started];
        *helper = (struct helper){.ahead = ahead, .number = ahead->started};
        if (pthread_create(&helper->thread, NULL, run, helper))
            return;
        ahead->started++;
    }
}

struct nvt_nsys_ahead *nvt_nsys_ahead_open(struct nvt_nsys *reader, sqlite3_stmt *statement,
                                           unsigned present, int64_t first, int64_t last)
{
    struct nvt_nsys_ahead *ahead = calloc(1, sizeof(*ahead));
    sqlite3_bind_int64(statement, 1, first);
    sqlite3_bind_int64(statement, 2, last);
    if (!ahead)
        return NULL;
    ahead->reader = reader;
    ahead->statement = statement;
    ahead->present = present;
    ahead->first = first;
    ahead->last = last;
    ahead->ranges = ((uint64_t)last - (uint64_t)first) / NVT_NSYS_AHEAD_ROWS + 1;
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    start_threads(ahead);
    return ahead;
}

/* Give back the block that was taken. With the lock. */
static void give_back(struct nvt_nsys_ahead *ahead)
{
    if (!ahead->block)
        return;
    ahead->block->is_ready = 0;
    ahead->block = NULL;
    ahead->taken++;
    pthread_cond_broadcast(&ahead->changed);
}

/* The next range becomes the one that is taken, once it is there. 0: there is no other. */
static int take_range(struct nvt_nsys_ahead *ahead)
{
    pthread_mutex_lock(&ahead->lock);
    give_back(ahead);
    const int is_there = ahead->taken < ahead->ranges;
    struct block *block = is_there ? &ahead->blocks[ahead->taken % BLOCKS] : NULL;
    while (block && !block->is_ready) {
        if (can_begin(ahead))
            work(ahead, ahead->statement);
        else
            pthread_cond_wait(&ahead->changed, &ahead->lock);
    }
    pthread_mutex_unlock(&ahead->lock);
    ahead->block = block;
    ahead->row = 0;
    ahead->is_direct = block && !block->is_whole;
    if (ahead->is_direct)
        bind_range(ahead, ahead->statement, ahead->taken);
    return is_there;
}

/* The same without threads. */
static int take_range_alone(struct nvt_nsys_ahead *ahead)
{
    if (ahead->taken == ahead->ranges)
        return 0;
    bind_range(ahead, ahead->statement, ahead->taken++);
    ahead->is_direct = 1;
    return 1;
}

int nvt_nsys_ahead_next(struct nvt_nsys_ahead *ahead, const struct nvt_nsys_cell **row)
{
    do {
        if (ahead->is_direct) {
            const int status = sqlite3_step(ahead->statement);
            *row = NULL;
            if (status != SQLITE_DONE)
                return status;
            sqlite3_reset(ahead->statement);
            ahead->is_direct = 0;
        } else if (ahead->block && ahead->block->is_whole && ahead->row < ahead->block->rows) {
            *row = ahead->block->cells[ahead->row++];
            return SQLITE_ROW;
        }
    } while (ahead->started ? take_range(ahead) : take_range_alone(ahead));
    return SQLITE_DONE;
}

void nvt_nsys_ahead_close(struct nvt_nsys_ahead *ahead)
{
    if (!ahead)
        return;
    pthread_mutex_lock(&ahead->lock);
    ahead->stops = 1;
    pthread_cond_broadcast(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
    while (ahead->started)
        pthread_join(ahead->helpers[--ahead->started].thread, NULL);
    pthread_mutex_destroy(&ahead->lock);
    pthread_cond_destroy(&ahead->changed);
    for (unsigned i = 0; ahead->blocks && i < BLOCKS; i++)
        nvt_buffer_free(&ahead->blocks[i].texts);
    free(ahead->blocks);
    free(ahead);
}
#endif
