// The fields of a form of unknown shape, by their usual names: in the form itself, in the
// objects in it that usually hold a lead, and in its lists of questions and answers.

#include <stdlib.h>
#include <string.h>

#include "leadhost.h"
#include "looks.h"
#include "names.h"

// Bounds of the search: real leads are three levels deep, with dozens of fields.
enum { MAX_VIEW_DEPTH = 5, MAX_VIEWS = 16, MAX_VIEW_FIELDS = 1000 };

// One object in which fields of the lead may be.
struct view {
    struct value **fields;
    size_t count;
    bool is_person, is_root;
    // Whether its id is a single field's.
    bool is_of_fields;
    // Whether it describes where the lead comes from.
    bool is_about;
    // Whether the names are the questions of a form.
    bool has_questions;
    // The answers by their questions, if the fields are made of them.
    struct value *asked;
};

struct fields {
    struct value *form;
    struct view views[MAX_VIEWS];
    size_t count;
    // Whether the name may be an event's, or says nothing without a phone or an e-mail address.
    bool is_name_unsure;
    // What is kept of the rest; it knows the contacts of the lead.
    struct rest rest;
};

static const struct text NO_TEXT = {"", 0};

// --- Where the fields are ---

static struct view view_of(struct value *object)
{
    struct view view = {0};
    size_t most = object->count < MAX_VIEW_FIELDS ? object->count : MAX_VIEW_FIELDS;
    view.fields = new_memory(most, sizeof *view.fields);
    for (struct value *field = object->first; field && view.count < most; field = field->next) {
        if (field->folded.at == NULL)
            field->folded = text_folded(field->name);
        view.fields[view.count++] = field;
    }
    return view;
}

// Returns the only item of a list, and any other value as it is.
static struct value *only(struct value *value)
{
    return value->kind == JSON_ARRAY && value->count == 1 ? value->first : value;
}

static void collect(struct fields *fields, struct value *value, struct text name, int depth)
{
    if (!value_is_object(value) || depth > MAX_VIEW_DEPTH || fields->count == MAX_VIEWS)
        return;
    struct view view = view_of(value);
    view.is_person = is_among(name, names_persons);
    view.is_of_fields = is_among(name, names_field_groups);
    view.is_about = text_is(name, "summary");
    view.has_questions = is_among(name, names_question_groups);
    for (size_t at = 0; at < view.count; at++)
        view.has_questions = view.has_questions || contains(view.fields[at]->name, "?");
    view.is_root = depth == 0;
    fields->views[fields->count++] = view;
    for (size_t at = 0; at < view.count; at++) {
        struct value *field = view.fields[at];
        struct value *asked = questions_in(field->folded, field, value);
        if (asked != NULL && fields->count < MAX_VIEWS) {
            struct view answers = view_of(asked);
            answers.is_person = answers.has_questions = true;
            answers.asked = asked;
            fields->views[fields->count++] = answers;
            field->read = true; // The answers take the place of the list or the object.
        } else if (is_among(field->folded, names_containers)) {
            collect(fields, only(field), field->folded, depth + 1);
        }
    }
}

// Returns the next value of this name that is not absent, after `*at` fields.
static struct value *next_named(const struct view *view, const char *name, size_t *at)
{
    while (*at < view->count) {
        struct value *field = view->fields[(*at)++];
        if (text_is(field->folded, name) && !value_is_absent(field))
            return field;
    }
    return NULL;
}

// Returns the value that has the text: of a list of one, and of `{"value": "..."}`. NULL for a text
// that is JSON.
static struct value *inner(struct value *value)
{
    value = only(value);
    if (value->kind == JSON_OBJECT)
        value = value_at(value, "value");
    return is_json(value_scalar(value)) ? NULL : value;
}

// Whether a field is an answer that is not about other people.
static bool may_answer(const struct view *view, const struct value *field)
{
    return view->has_questions && !is_others(field->folded);
}

static bool has_contact(const struct view *view)
{
    for (size_t at = 0; at < view->count; at++) {
        struct text name = view->fields[at]->folded;
        if ((is_among(name, names_phones) || is_among(name, names_emails)) &&
            !value_is_absent(view->fields[at]))
            return true;
        if (view->asked != NULL && is_contact(name, view->fields[at]))
            return true;
        if (may_answer(view, view->fields[at]) && looks_like_email(value_scalar(inner(view->fields[at]))))
            return true;
    }
    return false;
}

