#include "other_ranges.h"

#include <string.h>

#include "capture.h"
#include "session.h"

/* Append as much as there is room for, without a half character of UTF-8, and only what can be printed. */
static size_t append(char *out, size_t used, const char *text, size_t length)
{
    const size_t room = NVT_OTHER_NAME - 1 - used;
    size_t size = length < room ? length : room;
    while (size && size < length && (text[size] & 0xc0) == 0x80)
        size--;
    for (size_t i = 0; i < size; i++)
        out[used + i] = (unsigned char)text[i] < ' ' ? ' ' : text[i];
    return used + size;
}

static int is_noted(const struct nvt_control *control, const char *name)
{
    for (int i = 0; i < NVT_OTHERS; i++)
        if (atomic_load(&control->other[i].is_ready) && !strcmp(control->other[i].name, name))
            return 1;
    return 0;
}

static void note(struct nvt_control *control, const struct nvt_event *event)
{
    char room[NVT_CAPTURE_TEXT], name[NVT_OTHER_NAME] = "";
    size_t length;
    const char *text = nvt_capture_text(event->attributes, room, &length);
    if (!text || !length)
        return;
    size_t used = append(name, 0, text, length);
    if (event->domain && *event->domain->name) {
        used = append(name, used, "@", 1);
        append(name, used, event->domain->name, strlen(event->domain->name));
    }
    if (is_noted(control, name))
        return;
    const uint32_t place = atomic_fetch_add(&control->others, 1);
    if (place >= NVT_OTHERS)
        return;
    memcpy(control->other[place].name, name, sizeof(name));
    atomic_store(&control->other[place].is_ready, 1);
}

void nvt_other_ranges_note(const struct nvt_event *event)
{
    struct nvt_control *control = nvt_session.control;
    if (atomic_load_explicit(&control->stepping, memory_order_relaxed) &&
        !atomic_load_explicit(&control->steps_seen, memory_order_relaxed) &&
        atomic_load_explicit(&control->others, memory_order_relaxed) < NVT_OTHERS)
        note(control, event);
}
