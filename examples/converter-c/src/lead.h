// The records of the contract, from JSON. Nothing is freed: the host makes a fresh instance for each
// call and drops it after. The generated code frees the records, so texts in them are copies.
#ifndef LEAD_H
#define LEAD_H

#include "json.h"

typedef exports_leadhost_converter_converter_completion_t completion;
typedef exports_leadhost_converter_converter_conversion_t conversion;
typedef exports_leadhost_converter_converter_delivery_t delivery;
typedef exports_leadhost_converter_converter_description_t description;
typedef exports_leadhost_converter_converter_failure_t failure;
typedef exports_leadhost_converter_converter_item_t item;
typedef exports_leadhost_converter_converter_lead_t lead;
typedef exports_leadhost_converter_converter_list_item_t items;
typedef exports_leadhost_converter_converter_option_handshake_answer_t handshake_answer;
typedef exports_leadhost_converter_converter_problem_t problem;
typedef exports_leadhost_converter_converter_sender_policy_t sender_policy;
typedef lead_converter_list_string_t texts;
typedef lead_converter_list_tuple2_string_string_t pairs;
typedef lead_converter_option_string_t optional_text;

text text_from(const char *string);

// Returns the text at a path.
optional_text text_at(text form, const char *path);

// Returns the texts at these paths, without absent ones.
#define TEXTS_AT(form, ...) texts_at(form, (const char *const[]){__VA_ARGS__, NULL})
texts texts_at(text form, const char *const *paths);

// Returns the values at these paths, each under its path, without absent ones. They may be of any
// type.
#define ATTRIBUTES_AT(form, ...) attributes_at(form, (const char *const[]){__VA_ARGS__, NULL})
pairs attributes_at(text form, const char *const *paths);

// Reads a body that is one form, or each form of a list; `path` is the index in the list.
items items_from(text body, item (*read)(text form, text path));

item lead_item(lead lead);

// An item that cannot be read; the others of the body are not affected.
item invalid_item(const char *message, text path);

#endif
