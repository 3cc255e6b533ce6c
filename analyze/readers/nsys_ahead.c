#ifdef HAVE_SQLITE
#include "nsys_ahead.h"

#include <pthread.h>
#include <stdlib.h>

#include "../model/parallel.h"

/* Rows of a block, at most, and bytes of their texts from which on it is full: a file can have one text in many rows. */
#define BLOCK_ROWS  1024
#define BLOCK_TEXTS (1 << 20)

/* A block is filled while another is taken, and one lies between them. */
#define BLOCKS 3

struct block {
    uint32_t rows;
    int status; /* of sqlite3_step: SQLITE_ROW, there is another block */
    struct nvt_buffer texts;
    struct nvt_nsys_cell cells[BLOCK_ROWS][NVT_NSYS_COLUMNS];
};

struct nvt_nsys_ahead {
    sqlite3_stmt *statement;
    unsigned present;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned filled, taken; /* blocks, with the lock */
    int stops;
    uint32_t row; /* of the block that is taken: the next */
    struct block blocks[BLOCKS];
};

/* A cell of the statement's row. A text lies where it will be in the block's, which may still move. 0, or -1 when out of memory. */
static int fill_cell(const struct nvt_nsys_ahead *ahead, int column, struct block *block,
                     struct nvt_nsys_cell *cell)
{
    *cell = nvt_nsys_cell_of(ahead->statement, column);
    if (cell->type != SQLITE_TEXT)
        return 0;
    const char *text = cell->text;
    cell->whole = (int64_t)block->texts.size;
    return !text || nvt_buffer_append(&block->texts, text, cell->size + 1) ? -1 : 0;
}

static int fill_row(const struct nvt_nsys_ahead *ahead, struct block *block)
{
    struct nvt_nsys_cell *cells = block->cells[block->rows];
    for (unsigned left = ahead->present; left; left &= left - 1) {
        const int column = __builtin_ctz(left);
        if (fill_cell(ahead, column, block, &cells[column]))
            return SQLITE_NOMEM;
    }
    block->rows++;
    return SQLITE_ROW;
}

/* Texts are where they stay. */
static void place_texts(const struct nvt_nsys_ahead *ahead, struct block *block)
{
    for (uint32_t row = 0; block->texts.size && row < block->rows; row++)
        for (unsigned left = ahead->present; left; left &= left - 1) {
            struct nvt_nsys_cell *cell = &block->cells[row][__builtin_ctz(left)];
            if (cell->type == SQLITE_TEXT)
                cell->text = (const char *)block->texts.data + cell->whole;
        }
}

static void fill(struct nvt_nsys_ahead *ahead, struct block *block)
{
    block->rows = 0;
    block->texts.size = 0;
    block->status = SQLITE_ROW;
    while (block->status == SQLITE_ROW && block->rows < BLOCK_ROWS &&
           block->texts.size < BLOCK_TEXTS) {
        block->status = sqlite3_step(ahead->statement);
        if (block->status == SQLITE_ROW)
            block->status = fill_row(ahead, block);
    }
    place_texts(ahead, block);
}

static void *run(void *argument)
{
    struct nvt_nsys_ahead *ahead = argument;
    int status = SQLITE_ROW;
    pthread_mutex_lock(&ahead->lock);
    while (status == SQLITE_ROW && !ahead->stops) {
        if (ahead->filled - ahead->taken == BLOCKS) {
            pthread_cond_wait(&ahead->changed, &ahead->lock);
            continue;
        }
        struct block *block = &ahead->blocks[ahead->filled % BLOCKS];
        pthread_mutex_unlock(&ahead->lock);
        fill(ahead, block);
        status = block->status;
        pthread_mutex_lock(&ahead->lock);
        ahead->filled++;
        pthread_cond_signal(&ahead->changed);
    }
    pthread_mutex_unlock(&ahead->lock);
    return NULL;
}

struct nvt_nsys_ahead *nvt_nsys_ahead_open(sqlite3_stmt *statement, unsigned present)
{
    const int may = nvt_thread_count() > 1 && sqlite3_threadsafe();
    struct nvt_nsys_ahead *ahead = may ? calloc(1, sizeof(*ahead)) : NULL;
    if (!ahead)
        return NULL;
    /* What the file has no column for is null in all rows. */
    for (size_t i = 0; i < BLOCKS; i++)
        for (size_t row = 0; row < BLOCK_ROWS; row++)
            for (size_t column = 0; column < NVT_NSYS_COLUMNS; column++)
                ahead->blocks[i].cells[row][column].type = SQLITE_NULL;
    ahead->statement = statement;
    ahead->present = present;
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    if (!pthread_create(&ahead->thread, NULL, run, ahead))
        return ahead;
    pthread_mutex_destroy(&ahead->lock);
    pthread_cond_destroy(&ahead->changed);
    free(ahead);
    return NULL;
}

/* The block that is taken, once it is filled. */
static struct block *current(struct nvt_nsys_ahead *ahead)
{
    while (ahead->filled == ahead->taken)
        pthread_cond_wait(&ahead->changed, &ahead->lock);
    return &ahead->blocks[ahead->taken % BLOCKS];
}

int nvt_nsys_ahead_next(struct nvt_nsys_ahead *ahead, const struct nvt_nsys_cell **row)
{
    struct block *block = &ahead->blocks[ahead->taken % BLOCKS];
    if (!ahead->row || ahead->row == block->rows) {
        pthread_mutex_lock(&ahead->lock);
        block = current(ahead);
        while (ahead->row == block->rows && block->status == SQLITE_ROW) {
            ahead->taken++;
            ahead->row = 0;
            pthread_cond_signal(&ahead->changed);
            block = current(ahead);
        }
        pthread_mutex_unlock(&ahead->lock);
    }
    if (ahead->row == block->rows)
        return block->status;
    *row = block->cells[ahead->row++];
    return SQLITE_ROW;
}

void nvt_nsys_ahead_close(struct nvt_nsys_ahead *ahead)
{
    if (!ahead)
        return;
    pthread_mutex_lock(&ahead->lock);
    ahead->stops = 1;
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
    pthread_join(ahead->thread, NULL);
    pthread_mutex_destroy(&ahead->lock);
    pthread_cond_destroy(&ahead->changed);
    for (size_t i = 0; i < BLOCKS; i++)
        nvt_buffer_free(&ahead->blocks[i].texts);
    free(ahead);
}
#endif