struct fields *fields_from(struct value *form)
{
    struct fields *fields = new_memory(1, sizeof *fields);
    fields->form = form;
    collect(fields, form, NO_TEXT, 0);
    // The object with a phone or an e-mail address comes first.
    size_t best = 0;
    while (best < fields->count && !has_contact(&fields->views[best]))
        best++;
    if (best < fields->count) {
        struct view view = fields->views[best];
        memmove(&fields->views[1], &fields->views[0], best * sizeof view);
        fields->views[0] = view;
    }
    return fields;
}

// --- Texts by their names ---

static struct text take(struct value *value)
{
    value->read = true;
    return value_scalar(value);
}

// Returns the value under the first of the names that has a text, or NULL.
static struct value *find(const struct view *view, const char *const *names)
{
    for (; *names != NULL; names++) {
        size_t at = 0;
        for (struct value *value; (value = next_named(view, *names, &at)) != NULL;) {
            value = inner(value);
            if (value_scalar(value).length > 0)
                return value;
        }
    }
    return NULL;
}

static struct text take_first(const struct view *view, const char *const *names)
{
    struct value *found = find(view, names);
    return found ? take(found) : NO_TEXT;
}

static bool is_any(const struct view *view)
{
    (void)view;
    return true;
}

// Returns the first text under one of the names in an object that is wanted.
static struct text take_any(const struct fields *fields, const char *const *names,
                            bool (*is_wanted)(const struct view *view))
{
    for (size_t at = 0; at < fields->count; at++) {
        if (!is_wanted(&fields->views[at]))
            continue;
        struct text text = take_first(&fields->views[at], names);
        if (text.length > 0)
            return text;
    }
    return NO_TEXT;
}

static bool is_of_lead_itself(const struct view *view)
{
    return !view->is_person && !view->is_of_fields;
}

static bool is_not_about(const struct view *view)
{
    return !view->is_about;
}

// Whether an object is a response as Typeform sends it.
static bool is_response(const struct view *view)
{
    size_t form = 0, answers = 0;
    return next_named(view, "formid", &form) != NULL && next_named(view, "answers", &answers) != NULL;
}

struct text fields_external_id(struct fields *fields)
{
    static const char *const token[] = {"token", NULL};
    struct text id = take_any(fields, names_ids, is_not_about);
    if (id.length == 0)
        id = take_any(fields, token, is_response);
    return id.length > 0 ? id : take_any(fields, names_plain_ids, is_of_lead_itself);
}

bool fields_is_test(struct fields *fields)
{
    bool is_test = is_among(text_folded(take_any(fields, names_tests, is_any)), names_yes);
    for (size_t at = 0; at < fields->count; at++)
        for (size_t field = 0; field < fields->views[at].count; field++) {
            struct text text = value_scalar(inner(fields->views[at].fields[field]));
            // What Meta sends as the values of a test lead begins with this.
            is_test = is_test || starts_with(text, text_from("<test lead"));
        }
    return is_test;
}

static bool has_answers(const struct view *view)
{
    for (struct value *answer = view->asked ? view->asked->first : NULL; answer != NULL; answer = answer->next)
        if (!value_is_object(answer))
            return true;
    return false;
}

bool fields_are_lead(const struct fields *fields, const lead *lead)
{
    bool has_id = lead->external_id.is_some, is_answered = false;
    for (size_t at = 0; at < fields->count; at++)
        is_answered = is_answered || (has_id && has_answers(&fields->views[at]));
    bool is_named = lead->name.is_some && !fields->is_name_unsure;
    bool has_more = has_id || lead->message.is_some || lead->listings.len > 0;
    return lead->phones.len > 0 || lead->emails.len > 0 || is_answered || (is_named && has_more);
}

struct text fields_message(struct fields *fields)
{
    return take_any(fields, names_messages, is_any);
}

// --- Names ---

// Joins the parts of a name, unless the first one is the whole name.
static struct text joined(struct text first, struct text last)
{
    if (ends_with(text_folded(first), text_folded(last)))
        return first;
    struct writer out = {0};
    write_text(&out, first);
    write_string(&out, " ");
    write_text(&out, last);
    return text_trimmed(written(&out));
}

