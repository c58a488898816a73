// Unit tests, on this machine: sh build.sh test. The golden cases run in the host's
// engine: leadhost plugin test.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../leadhost/leadhost.h"

static int failures;

static void expect(const char *what, struct text found, const char *expected)
{
    if (text_is(found, expected))
        return;
    failures++;
    printf("%s: %.*s, not %s\n", what, (int)found.length, found.at, expected);
}

static struct value *parsed(const char *json)
{
    struct value *value = json_parse(text_from(json));
    if (value != NULL)
        return value;
    printf("%s is not read\n", json);
    exit(1);
}

static struct text joined(struct texts texts)
{
    struct writer out = {0};
    for (size_t at = 0; at < texts.count; at++) {
        write_string(&out, at > 0 ? ", " : "");
        write_text(&out, texts.items[at]);
    }
    return written(&out);
}

static void json_is_written_as_it_was_read(void)
{
    const char *bodies[] = {
        "{\"a\":[],\"b\":{},\"c\":[null,true,{\"d\":\"x\\\"y\\\\ã\"}],\"id\":9007199254740993.10}",
        "[1e400,-0]", "\"\"", "\"\\u0000\\u001f\"",
    };
    for (size_t at = 0; at < sizeof bodies / sizeof *bodies; at++)
        expect("JSON", json_text(parsed(bodies[at])), bodies[at]);
    expect("the last member of a name", json_text(parsed("{\"b\":1,\"a\":2,\"b\":{\"c\":3,\"c\":4}}")),
           "{\"a\":2,\"b\":{\"c\":4}}");
    expect("a byte order mark", json_text(parsed("\xEF\xBB\xBF [1 , 2] ")), "[1,2]");
    expect("escapes", parsed("\"\\ud83d\\ude00\\u00e3\\ufffd\\/\"")->text, "😀ã\xEF\xBF\xBD/");
    expect("half a pair", parsed("\"\\ud83d \\ud83d\\uDE00\\udc00x\"")->text, "\uFFFD 😀\uFFFDx");
}

static void what_is_not_json_is_refused(void)
{
    const char *bodies[] = {
        "", "{", "a=1", "{\"a\":1}x", "{\"a\" 1}", "[1,]", "01", "1.", "-", "\"\\ud80\"",
        "\"\\ud83d\\u12\"", "\"\\u12\"", "\"\n\"", "nul", "{\"a\":1,}",
    };
    for (size_t at = 0; at < sizeof bodies / sizeof *bodies; at++)
        if (json_parse(text_from(bodies[at])) != NULL)
            expect(bodies[at], text_from("accepted"), "refused");
    char deep[1000];
    memset(deep, '[', sizeof deep);
    if (json_parse((struct text){deep, sizeof deep}) != NULL)
        expect("a deep body", text_from("accepted"), "refused");
}

static void the_first_path_with_a_text_wins(void)
{
    struct value *value =
        parsed("{\"none\":null,\"blank\":\" \",\"a\":{\"b\":\" x \",\"c.d\":[{\"e\":\"y\"},2]}}");
    expect("a.b", TAKE(value, "none", "blank", "missing", "a.b"), "x");
    expect("quoted", TAKE(value, "a.\"c.d\"[0].e"), "y");
    expect("in brackets", TAKE(value, "a[\"c.d\"][1]"), "2");
    expect("nothing", TAKE(value, "a.b.c", "a[0]", "a.\"c.d\"[9]", "a", "a["), "");
}

static void brackets_of_a_form_make_a_tree(void)
{
    const char *cases[][2] = {
        {"", "{}"},
        {"a=1&b=x+y%C3%A3%&&c", "{\"a\":\"1\",\"b\":\"x yã%\",\"c\":\"\"}"},
        {"a=1&a=2&a=3", "{\"a\":[\"1\",\"2\",\"3\"]}"},
        {"a[]=1&a[]=2", "{\"a\":[\"1\",\"2\"]}"},
        {"a[0][n]=x&a[0][v]=y", "{\"a\":[{\"n\":\"x\",\"v\":\"y\"}]}"},
        {"a[5]=x&a[b=1", "{\"a\":{\"5\":\"x\"},\"a[b\":\"1\"}"},
        {"a=1&a[b]=2", "{\"a\":{\"\":\"1\",\"b\":\"2\"}}"},
        {"f[tel][value]=1&0=zero", "{\"0\":\"zero\",\"f\":{\"tel\":{\"value\":\"1\"}}}"},
        {"a=1&a[b]=2&a=3", "{\"a\":{\"\":[\"1\",\"3\"],\"b\":\"2\"}}"},
        {"a=1&a[]=2", "{\"a\":{\"\":\"1\",\"0\":\"2\"}}"},
        {"a[1]=x&a[]=y&a[]=z", "{\"a\":[\"y\",\"x\",\"z\"]}"},
        {"a[7]=x&a[]=y&=z", "{\"0\":\"z\",\"a\":{\"0\":\"y\",\"7\":\"x\"}}"},
        {"a=S\xe3o+Jos%E9&%e9=1", "{\"a\":\"São José\",\"é\":\"1\"}"},
        {"a=%96+%80&b=J%C3%A3%C3", "{\"a\":\"– €\",\"b\":\"Jã\uFFFD\"}"},
        {"a=Oi%e2%80&b=%f0%9f%98", "{\"a\":\"Oi\uFFFD\",\"b\":\"\uFFFD\"}"},
    };
    for (size_t at = 0; at < sizeof cases / sizeof *cases; at++)
        expect(cases[at][0], json_text(form_parse(text_from(cases[at][0]))), cases[at][1]);
    struct writer body = {0};
    for (int at = 0; at < 676; at++)
        write_text(&body, (struct text){(char[]){(char)('a' + at % 26), (char)('a' + at / 26), '&'}, 3});
    if (form_parse(written(&body))->count != 676)
        expect("many fields", text_from("fewer"), "676");
}

