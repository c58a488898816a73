// Sends the messages of {{name}}, and reads the provider's answers and webhooks. The host makes the
// calls itself. A function returns true for its result, false for its error.
//
// The provider is made up: it takes `from`, `to`, `template`, `language` and `values` at
// `/v1/messages`, answers with an `id`, and posts a list of `events`. Replace its address, names and
// codes with those of your own, and raise the version with each change.

#include "../leadhost/leadhost.h"

static const char *const host = "api.provider.example";

static const char *const schema =
    "{"
    "\"$schema\": \"https://json-schema.org/draft/2020-12/schema\","
    "\"type\": \"object\","
    "\"additionalProperties\": false,"
    "\"required\": [\"number\"],"
    "\"properties\": {\"number\": {"
    "\"description\": \"The number that messages are sent from, in E.164.\","
    "\"type\": \"string\","
    "\"pattern\": \"^\\\\+[0-9]{8,15}$\""
    "}}}";

static struct text number(string config)
{
    return TEXT_AT(json_parse(text_in(config)), "number");
}

// Says who the adapter is and what it needs.
void exports_leadhost_adapter_adapter_describe(description *ret)
{
    *ret = (description){
        .name = string_of("{{name}}"),
        .version = string_of("1.0.0"),
        .summary = string_of("Messages of {{name}}"),
        .config_schema = string_of(schema),
        .secrets = {new_memory(2, sizeof(secret_declaration)), 2},
        .hosts = {new_memory(1, sizeof(string)), 1},
    };
    ret->secrets.ptr[0] = secret_declared("token", "The token for calls", true);
    ret->secrets.ptr[1] = secret_declared("webhook-key", "The key with which the provider signs", false);
    ret->hosts.ptr[0] = string_of(host);
}

// Says how the provider's webhooks prove themselves.
bool exports_leadhost_adapter_adapter_sender_checks(string *config, sender_policy *ret, problem *err)
{
    (void)config, (void)err;
    *ret = hmac_sha256_hex("webhook-key", "x-signature");
    return true;
}

// Returns the number of this instance: one address may serve several.
bool exports_leadhost_adapter_adapter_routes(string *config, route_list *ret, problem *err)
{
    (void)err;
    *ret = route("number", number(*config));
    return true;
}

// Answers a GET that verifies the address: this provider has none.
bool exports_leadhost_adapter_adapter_handshake(delivery *delivery, handshake_answer *ret, problem *err)
{
    (void)delivery, (void)err;
    *ret = (handshake_answer){0};
    return true;
}

// Returns the request of a message, or a refusal.
void exports_leadhost_adapter_adapter_send(template_send *message, send_step *ret)
{
    struct requested template;
    const char *why = requested_from(message, &template);
    if (why != NULL) {
        *ret = answer_step(refusal("request", text_from(""), text_from(why)));
        return;
    }
    struct value *body = json_object();
    json_put_text(body, "from", number(message->config));
    json_put_text(body, "language", template.language);
    // The provider repeats it in each status.
    json_put_text(body, "reference", text_in(message->message_id));
    json_put_text(body, "template", template.name);
    json_put_text(body, "to", text_in(message->recipient));
    json_put(body, "values", template.values);
    *ret = post_json(host, "/v1/messages", body, "authorization", literal(text_from("Bearer ")), secret("token"));
}

static const char *category_from(uint16_t status, struct text code)
{
    if (status == 401 || status == 403)
        return "connection";
    if (status == 402)
        return "account";
    if (status == 429)
        return "throttled-number";
    if (text_is(code, "no-such-template"))
        return "unknown-template";
    if (text_is(code, "not-reachable"))
        return "recipient";
    return status < 500 ? "request" : NULL;
}

// Says what the provider's answer means for the message.
void exports_leadhost_adapter_adapter_read_answer(template_send *message, http_response *response, send_answer *ret)
{
    (void)message;
    struct value *body = answer_body(response);
    struct text id = TEXT_AT(body, "id");
    struct text code = TEXT_AT(body, "error.code");
    const char *category = category_from(response->status, code);
    if (response->status == 200)
        *ret = id.length > 0 ? accepted(id) : unknown("the provider answered 200 without an id");
    else if (category != NULL)
        *ret = with_retry_after(refusal(category, code, TEXT_AT(body, "error.message")), response);
    else
        // After a 5xx, nothing shows whether the message was sent.
        *ret = unknown_after(response->status);
}

static event read(struct value *given, size_t index)
{
    struct text id = TEXT_AT(given, "id"), state = TEXT_AT(given, "state"), from = TEXT_AT(given, "from");
    struct text at = time_text(TEXT_AT(given, "at"));
    if (id.length == 0)
        return invalid_event("an event needs `id`", "events", index, "id");
    route_list to = route("number", TEXT_AT(given, "number"));
    if (state.length > 0) {
        struct text reference = TEXT_AT(given, "reference");
        return status_event((struct status){id, reference, state, at}, to);
    }
    if (from.length > 0)
        return inbound_event((struct inbound){.external_id = id,
                                              .sender_id = from,
                                              .sender_phone = from,
                                              .content = TEXT_AT(given, "text"),
                                              .occurred_at = at},
                             to);
    return other_event("neither a status nor a message", to);
}

// Returns the events of a webhook.
bool exports_leadhost_adapter_adapter_read_webhook(delivery *delivery, webhook *ret, problem *err)
{
    struct text why;
    struct value *events = events_in(delivery, "events", &why);
    if (events == NULL) {
        *err = (problem){.message = string_from(why)};
        return false;
    }
    *ret = (webhook){0};
    if (events->count > 0)
        ret->events.ptr = new_memory(events->count, sizeof(event));
    for (struct value *one = events->first; one != NULL; one = one->next) {
        ret->events.ptr[ret->events.len] = read(one, ret->events.len);
        ret->events.len++;
    }
    return true;
}

// Says how the provider's templates are listed: here they are not.
bool exports_leadhost_adapter_adapter_list_templates(string *config, template_step *ret, problem *err)
{
    (void)config, (void)err;
    ret->tag = EXPORTS_LEADHOST_ADAPTER_ADAPTER_TEMPLATE_STEP_UNLISTED;
    return true;
}

// Reads a list of templates, which this adapter never requests.
bool exports_leadhost_adapter_adapter_read_templates(string *config, http_response *response, template_page *ret,
                                                     refused *err)
{
    (void)config, (void)response, (void)ret;
    *err = (refused){
        .category = string_of("request"),
        .text = string_of("this adapter never requests templates and cannot read such a response"),
    };
    return false;
}
