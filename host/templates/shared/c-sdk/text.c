// Texts, and the memory that they are in.

#include <stdlib.h>
#include <string.h>

#include "json.h"

void *new_memory(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (memory == NULL)
        abort();
    return memory;
}

struct text text_from(const char *string)
{
    return (struct text){string, strlen(string)};
}

bool text_is(struct text text, const char *string)
{
    return strncmp(text.at, string, text.length) == 0 && string[text.length] == '\0';
}

static bool is_blank(unsigned char character)
{
    return character == ' ' || (character >= '\t' && character <= '\r');
}

struct text text_trimmed(struct text text)
{
    while (text.length > 0 && is_blank(text.at[0]))
        text = (struct text){text.at + 1, text.length - 1};
    while (text.length > 0 && is_blank(text.at[text.length - 1]))
        text.length--;
    return text;
}

void write_text(struct writer *out, struct text text)
{
    if (text.length > out->capacity - out->length) {
        size_t capacity = 2 * out->capacity + text.length + 16;
        char *memory = realloc(out->at, capacity);
        if (memory == NULL)
            abort();
        out->at = memory;
        out->capacity = capacity;
    }
    if (text.length > 0)
        memcpy(out->at + out->length, text.at, text.length);
    out->length += text.length;
}

void write_string(struct writer *out, const char *string)
{
    write_text(out, text_from(string));
}

struct text written(const struct writer *out)
{
    return (struct text){out->at ? out->at : "", out->length};
}

struct text text_from_latin1(struct text bytes)
{
    struct writer out = {0};
    for (size_t at = 0; at < bytes.length; at++) {
        unsigned char next = (unsigned char)bytes.at[at];
        char both[] = {(char)(0xC0 | next >> 6), (char)(next < 0x80 ? next : (0x80 | (next & 0x3F)))};
        write_text(&out, next < 0x80 ? (struct text){both + 1, 1} : (struct text){both, 2});
    }
    return written(&out);
}
