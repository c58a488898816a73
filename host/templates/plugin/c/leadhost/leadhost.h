// What converters need: bodies as a tree whose numbers keep every digit, the fields of a
// form by their usual names, and leads as the contract has them.
//
// Nothing is freed: the host makes a fresh instance for each call and drops it after.
#ifndef LEADHOST_H
#define LEADHOST_H

#include <stdbool.h>
#include <stddef.h>

#include "../bindings/lead_converter.h"

// A text; not terminated. An empty one stands for an absent one.
struct text {
    const char *at;
    size_t length;
};

struct text text_from(const char *string);
bool text_is(struct text text, const char *string);
struct text text_trimmed(struct text text);
// Returns bytes of Latin-1, in which every byte is a character, as UTF-8.
struct text text_from_latin1(struct text bytes);

// Returns memory filled with zeros; traps if there is none.
void *new_memory(size_t count, size_t size);

// A growing text.
struct writer {
    char *at;
    size_t length, capacity;
};

void write_text(struct writer *out, struct text text);
void write_string(struct writer *out, const char *string);
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

// Returns the JSON value of a text; NULL if it is not JSON or nests deeper than 128
// levels. A byte order mark is skipped. Of two members with one name the last counts.
struct value *json_parse(struct text text);

// Returns an urlencoded text as an object of strings: `a[b][0]=x` as {"a":{"b":["x"]}},
// `a[]=x&a[]=y` and `a=x&a=y` as {"a":["x","y"]}. A name that has texts and children has its
// texts under the empty name.
struct value *form_parse(struct text text);

// Returns a value as JSON text; numbers keep their digits.
struct text json_text(const struct value *value);

void value_append(struct value *parent, struct value *child);
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

// Returns the value at a path, or NULL. A path is keys joined by dots, with indexes in
// brackets: `contact.phones[0]`. A key with a dot or a bracket in it is quoted:
// `"utm.source".first`.
struct value *value_at(struct value *value, const char *path);

// Returns the first text at one of the paths, and marks it as read.
#define TAKE(value, ...) take_text(value, (const char *const[]){__VA_ARGS__, NULL})
struct text take_text(struct value *value, const char *const *paths);

// --- The fields of a form ---

// The most phones, and as many e-mail addresses, listings and attributes of a lead that a
// host accepts.
enum { MAX_CONTACTS = 20, MAX_LISTINGS = 50, MAX_ATTRIBUTES = 200 };

struct texts {
    struct text items[MAX_CONTACTS];
    size_t count;
};

// Returns the fields of an object: what is in it, and in the objects in it that usually
// hold a lead (`data`, `contact`, ...). What the functions return is marked as read.
struct fields *fields_from(struct value *form);
struct text fields_external_id(struct fields *fields);
struct text fields_name(struct fields *fields);
struct texts fields_phones(struct fields *fields);
struct texts fields_emails(struct fields *fields);
struct text fields_message(struct fields *fields);
struct text fields_occurred_at(struct fields *fields);
struct text fields_source(struct fields *fields);

// Returns a time as the contract has it, empty for a text that is none: of an epoch, ISO
// 8601, or a date with the day before the month. The result is RFC 3339, or local time if
// the text names no zone: the host knows the connection's.
struct text time_from(struct text text);

// Returns a name's letters and digits in lower case, without accents and without the
// number that form builders put in front: `Full Name` and `q3_fullName` are one name.
struct text text_folded(struct text name);

// --- The contract, by shorter names ---

typedef exports_leadhost_converter_converter_delivery_t delivery;
typedef exports_leadhost_converter_converter_description_t description;
typedef exports_leadhost_converter_converter_sender_policy_t sender_policy;
typedef exports_leadhost_converter_converter_option_handshake_answer_t handshake_answer;
typedef exports_leadhost_converter_converter_conversion_t conversion;
typedef exports_leadhost_converter_converter_completion_t completion;
typedef exports_leadhost_converter_converter_item_t item;
typedef exports_leadhost_converter_converter_list_item_t item_list;
typedef exports_leadhost_converter_converter_lead_t lead;
typedef exports_leadhost_converter_converter_listing_t listing;
typedef exports_leadhost_converter_converter_list_listing_t listing_list;
typedef exports_leadhost_converter_converter_problem_t problem;
typedef exports_leadhost_converter_converter_failure_t failure;
typedef lead_converter_string_t string;
typedef lead_converter_option_string_t optional_string;
typedef lead_converter_list_string_t string_list;
typedef lead_converter_list_tuple2_string_string_t attribute_list;

// Return copies: the bindings free what they are given.
string string_from(struct text text);
optional_string optional_from(struct text text);
string_list list_from(struct texts texts);

// Returns the listings of a form: the workspace's own references first, then the portal's
// others.
listing_list fields_listings(struct fields *fields);

// Returns the fields of the campaign, by the names that the host knows.
attribute_list fields_campaign(struct fields *fields);

// Returns what is not read, as attributes in order of name. An object of which a part is
// read keeps the other parts; empty values are left out.
attribute_list fields_rest(struct fields *fields);

// Returns the body of a delivery, NULL if it is not JSON: a form if its content type says
// so and it does not begin like JSON, else JSON.
struct value *body_parse(const delivery *delivery);

// Returns the first header of that name, in lower case.
struct text header(const delivery *delivery, const char *name);

// Calls `read` with each form of a body and its path: those of a list, of a list under
// `leads`, or the body itself.
item_list items_from(struct value *body, item (*read)(struct value *form, struct text path));

item lead_item(lead lead);
// An item that cannot be read; the others of the body are not affected.
item invalid_item(const char *message, struct text path);

#endif
