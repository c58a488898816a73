#include <stdlib.h>
#include <string.h>

#include "json.h"

// Deeper nesting is no lead, and the stack has an end.
enum { MAX_DEPTH = 127 };

// A text that is read from `at` on.
struct cursor {
    uint8_t *at, *end;
};

static struct cursor cursor_of(text piece)
{
    return (struct cursor){piece.ptr, piece.ptr + piece.len};
}

static text between(uint8_t *start, uint8_t *end)
{
    return (text){start, (size_t)(end - start)};
}

static int peek(const struct cursor *cursor)
{
    return cursor->at < cursor->end ? *cursor->at : -1;
}

static bool skip(struct cursor *cursor, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, word, length) != 0)
        return false;
    cursor->at += length;
    return true;
}

// Skips the characters that are among these.
static bool skip_all(struct cursor *cursor, const char *characters)
{
    uint8_t *start = cursor->at;
    while (peek(cursor) > 0 && strchr(characters, peek(cursor)) != NULL)
        cursor->at++;
    return cursor->at > start;
}

static void skip_blanks(struct cursor *cursor)
{
    skip_all(cursor, " \t\r\n");
}

static bool skip_number(struct cursor *cursor)
{
    static const char digits[] = "0123456789";
    skip(cursor, "-");
    if (!skip(cursor, "0") && !skip_all(cursor, digits))
        return false;
    if (skip(cursor, ".") && !skip_all(cursor, digits))
        return false;
    if (!skip(cursor, "e") && !skip(cursor, "E"))
        return true;
    if (!skip(cursor, "+"))
        skip(cursor, "-");
    return skip_all(cursor, digits);
}

// Reads a `u` and four hexadecimal digits; -1 if that is not what follows.
static long read_unit(struct cursor *cursor)
{
    long unit = 0;
    if (!skip(cursor, "u"))
        return -1;
    for (int count = 0; count < 4; count++, cursor->at++) {
        int next = peek(cursor);
        if (next >= '0' && next <= '9')
            unit = unit * 16 + next - '0';
        else if ((next | 32) >= 'a' && (next | 32) <= 'f')
            unit = unit * 16 + (next | 32) - 'a' + 10;
        else
            return -1;
    }
    return unit;
}

// Reads the second half of a surrogate pair; -1, and nothing is read, if it does not follow.
static long read_low_half(struct cursor *cursor)
{
    struct cursor next = *cursor;
    long low = skip(&next, "\\") ? read_unit(&next) : -1;
    if (low < 0xDC00 || low > 0xDFFF)
        return -1;
    *cursor = next;
    return low;
}

// Skips what follows a backslash.
static bool skip_escape(struct cursor *cursor)
{
    if (peek(cursor) != 'u')
        return peek(cursor) > 0 && strchr("\"\\/bfnrt", *cursor->at++) != NULL;
    uint8_t *digits = cursor->at + 1;
    long unit = read_unit(cursor);
    bool is_half = unit >= 0xD800 && unit <= 0xDFFF;
    // No text can leave the component with half of a pair in it.
    if (is_half && (unit >= 0xDC00 || read_low_half(cursor) < 0))
        memcpy(digits, "fffd", 4);
    return unit >= 0;
}

static bool skip_string(struct cursor *cursor)
{
    if (!skip(cursor, "\""))
        return false;
    while (peek(cursor) >= ' ') {
        uint8_t next = *cursor->at++;
        if (next == '"')
            return true;
        if (next == '\\' && !skip_escape(cursor))
            return false;
    }
    return false;
}

static bool skip_name(struct cursor *cursor)
{
    skip_blanks(cursor);
    if (!skip_string(cursor))
        return false;
    skip_blanks(cursor);
    return skip(cursor, ":");
}

static bool skip_value(struct cursor *cursor, int depth);

static bool skip_members(struct cursor *cursor, int depth)
{
    bool is_object = *cursor->at++ == '{';
    const char *end = is_object ? "}" : "]";
    skip_blanks(cursor);
    if (skip(cursor, end))
        return true;
    do {
        if ((is_object && !skip_name(cursor)) || !skip_value(cursor, depth + 1))
            return false;
        skip_blanks(cursor);
    } while (skip(cursor, ","));
    return skip(cursor, end);
}

static bool skip_value(struct cursor *cursor, int depth)
{
    skip_blanks(cursor);
    int next = peek(cursor);
    if (next == '"')
        return skip_string(cursor);
    if (next == '{' || next == '[')
        return depth < MAX_DEPTH && skip_members(cursor, depth);
    return skip(cursor, "null") || skip(cursor, "true") || skip(cursor, "false") || skip_number(cursor);
}

