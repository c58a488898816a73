// What adapters need: templates, requests, answers and events as the contract has them, and
// JSON as a tree whose numbers keep every digit.
//
// Nothing is freed: the host makes a fresh instance for each call and drops it after.
#ifndef LEADHOST_H
#define LEADHOST_H

#include "../bindings/channel_adapter.h"
#include "json.h"

// --- The contract, by shorter names ---

typedef exports_leadhost_adapter_adapter_delivery_t delivery;
typedef exports_leadhost_adapter_adapter_description_t description;
typedef exports_leadhost_adapter_adapter_sender_policy_t sender_policy;
typedef exports_leadhost_adapter_adapter_option_handshake_answer_t handshake_answer;
typedef exports_leadhost_adapter_adapter_http_response_t http_response;
typedef exports_leadhost_adapter_adapter_template_send_t template_send;
typedef exports_leadhost_adapter_adapter_send_step_t send_step;
typedef exports_leadhost_adapter_adapter_send_answer_t send_answer;
typedef exports_leadhost_adapter_adapter_refused_t refused;
typedef exports_leadhost_adapter_adapter_event_t event;
typedef exports_leadhost_adapter_adapter_webhook_t webhook;
typedef exports_leadhost_adapter_adapter_template_step_t template_step;
typedef exports_leadhost_adapter_adapter_template_page_t template_page;
typedef exports_leadhost_adapter_adapter_problem_t problem;
typedef leadhost_types_core_sender_check_t sender_check;
typedef leadhost_types_core_secret_declaration_t secret_declaration;
typedef leadhost_types_core_segment_t segment;
typedef leadhost_types_core_tuple2_string_list_segment_t request_header;
typedef channel_adapter_string_t string;
typedef channel_adapter_option_string_t optional_string;
typedef channel_adapter_list_string_t string_list;
typedef channel_adapter_list_tuple2_string_string_t route_list;

// Return copies: the bindings free what they are given.
string string_from(struct text text);
string string_of(const char *literal);
optional_string optional_from(struct text text);
// Returns the text of the contract; it is not copied.
struct text text_in(string string);

// Returns the text at one of the paths; empty for none, also of a value that is NULL.
#define TEXT_AT(value, ...) text_at(value, (const char *const[]){__VA_ARGS__, NULL})
struct text text_at(struct value *value, const char *const *paths);

// --- Who the adapter is ---

secret_declaration secret_declared(const char *name, const char *summary, bool required);
// Returns the check of a hex HMAC-SHA256 of the raw body in a header.
sender_policy hmac_sha256_hex(const char *secret, const char *header);
// Returns one name with its value; no pairs for an empty value.
route_list route(const char *name, struct text value);

// --- Sends ---

// The template of a send, and the texts for the placeholders of its body as a JSON list.
struct requested {
    struct text name, language;
    struct value *values;
};

// Reads the template of a send. Returns why it has no meaning, or NULL.
const char *requested_from(const template_send *message, struct requested *out);

// Returns a JSON object to append members to, and appends a text or a value.
struct value *json_object(void);
void json_put_text(struct value *object, const char *name, struct text text);
void json_put(struct value *object, const char *name, struct value *value);

segment literal(struct text text);
// Returns a segment that the host fills with a secret; the adapter never sees it.
segment secret(const char *name);

// Returns the step of a POST with a JSON body, and one header of two segments.
send_step post_json(const char *authority, const char *path, struct value *body, const char *header,
                    segment first, segment second);

send_step answer_step(send_answer answer);
send_answer accepted(struct text external_id);
// Nothing shows whether the provider has the message, so the host does not send it again.
send_answer unknown(const char *why);
send_answer unknown_after(uint16_t status);
// Returns a refusal; its category decides what the host does.
send_answer refusal(const char *category, struct text code, struct text text);
// Adds the seconds of a `retry-after` header to a refusal.
send_answer with_retry_after(send_answer answer, const http_response *response);
struct value *answer_body(const http_response *response);

// --- Webhooks ---

// Returns the list of events under a key of a JSON body. NULL: the body has none, and `why` says so.
struct value *events_in(const delivery *delivery, const char *key, struct text *why);
// Returns the fields of an urlencoded body.
struct value *form_in(const delivery *delivery);

// Events; of an empty text, nothing is passed on.
struct status {
    struct text external_id, message_id, status, occurred_at;
};
struct inbound {
    struct text external_id, sender_id, sender_phone, sender_name, content, occurred_at;
};
event status_event(struct status status, route_list route);
event inbound_event(struct inbound inbound, route_list route);
event other_event(const char *what, route_list route);
// An event that cannot be read; the others of the body are not affected.
event invalid_event(const char *message, const char *list, size_t index, const char *field);

// Returns an epoch as RFC 3339, and an ISO text unchanged except that an offset like `+0000` gets its
// colon; empty for an epoch that is no time.
struct text time_text(struct text text);

#endif
