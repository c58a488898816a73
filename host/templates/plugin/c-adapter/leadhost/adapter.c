// The records of the contract. Texts in them are copies, which the bindings free.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "leadhost.h"

string string_from(struct text text)
{
    string out = {NULL, text.length};
    if (text.length > 0) {
        out.ptr = new_memory(text.length, 1);
        memcpy(out.ptr, text.at, text.length);
    }
    return out;
}

string string_of(const char *literal)
{
    return string_from(text_from(literal));
}

optional_string optional_from(struct text text)
{
    return (optional_string){.is_some = text.length > 0, .val = string_from(text)};
}

struct text text_in(string string)
{
    // An empty text has no address.
    return string.len > 0 ? (struct text){(char *)string.ptr, string.len} : text_from("");
}

struct text text_at(struct value *value, const char *const *paths)
{
    return value == NULL ? text_from("") : take_text(value, paths);
}

secret_declaration secret_declared(const char *name, const char *summary, bool required)
{
    return (secret_declaration){string_of(name), string_of("static"), string_of(summary), required};
}

sender_policy hmac_sha256_hex(const char *secret, const char *header)
{
    sender_policy out = {{new_memory(1, sizeof(sender_check)), 1}, {NULL, 0}};
    out.checks.ptr[0] = (sender_check){
        .secret = string_of(secret),
        .scheme = string_of("hmac-sha256"),
        .proof = {string_of("header"), string_of(header)},
        .encoding = string_of("hex"),
    };
    return out;
}

route_list route(const char *name, struct text value)
{
    route_list out = {NULL, 0};
    if (value.length > 0) {
        out = (route_list){new_memory(1, sizeof *out.ptr), 1};
        out.ptr[0] = (channel_adapter_tuple2_string_string_t){string_of(name), string_from(value)};
    }
    return out;
}

const char *requested_from(const template_send *message, struct requested *out)
{
    struct value *template = json_parse(text_in(message->template_));
    if (template == NULL)
        return "the template is not valid JSON";
    *out = (struct requested){
        .name = TEXT_AT(template, "name"),
        .language = TEXT_AT(template, "language.code", "language"),
        .values = new_memory(1, sizeof(struct value)),
    };
    out->values->kind = JSON_ARRAY;
    if (out->name.length == 0)
        return "the template has no `name`";
    if (out->language.length == 0)
        return "the template has no `language.code`";
    struct value *components = value_at(template, "components");
    struct value *component = components != NULL && components->kind == JSON_ARRAY ? components->first : NULL;
    while (component != NULL && !text_is(TEXT_AT(component, "type"), "body") &&
           !text_is(TEXT_AT(component, "type"), "BODY"))
        component = component->next;
    struct value *parameters = component == NULL ? NULL : value_at(component, "parameters");
    if (parameters == NULL || parameters->kind != JSON_ARRAY)
        return NULL;
    for (struct value *one = parameters->first; one != NULL; one = one->next) {
        struct text text = TEXT_AT(one, "text");
        if (text.length > 0)
            value_append(out->values, value_from_text(text));
    }
    return NULL;
}

struct value *json_object(void)
{
    struct value *object = new_memory(1, sizeof *object);
    object->kind = JSON_OBJECT;
    return object;
}

void json_put(struct value *object, const char *name, struct value *value)
{
    value->name = text_from(name);
    value_append(object, value);
}

void json_put_text(struct value *object, const char *name, struct text text)
{
    json_put(object, name, value_from_text(text));
}

segment literal(struct text text)
{
    segment out = {.tag = LEADHOST_TYPES_CORE_SEGMENT_LITERAL};
    out.val.literal = string_from(text);
    return out;
}

segment secret(const char *name)
{
    leadhost_types_core_slot_argument_t *argument = new_memory(1, sizeof *argument);
    argument->tag = LEADHOST_TYPES_CORE_SLOT_ARGUMENT_SECRET;
    argument->val.secret = string_of(name);
    segment out = {.tag = LEADHOST_TYPES_CORE_SEGMENT_SLOT};
    out.val.slot = (leadhost_types_core_slot_t){string_of("secret"), {argument, 1}};
    return out;
}

