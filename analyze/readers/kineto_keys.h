/*
 * Keys of trace events and of what stands around them: those that are read.
 */
#ifndef NVT_KINETO_KEYS_H
#define NVT_KINETO_KEYS_H

#include "kineto.h"

/* Keys that matter, whatever they are found in. */
enum nvt_kineto_key {
    OTHER_KEY,
    KEY_EVENTS,
    KEY_DISTRIBUTED,
    KEY_DEVICES,
    KEY_BASE,
    KEY_SCHEMA,
    KEY_PHASE,
    KEY_CATEGORY,
    KEY_NAME,
    KEY_LABELS,
    KEY_PID,
    KEY_TID,
    KEY_TIME,
    KEY_DURATION,
    KEY_ID,
    KEY_ID2,
    KEY_LOCAL,
    KEY_GLOBAL,
    KEY_SCOPE,
    KEY_ARGS,
    KEY_GRID,
    KEY_BLOCK,
    KEY_RANK,
    KEY_WORLD,
    KEY_MEMORY,
    KEY_SMS,
    KEY_MAJOR,
    KEY_MINOR,
    KEY_COLLECTIVE,
    KEY_TYPE,
    KEY_GROUP,
    KEY_MEMBERS,
    KEY_PURPOSE,
    KEY_PG_LIST,
    KEY_PG_NAME,
    KEY_PG_PURPOSE,
    KEY_PG_SIZE,
    KEY_PG_RANKS,
    KEY_FILE,
    KEY_CALLER,
    KEY_ADDRESS,
    KEY_OWN,
    KEY_DETAILS,
    KEY_SHAPES,
    KEY_TYPES,
    KEY_VALUES,
    KEY_NUMBER /* + enum nvt_kineto_number */
};

/* The key of that text, OTHER_KEY: none of them. */
int nvt_kineto_key(const char *text, size_t size);

#endif
