// Bodies of the type multipart/form-data. A delimiter counts only at the beginning of a line, so the
// time grows with the length of the body and no faster. The last delimiter may be missing.

#include <string.h>

#include "json.h"

enum {
    // RFC 2046 allows 70 characters; some senders use a few more.
    MAX_BOUNDARY = 200,
    // A form has some dozen fields.
    MAX_PARTS = 1000,
    // Bytes of the headers of one part.
    MAX_HEADERS = 8 * 1024,
};

static struct text after(struct text text, size_t count)
{
    return (struct text){text.at + count, text.length - count};
}

static bool begins(struct text text, const char *with)
{
    size_t length = strlen(with);
    return text.length >= length && memcmp(text.at, with, length) == 0;
}

// Returns the length of a text up to one of these characters, or of all of it.
static size_t length_to(struct text text, const char *ends)
{
    size_t at = 0;
    while (at < text.length && (text.at[at] == '\0' || strchr(ends, text.at[at]) == NULL))
        at++;
    return at;
}

static bool is_same(struct text text, const char *lower)
{
    text = text_trimmed(text);
    for (size_t at = 0; at < text.length; at++)
        if (lower[at] == '\0' || (text.at[at] >= 'A' && text.at[at] <= 'Z' ? text.at[at] | 32 : text.at[at]) != lower[at])
            return false;
    return lower[text.length] == '\0';
}

// Returns a value in quotes, and how long it is in the header.
static struct text unquoted(struct text text, size_t *length)
{
    struct writer out = {0};
    size_t at = 1;
    for (; at < text.length && text.at[at] != '"'; at++) {
        // Other backslashes are those of a Windows path, as old browsers sent it.
        bool is_escape = text.at[at] == '\\' && at + 1 < text.length && (text.at[at + 1] == '"' || text.at[at + 1] == '\\');
        at += is_escape;
        write_text(&out, (struct text){text.at + at, 1});
    }
    *length = at < text.length ? at + 1 : at;
    return written(&out);
}

// Finds a parameter of a header: `name=value` or `name="value"`.
static bool has_parameter(struct text header, const char *wanted, struct text *value)
{
    struct text rest = after(header, length_to(header, ";"));
    while (rest.length > 0) {
        while (rest.length > 0 && strchr("; \t\r\n\v\f", rest.at[0]) != NULL && rest.at[0] != '\0')
            rest = after(rest, 1);
        struct text name = {rest.at, length_to(rest, "=;")};
        rest = after(rest, name.length);
        if (rest.length == 0 || rest.at[0] == ';')
            continue;
        rest = after(rest, 1);
        size_t length = length_to(rest, ";");
        struct text found = {rest.at, length};
        while (found.length > 0 && text_trimmed((struct text){found.at + found.length - 1, 1}).length == 0)
            found.length--;
        if (rest.length > 0 && rest.at[0] == '"')
            found = unquoted(rest, &length);
        rest = after(rest, length);
        if (is_same(name, wanted)) {
            *value = found;
            return true;
        }
    }
    return false;
}

// Returns what is before the first empty line, and sets what is after it.
static struct text headers_in(struct text part, struct text *text)
{
    for (size_t line = 0;;) {
        struct text rest = after(part, line);
        size_t empty = begins(rest, "\n") ? 1 : begins(rest, "\r\n") ? 2 : 0;
        if (empty > 0) {
            *text = after(rest, empty);
            return (struct text){part.at, line > 0 ? line - 1 : 0};
        }
        size_t length = length_to(rest, "\n");
        if (length == rest.length) {
            *text = after(part, part.length);
            return part;
        }
        line += length + 1;
    }
}

struct parts {
    struct form *form;
    size_t count;
    const char *why;
};

static void add(struct parts *parts, const char *from, const char *to)
{
    struct text part = {from, (size_t)(to - from)}, text;
    if (part.length > 0 && part.at[part.length - 1] == '\n')
        part.length--;
    if (part.length > 0 && part.at[part.length - 1] == '\r')
        part.length--;
    struct text headers = headers_in(part, &text);
    if (parts->why != NULL)
        return;
    if (parts->count++ == MAX_PARTS)
        parts->why = "the multipart body has more than 1000 parts";
    else if (headers.length > MAX_HEADERS)
        parts->why = "a part of the multipart body has too long headers";
    headers = text_from_bytes(headers);
    struct text name = {"", 0}, file = name;
    bool is_file = false;
    while (headers.length > 0) {
        struct text line = {headers.at, length_to(headers, "\n")};
        headers = after(headers, line.length < headers.length ? line.length + 1 : line.length);
        size_t colon = length_to(line, ":");
        if (colon == line.length || !is_same((struct text){line.at, colon}, "content-disposition"))
            continue;
        line = after(line, colon + 1);
        if (!has_parameter(line, "name", &name))
            name = (struct text){"", 0};
        is_file = has_parameter(line, "filename", &file);
    }
    if (parts->why == NULL)
        form_add(parts->form, name, is_file ? file : text_from_bytes(text));
}

struct value *multipart_parse(struct text content_type, struct text body, const char **why)
{
    struct text boundary;
    if (!has_parameter(content_type, "boundary", &boundary) || boundary.length == 0 || boundary.length > MAX_BOUNDARY) {
        *why = "the multipart body's boundary is missing or too long";
        return NULL;
    }
    struct parts parts = {form_new(), 0, NULL};
    const char *begin = NULL, *end = body.at + body.length;
    bool is_last = false;
    for (struct text rest = body; !is_last;) {
        struct text line = {rest.at, length_to(rest, "\n")};
        const char *next = line.at + line.length;
        bool has_next = next < end;
        next += has_next;
        if (begins(line, "--") && line.length - 2 >= boundary.length &&
            memcmp(line.at + 2, boundary.at, boundary.length) == 0) {
            struct text tail = after(line, 2 + boundary.length);
            bool ends = begins(tail, "--");
            tail = after(tail, ends ? 2 : 0);
            while (tail.length > 0 && (tail.at[0] == ' ' || tail.at[0] == '\t' || tail.at[0] == '\r'))
                tail = after(tail, 1);
            if (tail.length == 0) {
                if (begin != NULL)
                    add(&parts, begin, line.at);
                begin = next;
                is_last = ends;
            }
        }
        if (!has_next)
            break;
        rest = (struct text){next, (size_t)(end - next)};
    }
    if (begin == NULL)
        parts.why = "the multipart body has no delimiter in it";
    else if (!is_last && begin < end)
        add(&parts, begin, end);
    *why = parts.why;
    return parts.why == NULL ? form_tree(parts.form) : NULL;
}
