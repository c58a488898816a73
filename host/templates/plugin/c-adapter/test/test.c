// Unit tests, on this machine: sh build.sh test. The golden cases run in the host's
// engine: leadhost plugin test.

#include <stdio.h>

#include "../leadhost/leadhost.h"

static int failures;

static void expect(const char *what, struct text found, const char *expected)
{
    if (text_is(found, expected))
        return;
    failures++;
    printf("%s: %.*s, not %s\n", what, (int)found.length, found.at, expected);
}

static template_send message(const char *template)
{
    return (template_send){
        .message_id = string_of("m-1"),
        .recipient = string_of("+5511900000001"),
        .template_ = string_of(template),
        .config = string_of("{\"number\": \"+551130000001\"}"),
    };
}

static send_step sent(const char *template)
{
    send_step step;
    template_send given = message(template);
    exports_leadhost_adapter_adapter_send(&given, &step);
    return step;
}

static void the_values_of_the_templates_body_are_sent_in_order(void)
{
    send_step step = sent("{\"name\":\"welcome\",\"language\":{\"code\":\"pt_BR\"},\"components\":[{\"type\":\"BODY\","
                          "\"parameters\":[{\"type\":\"text\",\"text\":\"Ana\"},{\"type\":\"text\",\"text\":7}]}]}");
    expect("the body", text_in(step.val.call.body.ptr[0].val.literal),
           "{\"from\":\"+551130000001\",\"language\":\"pt_BR\",\"reference\":\"m-1\",\"template\":\"welcome\","
           "\"to\":\"+5511900000001\",\"values\":[\"Ana\",\"7\"]}");
}

static void a_template_without_a_meaning_is_refused(void)
{
    const char *templates[] = {"{}", "{\"name\":\"x\"}", "null", "{", "[]"};
    for (size_t at = 0; at < sizeof templates / sizeof *templates; at++)
        expect(templates[at], text_in(sent(templates[at]).val.answer.val.refused.category), "request");
}

static send_answer answered(uint16_t status, const char *body)
{
    http_response response = {.status = status};
    response.body.val.text = string_of(body);
    template_send given = message("{}");
    send_answer answer;
    exports_leadhost_adapter_adapter_read_answer(&given, &response, &answer);
    return answer;
}

static void the_providers_answer_decides_what_the_host_does(void)
{
    expect("the id", text_in(answered(200, "{\"id\": \"p-1\"}").val.accepted.external_ids.ptr[0]), "p-1");
    expect("400", text_in(answered(400, "{}").val.refused.category), "request");
    expect("401", text_in(answered(401, "").val.refused.category), "connection");
    expect("429", text_in(answered(429, "{}").val.refused.category), "throttled-number");
    const char *unknown_template = "{\"error\": {\"code\": \"no-such-template\"}}";
    expect("404", text_in(answered(404, unknown_template).val.refused.category), "unknown-template");
    const uint8_t unknown = EXPORTS_LEADHOST_ADAPTER_ADAPTER_SEND_ANSWER_UNKNOWN;
    if (answered(502, "<html>").tag != unknown || answered(200, "{}").tag != unknown)
        expect("an answer that shows nothing", text_from("known"), "unknown");
}

static void a_bad_event_does_not_affect_the_others(void)
{
    delivery given = {0};
    given.body.val.text = string_of("{\"events\": [1, {\"id\": \"m-1\", \"state\": \"read\", \"at\": 1767268800}]}");
    webhook found;
    problem why;
    if (!exports_leadhost_adapter_adapter_read_webhook(&given, &found, &why) || found.events.len != 2)
        expect("the webhook", text_from("refused"), "two events");
    else
        expect("the time", text_in(found.events.ptr[1].body.val.status.occurred_at.val), "2026-01-01T12:00:00Z");
    given.body.val.text = string_of("{}");
    if (!exports_leadhost_adapter_adapter_read_webhook(&given, &found, &why))
        expect("the reason", text_in(why.message), "the body has no list `events`");
}

static void times_of_providers_are_read(void)
{
    const char *cases[][2] = {
        {"1767268800", "2026-01-01T12:00:00Z"},          {"1767268800250", "2026-01-01T12:00:00.250Z"},
        {"2026-01-01T12:00:00+0000", "2026-01-01T12:00:00+00:00"}, {"2026-01-01T12:00:00Z", "2026-01-01T12:00:00Z"},
        {"", ""},
    };
    for (size_t at = 0; at < sizeof cases / sizeof *cases; at++)
        expect(cases[at][0], time_text(text_from(cases[at][0])), cases[at][1]);
}

int main(void)
{
    the_values_of_the_templates_body_are_sent_in_order();
    a_template_without_a_meaning_is_refused();
    the_providers_answer_decides_what_the_host_does();
    a_bad_event_does_not_affect_the_others();
    times_of_providers_are_read();
    printf(failures == 0 ? "all tests passed\n" : "%d failed\n", failures);
    return failures > 0;
}