static leadhost_types_core_list_segment_t segments(segment first, segment *second)
{
    size_t count = second == NULL ? 1 : 2;
    leadhost_types_core_list_segment_t out = {new_memory(count, sizeof(segment)), count};
    out.ptr[0] = first;
    if (second != NULL)
        out.ptr[1] = *second;
    return out;
}

send_step post_json(const char *authority, const char *path, struct value *body, const char *header,
                    segment first, segment second)
{
    send_step out = {.tag = EXPORTS_LEADHOST_ADAPTER_ADAPTER_SEND_STEP_CALL};
    request_header *headers = new_memory(2, sizeof *headers);
    headers[0] = (request_header){string_of(header), segments(first, &second)};
    headers[1] =
        (request_header){string_of("content-type"), segments(literal(text_from("application/json")), NULL)};
    out.val.call = (leadhost_types_core_http_request_t){
        .method = string_of("POST"),
        .scheme = string_of("https"),
        .authority = string_of(authority),
        .path = segments(literal(text_from(path)), NULL),
        .headers = {headers, 2},
        .body = segments(literal(json_text(body)), NULL),
    };
    return out;
}

send_step answer_step(send_answer answer)
{
    send_step out = {.tag = EXPORTS_LEADHOST_ADAPTER_ADAPTER_SEND_STEP_ANSWER};
    out.val.answer = answer;
    return out;
}

send_answer accepted(struct text external_id)
{
    send_answer out = {.tag = EXPORTS_LEADHOST_ADAPTER_ADAPTER_SEND_ANSWER_ACCEPTED};
    out.val.accepted.external_ids = (string_list){new_memory(1, sizeof(string)), 1};
    out.val.accepted.external_ids.ptr[0] = string_from(external_id);
    out.val.accepted.status = string_of("accepted");
    return out;
}

send_answer unknown(const char *why)
{
    send_answer out = {.tag = EXPORTS_LEADHOST_ADAPTER_ADAPTER_SEND_ANSWER_UNKNOWN};
    out.val.unknown = string_of(why);
    return out;
}

send_answer unknown_after(uint16_t status)
{
    char why[40];
    snprintf(why, sizeof why, "the provider answered %d", status);
    return unknown(why);
}

send_answer refusal(const char *category, struct text code, struct text text)
{
    send_answer out = {.tag = EXPORTS_LEADHOST_ADAPTER_ADAPTER_SEND_ANSWER_REFUSED};
    out.val.refused = (refused){
        .category = string_of(category),
        .code = string_from(code),
        .text = string_from(text),
    };
    return out;
}

send_answer with_retry_after(send_answer answer, const http_response *response)
{
    for (size_t at = 0; at < response->headers.len; at++) {
        if (!text_is(text_in(response->headers.ptr[at].f0), "retry-after"))
            continue;
        struct text text = text_trimmed(text_in(response->headers.ptr[at].f1));
        uint32_t seconds = 0;
        bool is_number = text.length > 0 && text.length < 10;
        for (size_t digit = 0; is_number && digit < text.length; digit++) {
            is_number = text.at[digit] >= '0' && text.at[digit] <= '9';
            seconds = seconds * 10 + (uint32_t)(text.at[digit] - '0');
        }
        if (is_number)
            answer.val.refused.retry_after_seconds = (channel_adapter_option_u32_t){true, seconds};
        break;
    }
    return answer;
}

static struct text content_text(const leadhost_types_core_content_t *content)
{
    if (content->tag == LEADHOST_TYPES_CORE_CONTENT_TEXT)
        return text_in(content->val.text);
    struct text bytes = {(char *)content->val.bytes.ptr, content->val.bytes.len};
    return bytes.length > 0 ? text_from_bytes(bytes) : text_from("");
}

struct value *answer_body(const http_response *response)
{
    return json_parse(content_text(&response->body));
}

struct value *events_in(const delivery *delivery, const char *key, struct text *why)
{
    struct value *body = json_parse(content_text(&delivery->body));
    struct value *events = value_is_object(body) ? value_at(body, key) : NULL;
    if (events != NULL && events->kind == JSON_ARRAY)
        return events;
    struct writer message = {0};
    write_string(&message, body == NULL ? "the body is not valid JSON" : "the body has no list `");
    write_string(&message, body == NULL ? "" : key);
    write_string(&message, body == NULL ? "" : "`");
    *why = written(&message);
    return NULL;
}

