// Texts, and bodies as a tree whose numbers keep every digit.
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>

// A text; not terminated. An empty one stands for an absent one.
struct text {
    const char *at;
    size_t length;
};

struct text text_from(const char *string);
bool text_is(struct text text, const char *string);
struct text text_trimmed(struct text text);
// Returns bytes as UTF-8, with U+FFFD for each bad sequence, if at least as many characters of several
// bytes are good as bad, or if windows-1252 would read `â€`, `ðŸ`, or `Ã` after a small letter, which
// nobody writes; else as windows-1252, as old senders mean by Latin-1.
struct text text_from_bytes(struct text bytes);

// Returns memory filled with zeros; traps if there is none.
void *new_memory(size_t count, size_t size);

// A growing text.
struct writer {
    char *at;
    size_t length, capacity;
};

void write_text(struct writer *out, struct text text);
void write_string(struct writer *out, const char *string);
void write_character(struct writer *out, unsigned character);
struct text written(const struct writer *out);

// --- JSON and forms ---

enum kind { JSON_NULL, JSON_BOOLEAN, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct value {
    enum kind kind;
    // The text of a string, a number as it was written, or a boolean's word.
    struct text text;
    // The items of an array, or the members of an object in order of name.
    struct value *first, *last, *next;
    size_t count;
    // In an object: the member's name, and what `text_folded` makes of it.
    struct text name, folded;
    // Whether the lead has this value; set by whatever takes a text from it.
    bool read;
};

// Deeper nesting is no lead, and as an attribute is refused by the host.
enum { MAX_DEPTH = 127 };

// Returns the JSON value of a text; NULL if it is not JSON or nests deeper than 127
// levels. A byte order mark is skipped. Of two members with one name the last counts.
struct value *json_parse(struct text text);

// Returns an urlencoded text as an object of strings: `a[b][0]=x` as {"a":{"b":["x"]}},
// `a[]=x&a[]=y` and `a=x&a=y` as {"a":["x","y"]}. A name that has texts and children has its
// texts under the empty name.
struct value *form_parse(struct text text);

// Returns the fields of a body of the type multipart/form-data as `form_parse` does: of a file, its
// name. NULL and `why` if the body cannot be read.
struct value *multipart_parse(struct text content_type, struct text body, const char **why);

// A form of which each name and text is added; `form_tree` is what `form_parse` returns.
struct form *form_new(void);
void form_add(struct form *form, struct text name, struct text text);
struct value *form_tree(struct form *form);

// Returns a value as JSON text; numbers keep their digits.
struct text json_text(const struct value *value);

void value_append(struct value *parent, struct value *child);
// Appends a value under another name; what is in it is shared.
void value_append_copy(struct value *parent, const struct value *child, struct text name);
void value_clear(struct value *parent);
// Puts the members of an object in order of name; of two with one name the last stays.
void value_order(struct value *object);
struct value *value_from_text(struct text text);

// Whether a value is null, a blank string, {} or []; also if it is NULL.
bool value_is_absent(const struct value *value);
bool value_is_object(const struct value *value);

// Returns a string without the blanks around it, a number as it was written, or a
// boolean's word; empty for anything else.
struct text value_scalar(const struct value *value);

// Returns the scalar. A whole number with a fraction or an exponent, as programs write large
// numbers, is its digits: 1.1987654321e+10 is 11987654321.
struct text value_whole(const struct value *value);

// Returns the value at a path, or NULL. A path is keys joined by dots, with indexes in
// brackets: `contact.phones[0]`. A key with a dot or a bracket in it is quoted:
// `"utm.source".first`.
struct value *value_at(struct value *value, const char *path);

// Returns the first text at one of the paths, and marks it as read.
#define TAKE(value, ...) take_text(value, (const char *const[]){__VA_ARGS__, NULL})
struct text take_text(struct value *value, const char *const *paths);

#endif