text json_from(text body)
{
    struct cursor cursor = cursor_of(body);
    skip(&cursor, "\xEF\xBB\xBF");
    skip_blanks(&cursor);
    uint8_t *start = cursor.at;
    bool is_json = skip_value(&cursor, 0);
    text value = between(start, cursor.at);
    skip_blanks(&cursor);
    return is_json && cursor.at == cursor.end ? value : (text){0};
}

// Writes a character as UTF-8, and returns where it ends.
static uint8_t *write_character(uint8_t *out, long character)
{
    int shift = character < 0x80 ? 0 : character < 0x800 ? 6 : character < 0x10000 ? 12 : 18;
    static const uint8_t leads[] = {0, 0xC0, 0xE0, 0xF0};
    *out++ = (uint8_t)(leads[shift / 6] | character >> shift);
    while ((shift -= 6) >= 0)
        *out++ = (uint8_t)(0x80 | (character >> shift & 0x3F));
    return out;
}

// Returns what a string means: itself if nothing in it is escaped.
static text unescaped(text quoted)
{
    text inner = {quoted.ptr + 1, quoted.len - 2};
    if (memchr(inner.ptr, '\\', inner.len) == NULL)
        return inner;
    static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    uint8_t *start = malloc(inner.len), *out = start;
    if (start == NULL)
        abort();
    for (struct cursor cursor = cursor_of(inner); cursor.at < cursor.end;) {
        if (!skip(&cursor, "\\")) {
            *out++ = *cursor.at++;
        } else if (peek(&cursor) != 'u') {
            *out++ = (uint8_t)meanings[strchr(escapes, *cursor.at++) - escapes];
        } else {
            long unit = read_unit(&cursor);
            if (unit >= 0xD800 && unit <= 0xDFFF)
                unit = 0x10000 + ((unit - 0xD800) << 10) + read_low_half(&cursor) - 0xDC00;
            out = write_character(out, unit);
        }
    }
    return between(start, out);
}

static bool is_blank(uint8_t character)
{
    return character == ' ' || (character >= '\t' && character <= '\r');
}

text json_text(text value)
{
    if (value.len == 0 || *value.ptr == '{' || *value.ptr == '[' || *value.ptr == 'n')
        return (text){0};
    text scalar = *value.ptr == '"' ? unescaped(value) : value;
    while (scalar.len > 0 && is_blank(*scalar.ptr))
        scalar.ptr++, scalar.len--;
    while (scalar.len > 0 && is_blank(scalar.ptr[scalar.len - 1]))
        scalar.len--;
    return scalar;
}

bool json_is_list(text value)
{
    return value.len > 0 && *value.ptr == '[';
}

// Takes the next member from what is left of an object or a list; an item of a list has no name.
static bool next_member(text *rest, text *name, text *value)
{
    struct cursor cursor = cursor_of(*rest);
    cursor.at++; // The bracket, or the comma after the previous member.
    skip_blanks(&cursor);
    *name = (text){0};
    uint8_t *start = cursor.at;
    if (*rest->ptr == '{' || rest->ptr[rest->len - 1] == '}') {
        if (!skip_string(&cursor))
            return false;
        *name = unescaped(between(start, cursor.at));
        skip_blanks(&cursor);
        cursor.at++;
        skip_blanks(&cursor);
        start = cursor.at;
    }
    if (!skip_value(&cursor, 0))
        return false;
    *value = between(start, cursor.at);
    skip_blanks(&cursor);
    *rest = between(cursor.at, cursor.end);
    return true;
}

bool json_next(text *list, text *item)
{
    text name;
    return next_member(list, &name, item);
}

// Returns whether there is something between the brackets of an object or a list.
static bool has_members(text value)
{
    text name, first;
    return next_member(&value, &name, &first);
}

text json_at(text value, const char *path)
{
    for (size_t length; *path != '\0'; path += length, path += *path == '.') {
        length = strcspn(path, ".");
        text rest = value, name, member;
        value = (text){0};
        if (rest.len == 0 || *rest.ptr != '{')
            break;
        while (next_member(&rest, &name, &member))
            if (name.len == length && memcmp(name.ptr, path, length) == 0)
                value = member;
    }
    bool is_scalar = value.len > 0 && *value.ptr != '{' && *value.ptr != '[';
    bool is_absent = value.len == 0 || (is_scalar ? json_text(value).len == 0 : !has_members(value));
    return is_absent ? (text){0} : value;
}
