// JSON whose numbers keep every digit.

#include <stdlib.h>
#include <string.h>

#include "json.h"

// A text that is read from `at` on.
struct parser {
    const char *at, *end;
};

static struct value *parse_value(struct parser *parser, int depth);

static int peek(const struct parser *parser)
{
    return parser->at < parser->end ? (unsigned char)*parser->at : -1;
}

static bool skip(struct parser *parser, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(parser->end - parser->at) < length || memcmp(parser->at, word, length) != 0)
        return false;
    parser->at += length;
    return true;
}

static void skip_blanks(struct parser *parser)
{
    int next = peek(parser);
    while (next == ' ' || next == '\t' || next == '\r' || next == '\n') {
        parser->at++;
        next = peek(parser);
    }
}

static bool skip_digits(struct parser *parser)
{
    const char *start = parser->at;
    while (peek(parser) >= '0' && peek(parser) <= '9')
        parser->at++;
    return parser->at > start;
}

static struct value *new_value(enum kind kind, struct text text)
{
    // Taken from memory in large pieces: a body may have millions of values.
    enum { PIECE = 256 };
    static struct value *piece;
    static size_t left;
    if (left == 0) {
        piece = new_memory(PIECE, sizeof *piece);
        left = PIECE;
    }
    struct value *value = &piece[PIECE - left--];
    value->kind = kind;
    value->text = text;
    return value;
}

struct value *value_from_text(struct text text)
{
    return new_value(JSON_STRING, text);
}

void value_append(struct value *parent, struct value *child)
{
    if (parent->last != NULL)
        parent->last->next = child;
    else
        parent->first = child;
    parent->last = child;
    child->next = NULL;
    parent->count++;
}

void value_append_copy(struct value *parent, const struct value *child, struct text name)
{
    struct value *copy = new_value(child->kind, child->text);
    *copy = *child;
    copy->name = name;
    copy->folded = (struct text){NULL, 0};
    value_append(parent, copy);
}

void value_clear(struct value *parent)
{
    parent->first = parent->last = NULL;
    parent->count = 0;
}

struct member {
    struct value *value;
    size_t index;
};

