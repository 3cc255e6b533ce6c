#include "buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"

void nvt_buffer_free(struct nvt_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct nvt_buffer){0};
}

static int run_out(struct nvt_buffer *buffer)
{
    buffer->failed = 1;
    return -1;
}

int nvt_buffer_reserve(struct nvt_buffer *buffer, size_t more)
{
    if (more > SIZE_MAX / 2 || buffer->size > SIZE_MAX / 2 - more)
        return run_out(buffer);
    size_t needed = buffer->size + more;
    if (needed <= buffer->capacity)
        return 0;
    size_t capacity = buffer->capacity ? buffer->capacity : 256;
    while (capacity < needed)
        capacity *= 2;
    if (nvt_resize(&buffer->data, capacity, 1))
        return run_out(buffer);
    buffer->capacity = capacity;
    return 0;
}

int nvt_buffer_append(struct nvt_buffer *buffer, const void *data, size_t size)
{
    if (nvt_buffer_reserve(buffer, size))
        return -1;
    if (size)
        memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
    return 0;
}

int nvt_buffer_printf(struct nvt_buffer *buffer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0 || nvt_buffer_reserve(buffer, (size_t)length + 1))
        return -1;
    va_start(arguments, format);
    vsnprintf((char *)buffer->data + buffer->size, (size_t)length + 1, format, arguments);
    va_end(arguments);
    buffer->size += (size_t)length;
    return 0;
}

int nvt_buffer_varint(struct nvt_buffer *buffer, uint64_t value)
{
    if (nvt_buffer_reserve(buffer, NVT_VARINT_MAX))
        return -1;
    buffer->size = (size_t)(nvt_varint_put(buffer->data + buffer->size, value) - buffer->data);
    return 0;
}

/* AMD's first two generations of Zen have it, but bit by bit. */
int nvt_has_pext(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("bmi2") && !__builtin_cpu_is("znver1") &&
           !__builtin_cpu_is("znver2");
#else
    return 0;
#endif
}