static void spellings_of_a_name_are_one(void)
{
    const char *names[] = {"Full Name", "FULL_NAME", "fullName", "q3_fullName", "fÚll-name:"};
    for (size_t at = 0; at < sizeof names / sizeof *names; at++)
        expect(names[at], text_folded(text_from(names[at])), "fullname");
    expect("q_1", text_folded(text_from("q_1")), "q1");
    expect("ç", text_folded(text_from("Código – nº×")), "codigon");
}

static void phones_have_the_codes_beside_them(void)
{
    const char *cases[][2] = {
        {"{\"ddd\":\"011\",\"whatsapp\":\"90000-0001\",\"phone\":\"11900000001\"}", "(11) 90000-0001"},
        {"{\"celular_ddd\":11,\"celular\":\"90000-0001\",\"ddd2\":\"21\",\"telefone2\":\"30000002\"}",
         "(11) 90000-0001, (21) 30000002"},
        {"{\"phones\":[{\"type\":\"home\",\"value\":\"(11) 3000-0003\"},\"+351 912 345 670\"]}",
         "(11) 3000-0003, +351 912 345 670"},
        {"{\"Qual o seu WhatsApp?\":\"11 90000-0004\",\"telefone_corretor\":\"11900000005\"}",
         "11 90000-0004"},
        {"{\"contactDDD\":\"11\",\"contactPhone\":\"900000001\"}", "(11) 900000001"},
        {"{\"TelefoneDDD\":\"11\",\"TelefoneNumero\":\"900000001\"}", "(11) 900000001"},
        {"{\"whatsapp\":true,\"ddd\":\"11\",\"numero\":\"90000-0006\"}", "(11) 90000-0006"},
    };
    for (size_t at = 0; at < sizeof cases / sizeof *cases; at++)
        expect(cases[at][0], joined(fields_phones(fields_from(parsed(cases[at][0])))), cases[at][1]);
}

static void a_code_that_is_not_used_is_kept(void)
{
    struct fields *fields = fields_from(
        parsed("{\"ddd\":\"11\",\"phone\":\"1 555 010 0001\",\"country_code\":1}"));
    expect("the phone", joined(fields_phones(fields)), "+1 555 010 0001");
    attribute_list rest = fields_rest(fields);
    expect("the rest", rest.len == 1 ? (struct text){(char *)rest.ptr[0].f1.ptr, rest.ptr[0].f1.len} : text_from(""),
           "\"11\"");
}

static void names_are_joined_from_their_parts(void)
{
    const char *cases[][2] = {
        {"{\"nome\":\"Ana\",\"sobrenome\":\"Prado\"}", "Ana Prado"},
        {"{\"name\":\"Ana Prado\",\"lastName\":\"Prado\"}", "Ana Prado"},
        {"{\"name\":{\"first\":\"Ana\",\"last\":\"Prado\"}}", "Ana Prado"},
        {"{\"name\":\"Form\",\"data\":{\"email\":\"a@example.com\",\"nome\":\"\"}}", ""},
        {"{\"nomeDoComprador\":\"Ana\",\"contactPhone\":\"11900000001\"}", "Ana"},
        {"{\"contact\":\"ana@example.com\"}", ""},
    };
    for (size_t at = 0; at < sizeof cases / sizeof *cases; at++)
        expect(cases[at][0], fields_name(fields_from(parsed(cases[at][0]))), cases[at][1]);
}

