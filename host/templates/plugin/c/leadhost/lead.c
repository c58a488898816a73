// The records of the contract. Texts in them are copies, which the bindings free.

#include <stdlib.h>
#include <string.h>

#include "leadhost.h"
#include "looks.h"
#include "names.h"

string string_from(struct text text)
{
    string out = {NULL, text.length};
    if (text.length > 0) {
        out.ptr = new_memory(text.length, 1);
        memcpy(out.ptr, text.at, text.length);
    }
    return out;
}

optional_string optional_from(struct text text)
{
    text = text_trimmed(text);
    return (optional_string){.is_some = text.length > 0, .val = string_from(text)};
}

string_list list_from(struct texts texts)
{
    string_list out = {NULL, texts.count};
    if (texts.count > 0)
        out.ptr = new_memory(texts.count, sizeof *out.ptr);
    for (size_t at = 0; at < texts.count; at++)
        out.ptr[at] = string_from(texts.items[at]);
    return out;
}

// More lines than a person reads.
enum { MAX_NOTES = 200 };
static struct text notes[MAX_NOTES];
static size_t note_count;

void note_once(struct text line)
{
    for (size_t at = 0; at < note_count; at++)
        if (equal(notes[at], line))
            return;
    if (note_count < MAX_NOTES)
        notes[note_count++] = line;
}

string_list noted(void)
{
    string_list out = {new_memory(note_count, sizeof *out.ptr), note_count};
    for (size_t at = 0; at < note_count; at++)
        out.ptr[at] = string_from(notes[at]);
    return out;
}

location_list usual_secrets(void)
{
    location_list out = {NULL, sizeof names_usual_secrets / sizeof *names_usual_secrets - 1};
    out.ptr = new_memory(out.len, sizeof *out.ptr);
    for (size_t at = 0; at < out.len; at++) {
        out.ptr[at].place = string_from(text_from("json"));
        out.ptr[at].name = string_from(text_from(names_usual_secrets[at]));
    }
    return out;
}

struct text header(const delivery *delivery, const char *name)
{
    for (size_t at = 0; at < delivery->headers.len; at++) {
        lead_converter_tuple2_string_string_t header = delivery->headers.ptr[at];
        if (text_is((struct text){(char *)header.f0.ptr, header.f0.len}, name) && header.f1.len > 0)
            return (struct text){(char *)header.f1.ptr, header.f1.len};
    }
    return (struct text){"", 0};
}

static struct text body_bytes(const delivery *delivery)
{
    struct text body = {(char *)delivery->body.val.bytes.ptr, delivery->body.val.bytes.len};
    if (delivery->body.tag == LEADHOST_TYPES_CORE_CONTENT_TEXT)
        body = (struct text){(char *)delivery->body.val.text.ptr, delivery->body.val.text.len};
    // An empty list has no address.
    return body.length > 0 ? body : (struct text){"", 0};
}

static struct text without_mark(struct text text)
{
    bool has_mark = text.length >= 3 && memcmp(text.at, "\xEF\xBB\xBF", 3) == 0;
    return text_trimmed(has_mark ? (struct text){text.at + 3, text.length - 3} : text);
}

// Whether this is the type of the content, which is in lower case.
static bool is_type(struct text kind, const char *type)
{
    const char *end = memchr(kind.at, ';', kind.length);
    if (end != NULL)
        kind.length = (size_t)(end - kind.at);
    kind = text_trimmed(kind);
    for (size_t at = 0; at < kind.length; at++)
        if ((kind.at[at] >= 'A' && kind.at[at] <= 'Z' ? kind.at[at] | 32 : kind.at[at]) != type[at])
            return false;
    return type[kind.length] == '\0';
}

static struct value *parse(const delivery *delivery, const char **why)
{
    struct text text = body_bytes(delivery), kind = header(delivery, "content-type");
    if (is_type(kind, "multipart/form-data"))
        return multipart_parse(kind, text, why);
    if (is_type(kind, "application/x-www-form-urlencoded")) {
        // Each name and value of a form has an encoding of its own.
        struct text form = without_mark(text);
        if (form.length == 0 || (form.at[0] != '{' && form.at[0] != '['))
            return form_parse(form);
    }
    bool is_text = delivery->body.tag == LEADHOST_TYPES_CORE_CONTENT_TEXT;
    *why = "the body is not valid JSON";
    return json_parse(without_mark(is_text ? text : text_from_bytes(text)));
}

