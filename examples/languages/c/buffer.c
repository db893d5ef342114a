#include <string.h>
#include "buffer.h"

static int grow(struct buffer *b, size_t need) {
    size_t size = b->size ? 2 * b->size : 64;
    while (size < need)
        size *= 2;
    char *data = realloc(b->data, size);
    if (!data)
        return -1;
    b->data = data;
    b->size = size;
    return 0;
}

int append(struct buffer *b, const char *text, size_t length) {
    if (b->length + length > b->size && grow(b, b->length + length) < 0)
        return -1;
    memcpy(&b->data[b->length], text, length);
    b->length += length;
    return 0;
}
