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

void write_character(struct writer *out, unsigned character)
{
    char bytes[4];
    size_t length = 0;
    if (character < 0x80) {
        bytes[length++] = (char)character;
    } else {
        int shift = character < 0x800 ? 6 : character < 0x10000 ? 12 : 18;
        unsigned lead = shift == 6 ? 0xC0 : shift == 12 ? 0xE0 : 0xF0;
        bytes[length++] = (char)(lead | character >> shift);
        while ((shift -= 6) >= 0)
            bytes[length++] = (char)(0x80 | (character >> shift & 0x3F));
    }
    write_text(out, (struct text){bytes, length});
}

// Returns the length of the UTF-8 character at the beginning of a text. 0 if it is none; `read` is
// how many bytes begin a character that they do not complete then, at least one.
static size_t character_length(const unsigned char *at, size_t length, size_t *read)
{
    size_t count = at[0] < 0x80 ? 1 : at[0] < 0xC2 ? 0 : at[0] < 0xE0 ? 2 : at[0] < 0xF0 ? 3 : at[0] < 0xF5 ? 4 : 0;
    // Bounds of the second byte: no longer form than needed, no surrogate, nothing above U+10FFFF.
    unsigned char low = at[0] == 0xE0 ? 0xA0 : at[0] == 0xF0 ? 0x90 : 0x80;
    unsigned char high = at[0] == 0xED ? 0x9F : at[0] == 0xF4 ? 0x8F : 0xBF;
    for (*read = 1; *read < count; ++*read, low = 0x80, high = 0xBF)
        if (*read == length || at[*read] < low || at[*read] > high)
            return 0;
    return count;
}

// The characters of 0x80 to 0x9F; those that have none are U+FFFD.
static const unsigned short windows_1252[32] = {
    0x20AC, 0xFFFD, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0xFFFD, 0x017D, 0xFFFD, 0xFFFD, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0xFFFD, 0x017E, 0x0178,
};

struct text text_from_bytes(struct text bytes)
{
    const unsigned char *at = (const unsigned char *)bytes.at;
    const struct text replacement = text_from("\xEF\xBF\xBD");
    struct writer out = {0};
    size_t good = 0, bad = 0, after = 0;
    bool is_whole = true, is_cut = false;
    for (size_t place = 0, skipped; place < bytes.length;) {
        const unsigned char *next = at + place;
        size_t left = bytes.length - place, count = character_length(next, left, &skipped);
        is_cut |= left > 1 && ((next[0] == 0xE2 && next[1] == 0x80) || (next[0] == 0xF0 && next[1] == 0x9F));
        is_cut |= place > 0 && next[0] == 0xC3 && next[-1] >= 'a' && next[-1] <= 'z';
        bool is_bad = count == 0 || (count == 3 && memcmp(next, replacement.at, 3) == 0);
        bad += is_bad;
        good += !is_bad && count > 1;
        if (count == 0) {
            is_whole = false;
            write_text(&out, (struct text){bytes.at + after, place - after});
            write_text(&out, replacement);
            after = place + skipped;
        }
        place += count ? count : skipped;
    }
    if (is_whole)
        return bytes;
    if (good >= bad || is_cut) {
        write_text(&out, (struct text){bytes.at + after, bytes.length - after});
        return written(&out);
    }
    out.length = 0;
    for (size_t place = 0; place < bytes.length; place++)
        write_character(&out, at[place] >= 0x80 && at[place] < 0xA0 ? windows_1252[at[place] - 0x80] : at[place]);
    return written(&out);
}