// Returns the name in an object; `is_plain` says whether `name` itself is a person's.
static struct text name_in(const struct view *view, bool is_plain)
{
    struct text full = take_first(view, names_full_names);
    if (full.length > 0)
        return full;
    struct value *first = find(view, names_first_names), *last = find(view, names_last_names);
    if (first != NULL && last != NULL)
        return joined(take(first), take(last));
    for (const char *const *name = names_plain_names; is_plain && *name != NULL; name++) {
        size_t at = 0;
        for (struct value *value; (value = next_named(view, *name, &at)) != NULL;) {
            // A name in its parts; an object named `contact` is a person instead.
            struct text text = NO_TEXT;
            if (only(value)->kind == JSON_OBJECT && strncmp(*name, "cont", 4) != 0) {
                struct view parts = view_of(only(value));
                text = name_in(&parts, true);
            }
            value = inner(value);
            if (text.length == 0 && may_be_name(value_scalar(value)))
                text = take(value);
            if (text.length > 0)
                return text;
        }
    }
    for (size_t at = 0; at < view->count && view->has_questions && is_plain; at++) {
        struct value *value = inner(view->fields[at]);
        if (is_name_question(view->fields[at]->folded) && may_be_name(value_scalar(value)))
            return take(value);
    }
    struct value *part = first != NULL ? first : last;
    return is_plain && part != NULL ? take(part) : NO_TEXT;
}

// Whether a name says whose it is: `buyer_name`, `nomeDoComprador`.
static bool is_of_lead(struct text name, const char *const *words)
{
    static const char *const of[] = {"", "do", "da", "de", "del", NULL};
    for (; *words != NULL; words++) {
        struct text word = text_from(*words);
        if (ends_with(name, word) &&
            is_among((struct text){name.at, name.length - word.length}, names_lead_words))
            return true;
        for (const char *const *link = of; starts_with(name, word) && *link != NULL; link++) {
            struct text rest = {name.at + word.length, name.length - word.length};
            size_t skipped = strlen(*link);
            if (starts_with(rest, text_from(*link)) &&
                is_among((struct text){rest.at + skipped, rest.length - skipped}, names_lead_words))
                return true;
        }
    }
    return false;
}

static struct text take_of_lead(const struct view *view, const char *const *words)
{
    for (size_t at = 0; at < view->count; at++) {
        struct value *value = inner(view->fields[at]);
        if (is_of_lead(view->fields[at]->folded, words) && may_be_name(value_scalar(value)))
            return take(value);
    }
    return NO_TEXT;
}

static bool is_event(const struct view *view)
{
    for (size_t at = 0; at < view->count; at++)
        if (is_among(view->fields[at]->folded, names_events))
            return true;
    return false;
}

struct text fields_name(struct fields *fields)
{
    // Beside an object with the contact, or the answers of a form, `name` is rather a form's.
    const struct view *best = &fields->views[0];
    bool is_other = best->has_questions || !best->is_person;
    bool is_apart = has_contact(best) && !best->is_root && is_other;
    for (size_t at = 0; at < fields->count; at++) {
        const struct view *view = &fields->views[at];
        bool is_plain = !is_apart || at == 0 || view->is_person || view->has_questions;
        struct text name = name_in(view, is_plain);
        if (name.length > 0) {
            fields->is_name_unsure = view->is_root && is_event(view);
            return name;
        }
    }
    fields->is_name_unsure = true;
    for (size_t at = 0; at < fields->count; at++) {
        const struct view *view = &fields->views[at];
        struct text name = take_of_lead(view, names_name_words);
        if (name.length == 0)
            name = joined(take_of_lead(view, names_first_name_words),
                          take_of_lead(view, names_last_name_words));
        if (name.length > 0)
            return name;
    }
    return NO_TEXT;
}

// --- Phones and e-mail addresses ---

// Returns the name of a phone without the words around it, as its code has it.
static struct text stem(struct text name)
{
    static const char *const before[] = {"numerode", "numerodo", "numero", "number"};
    static const char *const after[] = {"numero", "number"};
    for (size_t at = 0; at < sizeof before / sizeof *before; at++) {
        struct text word = text_from(before[at]);
        if (starts_with(name, word))
            name = (struct text){name.at + word.length, name.length - word.length};
    }
    for (size_t at = 0; at < sizeof after / sizeof *after; at++) {
        struct text word = text_from(after[at]);
        if (ends_with(name, word))
            name.length -= word.length;
    }
    return name;
}

static bool is_usual_phone(struct text name)
{
    name = stem(name);
    for (const char *const *usual = names_phones; *usual != NULL; usual++)
        if (text_is(name, *usual))
            return true;
    return false;
}