struct value *form_in(const delivery *delivery)
{
    return form_parse(content_text(&delivery->body));
}

event status_event(struct status status, route_list route)
{
    event out = {.route = route};
    out.body.tag = EXPORTS_LEADHOST_ADAPTER_ADAPTER_EVENT_BODY_STATUS;
    out.body.val.status = (exports_leadhost_adapter_adapter_status_update_t){
        .external_id = string_from(status.external_id),
        .message_id = optional_from(status.message_id),
        .status = string_from(status.status),
        .occurred_at = optional_from(status.occurred_at),
    };
    return out;
}

event inbound_event(struct inbound inbound, route_list route)
{
    event out = {.route = route};
    out.body.tag = EXPORTS_LEADHOST_ADAPTER_ADAPTER_EVENT_BODY_INBOUND;
    out.body.val.inbound = (exports_leadhost_adapter_adapter_inbound_message_t){
        .external_id = string_from(inbound.external_id),
        .sender_id = string_from(inbound.sender_id),
        .sender_phone = optional_from(inbound.sender_phone),
        .sender_name = optional_from(inbound.sender_name),
        .kind = string_of("text"),
        .content = optional_from(inbound.content),
        .occurred_at = optional_from(inbound.occurred_at),
    };
    return out;
}

event other_event(const char *what, route_list route)
{
    event out = {.route = route};
    out.body.tag = EXPORTS_LEADHOST_ADAPTER_ADAPTER_EVENT_BODY_OTHER;
    out.body.val.other = string_of(what);
    return out;
}

event invalid_event(const char *message, const char *list, size_t index, const char *field)
{
    char path[200];
    snprintf(path, sizeof path, "%s.%zu.%s", list, index, field);
    event out = {0};
    out.body.tag = EXPORTS_LEADHOST_ADAPTER_ADAPTER_EVENT_BODY_INVALID;
    out.body.val.invalid = (problem){string_of(message), string_of(path)};
    return out;
}

// Returns the milliseconds of an epoch of seconds or milliseconds; -1 for another text.
static int64_t epoch(struct text text)
{
    int64_t number = 0;
    size_t at = 0;
    for (; at < text.length && text.at[at] >= '0' && text.at[at] <= '9' && at < 15; at++)
        number = number * 10 + (text.at[at] - '0');
    bool is_number = at >= 5 && (at == text.length || text.at[at] == '.');
    // 1e11 seconds are the year 5138; 1e11 milliseconds are 1973.
    return !is_number ? -1 : number > 100000000000 ? number : number * 1000;
}

struct text time_text(struct text text)
{
    int64_t milliseconds = epoch(text);
    if (milliseconds >= 0) {
        time_t seconds = (time_t)(milliseconds / 1000);
        // The last millisecond of the year 9999.
        struct tm *parts = milliseconds > 253402300799999 ? NULL : gmtime(&seconds);
        if (parts == NULL)
            return text_from("");
        char *out = new_memory(40, 1);
        size_t length = strftime(out, 40, "%Y-%m-%dT%H:%M:%S", parts);
        if (milliseconds % 1000 > 0)
            length += (size_t)snprintf(out + length, 40 - length, ".%03d", (int)(milliseconds % 1000));
        out[length] = 'Z';
        return (struct text){out, length + 1};
    }
    size_t length = text.length;
    bool has_offset = length > 5 && memchr(text.at, ':', length) != NULL &&
                      (text.at[length - 5] == '+' || text.at[length - 5] == '-');
    for (size_t at = 1; has_offset && at < 5; at++)
        has_offset = text.at[length - at] >= '0' && text.at[length - at] <= '9';
    if (!has_offset)
        return text;
    struct writer out = {0};
    write_text(&out, (struct text){text.at, length - 2});
    write_string(&out, ":");
    write_text(&out, (struct text){text.at + length - 2, 2});
    return written(&out);
}