static void questions_and_answers_are_read_like_the_fields_of_a_form(void)
{
    struct fields *fields = fields_from(
        parsed("{\"name\":\"Contact form\",\"answers\":["
               "{\"label\":\"Qual o seu nome?\",\"value\":\"Ana Prado\"},"
               "{\"label\":\"Contato\",\"type\":\"tel\",\"value\":[\"11 90000-0001\"]},"
               "{\"label\":\"Prazo\",\"value\":{\"label\":\"3 meses\"}},{\"label\":\"Prazo\",\"value\":2},"
               "{\"label\":\"Bairro\",\"value\":\"\"}]}"));
    expect("the name", fields_name(fields), "Ana Prado");
    expect("the phone", joined(fields_phones(fields)), "11 90000-0001");
    attribute_list rest = fields_rest(fields);
    struct writer out = {0};
    for (size_t at = 0; at < rest.len; at++) {
        write_text(&out, (struct text){(char *)rest.ptr[at].f0.ptr, rest.ptr[at].f0.len});
        write_string(&out, "=");
        write_text(&out, (struct text){(char *)rest.ptr[at].f1.ptr, rest.ptr[at].f1.len});
        write_string(&out, ";");
    }
    expect("the rest", written(&out), "Prazo=\"3 meses\";Prazo 2=2;name=\"Contact form\";");
}

static void a_lead_without_a_contact_has_a_name_or_answers_and_an_id(void)
{
    const char *cases[][2] = {
        {"{\"id\":\"1\",\"name\":\"Ana\"}", "lead"},
        {"{\"name\":\"Ana\",\"message\":\"Olá\"}", "lead"},
        {"{\"id\":\"1\",\"answers\":[{\"question\":\"Prazo\",\"answer\":\"3 meses\"}]}", "lead"},
        {"{\"event\":\"deal_created\",\"id\":\"1\",\"name\":\"Ana\"}", "none"},
        {"{\"id\":\"1\",\"buyer_name\":\"Ana\"}", "none"},
    };
    for (size_t at = 0; at < sizeof cases / sizeof *cases; at++) {
        struct fields *fields = fields_from(parsed(cases[at][0]));
        lead lead = {
            .external_id = optional_from(fields_external_id(fields)),
            .name = optional_from(fields_name(fields)),
            .message = optional_from(fields_message(fields)),
        };
        expect(cases[at][0], text_from(fields_are_lead(fields, &lead) ? "lead" : "none"), cases[at][1]);
    }
}

static void a_field_or_a_value_says_that_a_lead_is_a_test(void)
{
    const char *cases[][2] = {
        {"{\"is_test\":true}", "test"},
        {"{\"Teste\":\"Sim\"}", "test"},
        {"{\"nome\":\"<test lead: dummy data for nome>\"}", "test"},
        {"{\"test\":0}", "none"},
    };
    for (size_t at = 0; at < sizeof cases / sizeof *cases; at++) {
        bool is_test = fields_is_test(fields_from(parsed(cases[at][0])));
        expect(cases[at][0], text_from(is_test ? "test" : "none"), cases[at][1]);
    }
}

static void the_host_masks_the_usual_secrets(void)
{
    string config = string_from(text_from("{}"));
    sender_policy policy = {0};
    problem refused;
    exports_leadhost_converter_converter_sender_checks(&config, &policy, &refused);
    location_list carried = policy.carried_secrets;
    struct text first = {(char *)carried.ptr[0].name.ptr, carried.ptr[0].name.len};
    expect("the first secret", first, "google_key");
}

// Converts the first bytes of a body, and the others with one that is not UTF-8.
static void convert(struct text body, size_t end)
{
    delivery text = {.body.tag = LEADHOST_TYPES_CORE_CONTENT_TEXT};
    text.body.val.text = string_from((struct text){body.at, end});
    struct writer rest = {0};
    write_text(&rest, (struct text){body.at + end, body.length - end});
    write_string(&rest, "\xFF");
    delivery bytes = {.body.tag = LEADHOST_TYPES_CORE_CONTENT_BYTES};
    bytes.body.val.bytes = (lead_converter_list_u8_t){(uint8_t *)rest.at, rest.length};
    conversion result;
    problem refused;
    exports_leadhost_converter_converter_convert(&text, &result, &refused);
    exports_leadhost_converter_converter_convert(&bytes, &result, &refused);
}

static void damaged_bodies_do_not_crash(void)
{
    struct text body = text_from(
        "{\"leads\":[{\"contact\":{\"phones\":[{\"ddd\":\"11\",\"value\":\"9\"}],\"e-mail\":"
        "[\"a@b.c\"]},\"id\":9007199254740993,\"unit\":{\"rooms\":3,\"id\":\"\\u00e3\\\\\"}}]}");
    for (size_t end = 0; end <= body.length; end++)
        convert(body, end);
}

int main(void)
{
    json_is_written_as_it_was_read();
    what_is_not_json_is_refused();
    the_first_path_with_a_text_wins();
    brackets_of_a_form_make_a_tree();
    spellings_of_a_name_are_one();
    phones_have_the_codes_beside_them();
    a_code_that_is_not_used_is_kept();
    names_are_joined_from_their_parts();
    questions_and_answers_are_read_like_the_fields_of_a_form();
    a_lead_without_a_contact_has_a_name_or_answers_and_an_id();
    a_field_or_a_value_says_that_a_lead_is_a_test();
    the_host_masks_the_usual_secrets();
    damaged_bodies_do_not_crash();
    printf(failures ? "%d failures\n" : "all tests passed\n", failures);
    return failures > 0;
}
