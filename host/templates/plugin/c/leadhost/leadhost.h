// Helpers for converters: bodies as a tree whose numbers keep every digit, the fields of a
// form by their usual names, and leads as the contract has them.
//
// Nothing is freed: the host makes a fresh instance for each call and drops it after.
#ifndef LEADHOST_H
#define LEADHOST_H

#include <stdbool.h>
#include <stddef.h>

#include "../bindings/lead_converter.h"
#include "json.h"

// --- The fields of a form ---

// The most phones, and as many e-mail addresses, listings and attributes of a lead that a
// host accepts.
enum { MAX_CONTACTS = 20, MAX_LISTINGS = 50, MAX_ATTRIBUTES = 200 };

struct texts {
    struct text items[MAX_CONTACTS];
    size_t count;
};

// Returns the fields of an object: what is in it, in the objects in it that usually hold a
// lead (`data`, `contact`, ...), and in its lists of questions and answers. What the functions
// return is marked as read.
struct fields *fields_from(struct value *form);
struct text fields_external_id(struct fields *fields);
// Returns whether the lead is a test: a field says so, or a value is Meta's for a test lead.
bool fields_is_test(struct fields *fields);
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
typedef leadhost_types_core_list_location_t location_list;
typedef lead_converter_string_t string;
typedef lead_converter_option_string_t optional_string;
typedef lead_converter_list_string_t string_list;
typedef lead_converter_list_tuple2_string_string_t attribute_list;

// Return copies: the bindings free what they are given.
string string_from(struct text text);
optional_string optional_from(struct text text);
string_list list_from(struct texts texts);

// Returns the places of the usual secrets (`google_key`, `password`, ...) in a body, whose values
// the host masks.
location_list usual_secrets(void);

// Returns the listings of a form: the workspace's own references first, then the portal's
// others.
listing_list fields_listings(struct fields *fields);

// Whether what was read is a lead, which the mapping converter asks in the same way: it has a
// phone or an e-mail address, or an id and a form's answers, or a name with an id, a message or a
// listing.
bool fields_are_lead(const struct fields *fields, const lead *lead);

// Returns the fields of the campaign, by the names that the host knows.
attribute_list fields_campaign(struct fields *fields);

// Returns what is not read, as attributes in order of name. An object of which a part is
// read keeps the other parts; empty values are left out. Other people are left out, and a note
// says where they are: an erasure would not find them in an attribute.
attribute_list fields_rest(struct fields *fields);

// Adds a line to the notes of the delivery, unless they have it: the leads of a list are often
// alike.
void note_once(struct text line);
// Returns the notes so far, for a conversion.
string_list noted(void);

// Returns the body of a delivery: a form, urlencoded or in parts, if its content type says so
// and it does not begin like JSON, else JSON. A text in it that is itself JSON, under a name such
// as `rawRequest` or `payload`, is what it contains. NULL and a problem if it cannot be read.
struct value *body_parse(const delivery *delivery, problem *err);

// Returns the first header of that name, in lower case.
struct text header(const delivery *delivery, const char *name);

// Calls `read` with each form of a body and its path: those of a list, of a list under
// `leads`, of the changes that Meta sends, or the body itself.
item_list items_from(struct value *body, item (*read)(struct value *form, struct text path));

item lead_item(lead lead);
// An item that cannot be read; the others of the body are not affected.
item invalid_item(const char *message, struct text path);

#endif