// Whether a phone's name is that of its owner with a usual name of a phone.
static bool is_of_owner(struct text phone, struct text owner)
{
    if (owner.length == 0)
        return false;
    struct text rest = {phone.at, phone.length - owner.length};
    if (ends_with(phone, owner) && is_usual_phone(rest))
        return true;
    rest.at += owner.length;
    return starts_with(phone, owner) && is_usual_phone(rest);
}

// Returns the code that belongs to a phone's name: `ddd_celular` or `celular_ddd` of
// `celular`, `ddd2` of `telefone2`, else `contactDDD` of `contactPhone`, or one without the
// name of a phone.
static struct value *find_code(const struct view *view, struct text phone, const char *const *names)
{
    struct value *plain = NULL, *of_owner = NULL;
    phone = stem(phone);
    for (; *names != NULL; names++) {
        struct text code = text_from(*names);
        for (size_t at = 0; at < view->count; at++) {
            struct text name = view->fields[at]->folded;
            struct text text = value_scalar(view->fields[at]);
            struct text rest = {name.at, name.length - code.length};
            if (starts_with(name, code))
                rest.at += code.length;
            else if (!ends_with(name, code))
                continue;
            if (digits(text).length == 0 || text.length > 6 || letters(text) > 0)
                continue;
            bool is_number = rest.length > 0 && digits(rest).length == rest.length &&
                             ends_with(phone, rest);
            if (rest.length > 0 && (equal(stem(rest), phone) || is_number))
                return view->fields[at];
            if (of_owner == NULL && is_of_owner(phone, rest))
                of_owner = view->fields[at];
            if (rest.length == 0 && plain == NULL)
                plain = view->fields[at];
        }
    }
    return of_owner != NULL ? of_owner : plain;
}

// Adds the codes beside a phone, if it has none itself. A code that is not used stays an
// attribute.
static struct text with_codes(struct text phone, struct value *area, struct value *country)
{
    struct text number = digits(phone);
    if (phone.at[0] == '+' || number.length > 11)
        return phone;
    struct text area_code = digits(value_scalar(area)), country_code = digits(value_scalar(country));
    while (area_code.length > 0 && area_code.at[0] == '0')
        area_code = (struct text){area_code.at + 1, area_code.length - 1};
    struct writer out = {0};
    if (country_code.length > 0 && country_code.length <= 3) {
        take(country);
        write_string(&out, "+");
        // A number of North America may have its country code already.
        if (!text_is(country_code, "1") || number.length != 11 || number.at[0] != '1') {
            write_text(&out, country_code);
            write_string(&out, " ");
        }
    }
    if (area_code.length > 0 && area_code.length <= 4 && number.length < 10) {
        take(area);
        write_string(&out, "(");
        write_text(&out, area_code);
        write_string(&out, ") ");
    }
    write_text(&out, phone);
    return written(&out);
}

// Whether an object has nothing but the parts of a phone.
static bool is_phone_only(const struct view *parts)
{
    for (size_t at = 0; at < parts->count; at++) {
        struct text name = parts->fields[at]->folded;
        if (!is_among(name, names_phones) && !is_among(name, names_phone_nodes) &&
            !is_among(name, names_area_codes) && !is_among(name, names_phone_areas) &&
            !is_among(name, names_country_codes) && !is_among(name, names_phone_details))
            return false;
    }
    return true;
}

static void add_phone(struct texts *out, const struct view *view, struct value *node,
                      struct text name, bool (*fits)(struct text))
{
    struct value *number = node, *area = NULL, *country = NULL;
    if (node->kind == JSON_OBJECT) {
        struct view parts = view_of(node);
        number = find(&parts, names_phone_nodes);
        area = find(&parts, names_area_codes);
        country = find(&parts, names_country_codes);
        struct value *own = is_phone_only(&parts) ? find(&parts, names_phone_areas) : NULL;
        area = own ? own : area;
    } else {
        number = inner(node);
    }
    struct text text = value_whole(number);
    if (number == NULL || !fits(text) || out->count == MAX_CONTACTS)
        return;
    take(number);
    if (area == NULL)
        area = find_code(view, name, names_area_codes);
    if (country == NULL)
        country = find_code(view, name, names_country_codes);
    struct text phone = with_codes(text, area, country);
    for (size_t at = 0; at < out->count; at++)
        if (is_same_phone(out->items[at], phone))
            return;
    out->items[out->count++] = phone;
}

