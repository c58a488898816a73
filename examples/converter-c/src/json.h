// JSON without a tree: a value is the piece of the body in which it is written, so numbers keep
// every digit, and a value is at the same time its own JSON text.
#ifndef JSON_H
#define JSON_H

#include "lead_converter.h"

// Without a zero byte at its end. An empty text stands for an absent one.
typedef lead_converter_string_t text;

// Returns the value that a body is; absent if it is not JSON or nests deeper than 127 levels. Half
// of a surrogate pair becomes U+FFFD in the body itself.
text json_from(text body);

// Returns the value at a path of names joined by dots, such as `contact.phone`; of two members with
// one name the last. Absent if there is none, or it is null, a blank string, {} or [].
text json_at(text value, const char *path);

// Returns a string without the blanks around it, a number with its digits, or a boolean's word;
// absent for anything else.
text json_text(text value);

bool json_is_list(text value);

// Takes the next item from what is left of a list; false at its end.
bool json_next(text *list, text *item);

#endif