static int compare_names(struct text a, struct text b)
{
    int order = memcmp(a.at, b.at, a.length < b.length ? a.length : b.length);
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

static int compare_members(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    int order = compare_names(x->value->name, y->value->name);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

void value_order(struct value *object)
{
    if (object->kind != JSON_OBJECT)
        return;
    size_t count = 0;
    struct member *members = new_memory(object->count, sizeof *members);
    for (struct value *child = object->first; child != NULL; child = child->next, count++)
        members[count] = (struct member){child, count};
    qsort(members, count, sizeof *members, compare_members);
    value_clear(object);
    for (size_t at = 0; at < count; at++)
        if (at + 1 == count || compare_names(members[at].value->name, members[at + 1].value->name) != 0)
            value_append(object, members[at].value);
    free(members);
}

// Returns the four digits of an escape; -1 if they are none.
static long parse_hex(struct parser *parser)
{
    long unit = 0;
    for (int count = 0; count < 4; count++, parser->at++) {
        int next = peek(parser);
        if (next >= '0' && next <= '9')
            unit = unit * 16 + next - '0';
        else if ((next | 32) >= 'a' && (next | 32) <= 'f')
            unit = unit * 16 + (next | 32) - 'a' + 10;
        else
            return -1;
    }
    return unit;
}

// Writes what follows `\u`. Half of a surrogate pair, which cannot leave the component, is U+FFFD.
static bool parse_unicode(struct parser *parser, struct writer *out)
{
    long unit = parse_hex(parser);
    if (unit < 0)
        return false;
    if (unit >= 0xD800 && unit <= 0xDFFF) {
        struct parser next = *parser;
        long low = unit < 0xDC00 && skip(&next, "\\u") ? parse_hex(&next) : -1;
        if (low >= 0xDC00 && low <= 0xDFFF) {
            unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
            *parser = next;
        } else {
            unit = 0xFFFD;
        }
    }
    write_character(out, (unsigned)unit);
    return true;
}

static bool parse_string(struct parser *parser, struct text *text)
{
    static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    struct writer out = {0};
    if (!skip(parser, "\""))
        return false;
    for (const char *start = parser->at;; start = parser->at) {
        while (peek(parser) >= ' ' && peek(parser) != '"' && peek(parser) != '\\')
            parser->at++;
        struct text plain = {start, (size_t)(parser->at - start)};
        if (skip(parser, "\"")) {
            // A text without escapes stays where it is.
            if (out.length == 0) {
                *text = plain;
                return true;
            }
            write_text(&out, plain);
            *text = written(&out);
            return true;
        }
        write_text(&out, plain);
        if (!skip(parser, "\\"))
            return false;
        int next = peek(parser);
        const char *escape = next > 0 ? strchr(escapes, next) : NULL;
        if (escape != NULL) {
            parser->at++;
            write_text(&out, (struct text){&meanings[escape - escapes], 1});
        } else if (!skip(parser, "u") || !parse_unicode(parser, &out)) {
            return false;
        }
    }
}

static struct value *parse_list(struct parser *parser, enum kind kind, int depth)
{
    const char *end = kind == JSON_ARRAY ? "]" : "}";
    struct value *list = new_value(kind, (struct text){"", 0});
    parser->at++;
    skip_blanks(parser);
    if (skip(parser, end))
        return list;
    for (;;) {
        struct text name = {"", 0};
        if (kind == JSON_OBJECT) {
            skip_blanks(parser);
            if (!parse_string(parser, &name))
                return NULL;
            skip_blanks(parser);
            if (!skip(parser, ":"))
                return NULL;
        }
        struct value *child = parse_value(parser, depth + 1);
        if (child == NULL)
            return NULL;
        child->name = name;
        value_append(list, child);
        skip_blanks(parser);
        if (skip(parser, end)) {
            value_order(list);
            return list;
        }
        if (!skip(parser, ","))
            return NULL;
    }
}

static struct value *parse_number(struct parser *parser)
{
    const char *start = parser->at;
    skip(parser, "-");
    if (!skip(parser, "0") && !skip_digits(parser))
        return NULL;
    if (skip(parser, ".") && !skip_digits(parser))
        return NULL;
    if (skip(parser, "e") || skip(parser, "E")) {
        if (!skip(parser, "+"))
            skip(parser, "-");
        if (!skip_digits(parser))
            return NULL;
    }
    return new_value(JSON_NUMBER, (struct text){start, (size_t)(parser->at - start)});
}

static struct value *parse_value(struct parser *parser, int depth)
{
    struct text text;
    skip_blanks(parser);
    int next = peek(parser);
    if (next == '"')
        return parse_string(parser, &text) ? value_from_text(text) : NULL;
    if (next == '[' || next == '{')
        return depth < MAX_DEPTH ? parse_list(parser, next == '[' ? JSON_ARRAY : JSON_OBJECT, depth) : NULL;
    if (skip(parser, "null"))
        return new_value(JSON_NULL, (struct text){"", 0});
    if (skip(parser, "true"))
        return new_value(JSON_BOOLEAN, text_from("true"));
    if (skip(parser, "false"))
        return new_value(JSON_BOOLEAN, text_from("false"));
    return parse_number(parser);
}

struct value *json_parse(struct text text)
{
    struct parser parser = {text.at, text.at + text.length};
    skip(&parser, "\xEF\xBB\xBF");
    struct value *value = parse_value(&parser, 0);
    skip_blanks(&parser);
    return parser.at == parser.end ? value : NULL;
}

static void write_quoted(struct writer *out, struct text text)
{
    static const char digits[] = "0123456789abcdef";
    write_string(out, "\"");
    size_t start = 0;
    for (size_t at = 0; at <= text.length; at++) {
        unsigned char next = at < text.length ? (unsigned char)text.at[at] : '"';
        if (next >= ' ' && next != '"' && next != '\\')
            continue;
        write_text(out, (struct text){text.at + start, at - start});
        start = at + 1;
        if (at == text.length)
            break;
        if (next >= ' ') {
            write_text(out, (struct text){(char[]){'\\', (char)next}, 2});
        } else {
            write_string(out, "\\u00");
            write_text(out, (struct text){(char[]){digits[next >> 4], digits[next & 15]}, 2});
        }
    }
    write_string(out, "\"");
}

static void write_value(struct writer *out, const struct value *value)
{
    bool is_object = value->kind == JSON_OBJECT;
    switch (value->kind) {
    case JSON_NULL:
        write_string(out, "null");
        break;
    case JSON_BOOLEAN:
    case JSON_NUMBER:
        write_text(out, value->text);
        break;
    case JSON_STRING:
        write_quoted(out, value->text);
        break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        write_string(out, is_object ? "{" : "[");
        for (const struct value *child = value->first; child != NULL; child = child->next) {
            if (child != value->first)
                write_string(out, ",");
            if (is_object) {
                write_quoted(out, child->name);
                write_string(out, ":");
            }
            write_value(out, child);
        }
        write_string(out, is_object ? "}" : "]");
    }
}

struct text json_text(const struct value *value)
{
    struct writer out = {0};
    write_value(&out, value);
    return written(&out);
}

bool value_is_object(const struct value *value)
{
    return value != NULL && value->kind == JSON_OBJECT;
}

bool value_is_absent(const struct value *value)
{
    if (value == NULL || value->kind == JSON_NULL)
        return true;
    if (value->kind == JSON_STRING)
        return text_trimmed(value->text).length == 0;
    return (value->kind == JSON_ARRAY || value->kind == JSON_OBJECT) && value->count == 0;
}

struct text value_scalar(const struct value *value)
{
    return value == NULL ? (struct text){"", 0} : text_trimmed(value->text);
}

struct text value_whole(const struct value *value)
{
    struct text text = value_scalar(value);
    if (text.length == 0 || value->kind != JSON_NUMBER)
        return text;
    struct writer out = {0};
    size_t at = 0, point = 0, shift = 0;
    for (bool is_after = false; at < text.length && (text.at[at] | 32) != 'e'; at++) {
        if (text.at[at] == '-')
            return text;
        is_after = is_after || text.at[at] == '.';
        point += !is_after;
        if (text.at[at] != '.')
            write_text(&out, (struct text){text.at + at, 1});
    }
    for (at++; at < text.length; at++) {
        if (text.at[at] == '-' || shift > 20)
            return text;
        shift = text.at[at] == '+' ? 0 : shift * 10 + (size_t)(text.at[at] - '0');
    }
    point += shift;
    if (point > 20)
        return text;
    write_string(&out, "00000000000000000000");
    struct text digits = written(&out);
    for (size_t rest = point; rest < digits.length; rest++)
        if (digits.at[rest] != '0')
            return text;
    for (digits.length = point; digits.length > 0 && digits.at[0] == '0'; digits.length--)
        digits.at++;
    return digits;
}

static struct value *child_at(struct value *value, struct text step)
{
    size_t index = 0;
    if (value->kind == JSON_ARRAY) {
        for (size_t at = 0; at < step.length; at++) {
            if (step.at[at] < '0' || step.at[at] > '9' || index > value->count)
                return NULL;
            index = index * 10 + (size_t)(step.at[at] - '0');
        }
        if (step.length == 0 || index >= value->count)
            return NULL;
    }
    for (struct value *child = value->first; child != NULL; child = child->next) {
        if (value->kind == JSON_ARRAY && index-- == 0)
            return child;
        if (value->kind == JSON_OBJECT && compare_names(child->name, step) == 0)
            return child;
    }
    return NULL;
}

struct value *value_at(struct value *value, const char *path)
{
    while (value != NULL && *path != '\0') {
        if (*path == '.')
            path++;
        const char *ends = ".[";
        bool in_brackets = *path == '[';
        path += in_brackets;
        bool is_quoted = *path == '"';
        path += is_quoted;
        if (is_quoted || in_brackets)
            ends = is_quoted ? "\"" : "]";
        struct text step = {path, strcspn(path, ends)};
        path += step.length;
        path += is_quoted && *path == '"';
        path += in_brackets && *path == ']';
        value = child_at(value, step);
    }
    return value;
}

struct text take_text(struct value *value, const char *const *paths)
{
    for (; *paths != NULL; paths++) {
        struct value *found = value_at(value, *paths);
        struct text text = value_scalar(found);
        if (text.length > 0) {
            found->read = true;
            return text;
        }
    }
    return (struct text){"", 0};
}