static void add_email(struct texts *out, struct value *node)
{
    static const char *const others[] = {"value", "address", NULL};
    if (node->kind == JSON_OBJECT) {
        struct view parts = view_of(node);
        node = find(&parts, names_emails);
        node = node ? node : find(&parts, others);
    }
    if (!looks_like_email(value_scalar(node)) || out->count == MAX_CONTACTS)
        return;
    struct text email = take(node);
    for (size_t at = 0; at < out->count; at++)
        if (equal(out->items[at], email))
            return;
    out->items[out->count++] = email;
}

// Adds the contacts in a field: in the items of a list, or the value. An e-mail address has
// no view.
static void add_contacts(struct texts *out, const struct view *view, struct value *field,
                         bool (*fits)(struct text))
{
    bool is_list = field->kind == JSON_ARRAY;
    for (struct value *node = is_list ? field->first : field; node != NULL;
         node = is_list ? node->next : NULL) {
        if (view == NULL)
            add_email(out, node);
        else
            add_phone(out, view, node, field->folded, fits);
    }
}

struct texts fields_phones(struct fields *fields)
{
    static const char *const codes[] = {"ddd", "areacode", NULL};
    struct texts out = {0};
    for (size_t at = 0; at < fields->count; at++)
        for (const char *const *name = names_phones; *name != NULL; name++) {
            size_t from = 0;
            for (struct value *value; (value = next_named(&fields->views[at], *name, &from)) != NULL;)
                add_contacts(&out, &fields->views[at], value, is_phone_number);
        }
    bool is_found = out.count > 0;
    for (size_t at = 0; at < fields->count && !is_found; at++) {
        const struct view *view = &fields->views[at];
        for (size_t field = 0; field < view->count; field++)
            if (is_phone_name(view->fields[field]->folded))
                add_contacts(&out, view, view->fields[field], looks_like_phone);
        if (find_code(view, NO_TEXT, codes) == NULL)
            continue;
        for (const char *const *name = names_numbers; *name != NULL; name++) {
            size_t from = 0;
            for (struct value *value; (value = next_named(view, *name, &from)) != NULL;)
                add_contacts(&out, view, value, looks_like_phone);
        }
    }
    is_found = out.count > 0;
    for (size_t at = 0; at < fields->count && !is_found; at++) {
        const struct view *view = &fields->views[at];
        for (size_t field = 0; field < view->count; field++)
            if (may_answer(view, view->fields[field]))
                add_contacts(&out, view, view->fields[field], is_full_phone);
    }
    fields->rest.phones = out;
    return out;
}

struct texts fields_emails(struct fields *fields)
{
    struct texts out = {0};
    for (size_t at = 0; at < fields->count; at++)
        for (const char *const *name = names_emails; *name != NULL; name++) {
            size_t from = 0;
            for (struct value *value; (value = next_named(&fields->views[at], *name, &from)) != NULL;)
                add_contacts(&out, NULL, value, NULL);
        }
    bool is_found = out.count > 0;
    for (size_t at = 0; at < fields->count && !is_found; at++)
        for (size_t field = 0; field < fields->views[at].count; field++)
            if (is_email_name(fields->views[at].fields[field]->folded))
                add_contacts(&out, NULL, fields->views[at].fields[field], NULL);
    is_found = out.count > 0;
    for (size_t at = 0; at < fields->count && !is_found; at++) {
        const struct view *view = &fields->views[at];
        for (size_t field = 0; field < view->count; field++)
            if (may_answer(view, view->fields[field]))
                add_contacts(&out, NULL, view->fields[field], NULL);
    }
    fields->rest.emails = out;
    return out;
}

// --- The time, the source and the campaign ---

static struct text take_time(const struct view *view)
{
    struct value *day = find(view, names_dates), *hour = find(view, names_hours);
    if (day != NULL && hour != NULL && contains(value_scalar(hour), ":")) {
        struct writer both = {0};
        write_text(&both, value_scalar(day));
        write_string(&both, " ");
        write_text(&both, value_scalar(hour));
        struct text time = time_from(written(&both));
        if (time.length > 0) {
            take(day);
            take(hour);
            return time;
        }
    }
    for (const char *const *name = names_times; *name != NULL; name++) {
        size_t at = 0;
        for (struct value *value; (value = next_named(view, *name, &at)) != NULL;) {
            value = inner(value);
            struct text time = time_from(value_scalar(value));
            if (time.length > 0) {
                take(value);
                return time;
            }
        }
    }
    return NO_TEXT;
}

struct text fields_occurred_at(struct fields *fields)
{
    struct text time = NO_TEXT;
    for (size_t at = 0; at < fields->count && time.length == 0; at++)
        time = take_time(&fields->views[at]);
    return time;
}