struct value *body_parse(const delivery *delivery, problem *err)
{
    const char *why;
    struct value *body = parse(delivery, &why);
    if (body == NULL)
        *err = (problem){.message = string_from(text_from(why))};
    // Form builders send the whole answer as JSON in one field, where no path leads into a
    // text. A text that is not JSON stays.
    for (struct value *child = value_is_object(body) ? body->first : NULL; child != NULL; child = child->next) {
        struct text text = value_scalar(child);
        bool is_json = child->kind == JSON_STRING && text.length > 0 && (text.at[0] == '{' || text.at[0] == '[');
        struct value *value =
            is_json && is_among(text_folded(child->name), names_json_texts) ? json_parse(child->text) : NULL;
        if (value != NULL) {
            value->name = child->name;
            value->next = child->next;
            *child = *value;
        }
    }
    return body;
}

static void write_number(struct writer *out, size_t number)
{
    char digits[20], *end = digits + sizeof digits, *at = end;
    do
        *--at = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    write_text(out, (struct text){at, (size_t)(end - at)});
}

// Returns the list of this name in an object, or NULL.
static struct value *listed(struct value *object, const char *name)
{
    struct value *list = value_is_object(object) ? value_at(object, name) : NULL;
    return list != NULL && list->kind == JSON_ARRAY ? list : NULL;
}

// Reads the values of `entry[].changes[]`.
static item_list changes_from(struct value *body, item (*read)(struct value *form, struct text path))
{
    item_list items = {0};
    struct value *entries = listed(body, "entry");
    size_t of = 0, most = 0;
    for (struct value *entry = entries ? entries->first : NULL; entry != NULL; entry = entry->next)
        most += listed(entry, "changes") ? listed(entry, "changes")->count : 0;
    items.ptr = new_memory(most, sizeof(item));
    for (struct value *entry = most > 0 ? entries->first : NULL; entry != NULL; entry = entry->next, of++) {
        struct value *changes = listed(entry, "changes");
        size_t at = 0;
        for (struct value *change = changes ? changes->first : NULL; change != NULL; change = change->next) {
            struct writer path = {0};
            write_string(&path, "entry.");
            write_number(&path, of);
            write_string(&path, ".changes.");
            write_number(&path, at++);
            write_string(&path, ".value");
            struct value *value = value_is_object(change) ? value_at(change, "value") : change;
            items.ptr[items.len++] = read(value, written(&path));
            free(path.at);
        }
    }
    return items;
}

item_list items_from(struct value *body, item (*read)(struct value *form, struct text path))
{
    item_list changes = changes_from(body, read);
    if (changes.len > 0)
        return changes;
    struct value *leads = listed(body, "leads");
    struct value *list = leads != NULL ? leads : body;
    if (list->kind != JSON_ARRAY) {
        item_list one = {new_memory(1, sizeof(item)), 1};
        one.ptr[0] = read(body, (struct text){"", 0});
        return one;
    }
    item_list items = {new_memory(list->count, sizeof(item)), 0};
    for (struct value *form = list->first; form != NULL; form = form->next) {
        struct writer path = {0};
        write_string(&path, list == leads ? "leads." : "");
        write_number(&path, items.len);
        items.ptr[items.len++] = read(form, written(&path));
        free(path.at);
    }
    return items;
}

item lead_item(lead lead)
{
    if (lead.action.len == 0)
        lead.action = string_from(text_from("create"));
    item out = {0};
    out.outcome.tag = EXPORTS_LEADHOST_CONVERTER_CONVERTER_OUTCOME_LEAD;
    out.outcome.val.lead = lead;
    return out;
}

item invalid_item(const char *message, struct text path)
{
    item out = {0};
    out.outcome.tag = EXPORTS_LEADHOST_CONVERTER_CONVERTER_OUTCOME_INVALID;
    out.outcome.val.invalid = (problem){string_from(text_from(message)), string_from(path)};
    return out;
}