struct text fields_source(struct fields *fields)
{
    for (size_t at = 0; at < fields->count; at++) {
        struct value *found = find(&fields->views[at], names_sources);
        if (found == NULL)
            continue;
        // A longer text is not the name of a source.
        struct text text = value_scalar(found);
        size_t characters = 0;
        for (size_t byte = 0; byte < text.length; byte++)
            characters += (text.at[byte] & 0xC0) != 0x80;
        return characters <= 200 ? take(found) : NO_TEXT;
    }
    return NO_TEXT;
}

attribute_list fields_campaign(struct fields *fields)
{
    size_t count = sizeof names_campaign / sizeof names_campaign[0];
    attribute_list out = {new_memory(count, sizeof *out.ptr), 0};
    for (size_t at = 0; at < count; at++) {
        struct text text = take_any(fields, names_campaign[at].usual, is_any);
        if (text.length == 0)
            continue;
        out.ptr[out.len].f0 = string_from(text_from(names_campaign[at].name));
        out.ptr[out.len++].f1 = string_from(text);
    }
    return out;
}

// --- Listings and the rest ---

struct references {
    struct text items[MAX_LISTINGS];
    size_t count;
};

static bool has_reference(const struct references *list, struct text reference)
{
    for (size_t at = 0; at < list->count; at++)
        if (equal(list->items[at], reference))
            return true;
    return false;
}

static void add_reference(struct references *list, struct text reference)
{
    if (reference.length > 0 && list->count < MAX_LISTINGS && !has_reference(list, reference))
        list->items[list->count++] = reference;
}

static void add_references(struct references *list, const struct view *view, const char *const *names)
{
    for (; *names != NULL; names++)
        add_reference(list, take_first(view, (const char *const[]){*names, NULL}));
}

static void add_listings(listing_list *out, const struct references *list, const char *kind,
                         const struct references *known)
{
    for (size_t at = 0; at < list->count && out->len < MAX_LISTINGS; at++)
        if (!has_reference(known, list->items[at]))
            out->ptr[out->len++] = (listing){
                .kind = string_from(text_from(kind)),
                .reference = string_from(list->items[at]),
            };
}

listing_list fields_listings(struct fields *fields)
{
    static const char *const ids[] = {"id", "listingid", NULL};
    struct references client = {0}, portal = {0}, none = {0};
    for (size_t at = 0; at < fields->count; at++) {
        const struct view *view = &fields->views[at];
        add_references(&client, view, names_client_listings);
        add_references(&portal, view, names_portal_listings);
        for (size_t field = 0; field < view->count; field++) {
            struct value *value = view->fields[field];
            if (!value_is_object(value) || !is_among(value->folded, names_listing_objects))
                continue;
            struct view object = view_of(value);
            add_reference(&client, take_first(&object, names_listing_references));
            add_reference(&portal, take_first(&object, ids));
        }
    }
    listing_list out = {new_memory(MAX_LISTINGS, sizeof *out.ptr), 0};
    add_listings(&out, &client, "client", &none);
    add_listings(&out, &portal, "portal", &client);
    return out;
}

static void add_rest(struct fields *fields, struct value *left, struct value *field, bool is_asked)
{
    // One more than a host accepts is enough: it refuses the lead and says why.
    struct value *value = left->count <= MAX_ATTRIBUTES ? rest_of_member(&fields->rest, field) : NULL;
    if (!value_is_absent(value))
        value_append_copy(left, value, is_asked ? free_name(field->name, left) : field->name);
}

attribute_list fields_rest(struct fields *fields)
{
    struct value *left = value_from_text(NO_TEXT);
    left->kind = JSON_OBJECT;
    for (struct value *field = fields->form->first; field != NULL; field = field->next)
        add_rest(fields, left, field, false);
    for (size_t at = 0; at < fields->count; at++) {
        const struct value *asked = fields->views[at].asked;
        for (struct value *field = asked ? asked->first : NULL; field != NULL; field = field->next)
            add_rest(fields, left, field, true);
    }
    note_left_out(&fields->rest);
    value_order(left);
    attribute_list out = {new_memory(left->count, sizeof *out.ptr), 0};
    for (struct value *field = left->first; field != NULL; field = field->next) {
        out.ptr[out.len].f0 = string_from(field->name);
        out.ptr[out.len++].f1 = string_from(json_text(field));
    }
    return out;
}
