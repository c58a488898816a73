// Lists of questions and answers, and objects of them by a key, as form builders send them:
// each question is read as the name of a field, and its answer as the field's value.

#include <stdio.h>
#include <string.h>

#include "looks.h"
#include "names.h"

// A longer list is no form: the host takes as many attributes of a lead. A wrapper is an object
// or a list around one answer.
enum { MAX_QUESTIONS = 200, MAX_WRAPPED = 5 };

static const struct text NO_TEXT = {"", 0};

bool is_contact(struct text name, const struct value *answer)
{
    struct text text = value_scalar(answer);
    bool is_phone = is_among(name, names_phones) || is_phone_name(name);
    bool is_email = is_among(name, names_emails) || is_email_name(name);
    return (is_phone && looks_like_phone(text)) || (is_email && looks_like_email(text));
}

static bool is_usual_contact(struct text name)
{
    return is_among(name, names_phones) || is_among(name, names_emails);
}

// Whether a name is a usual one of what a question asks for.
static bool is_usual(struct text name)
{
    return is_among(name, names_full_names) || is_among(name, names_first_names) ||
           is_among(name, names_last_names) || is_among(name, names_plain_names) ||
           is_among(name, names_messages) || is_name_question(name);
}

struct text free_name(struct text name, const struct value *taken)
{
    struct text out = name;
    for (unsigned number = 2;; number++) {
        const struct value *member = taken->first;
        while (member != NULL && !equal(member->name, out))
            member = member->next;
        if (member == NULL)
            return out;
        char end[16];
        snprintf(end, sizeof end, " %u", number);
        struct writer numbered = {0};
        write_text(&numbered, name);
        write_string(&numbered, end);
        out = written(&numbered);
    }
}

// Returns the member with this folded name, or NULL.
static struct value *member(const struct value *item, const char *name)
{
    for (struct value *field = item->first; field != NULL; field = field->next)
        if (text_is(field->folded, name))
            return field;
    return NULL;
}

// Returns the text of a question, or of an object that describes it; empty if there is none.
static struct text question_in(struct value *value)
{
    static const char *const inside[] = {"title", "label", "name", "ref", "id"};
    if (!value_is_object(value))
        return value_scalar(value);
    struct text text = NO_TEXT;
    for (size_t at = 0; at < sizeof inside / sizeof *inside && text.length == 0; at++)
        text = value_scalar(value_at(value, inside[at]));
    return text;
}

// Returns the title of a question that a source sends beside the answers, by its id.
static struct text title_of(const struct value *item, struct value *beside)
{
    struct value *field = member(item, "field"), *definition = value_at(beside, "definition");
    struct text id = value_is_object(field) ? value_scalar(value_at(field, "id")) : NO_TEXT;
    id = id.length > 0 ? id : value_scalar(member(item, "questionid"));
    id = id.length > 0 ? id : value_scalar(member(item, "id"));
    struct value *listed = value_is_object(definition) ? value_at(definition, "fields")
                                                       : value_at(beside, "questions");
    if (id.length == 0 || listed == NULL || listed->kind != JSON_ARRAY)
        return NO_TEXT;
    size_t most = MAX_QUESTIONS;
    for (struct value *one = listed->first; one != NULL && most > 0; one = one->next, most--) {
        struct text title = value_is_object(one) ? value_scalar(value_at(one, "title")) : NO_TEXT;
        if (title.length > 0 && equal(value_scalar(value_at(one, "id")), id))
            return title;
    }
    return NO_TEXT;
}

// Returns the name that says most: one that asks for a contact and has it, or has it by its
// type, then one that asks for a name or a message, then the most readable one.
static struct text question_of(const struct value *item, struct text key, const char *at,
                               const struct value *answer, struct value *beside)
{
    enum {
        NAMES = sizeof names_question_names / sizeof *names_question_names,
        KINDS = sizeof names_kinds / sizeof *names_kinds,
    };
    struct text all[1 + NAMES + KINDS], folded[1 + NAMES + KINDS];
    size_t count = 0;
    bool is_other = false;
    all[count++] = title_of(item, beside);
    for (const char *const *name = names_question_names; *name != NULL; name++)
        // A key takes the place of the question's id, after all names that say more.
        if (key.length > 0 && strcmp(*name, "questionid") == 0)
            all[count++] = key;
        else if (strcmp(*name, at) != 0 && member(item, *name) != NULL)
            all[count++] = question_in(member(item, *name));
    size_t asked = count;
    for (size_t index = 0; index < asked; index++)
        is_other = is_other || is_others(text_folded(all[index]));
    for (const char *const *name = names_kinds; *name != NULL && !is_other; name++)
        all[count++] = value_scalar(member(item, *name));
    for (size_t index = 0; index < count; index++) {
        folded[index] = text_folded(all[index]);
        if (is_contact(folded[index], answer))
            return all[index];
    }
    for (size_t index = 0; index < asked; index++)
        if (is_usual(folded[index]))
            return all[index];
    for (size_t index = 0; index < count; index++)
        if (all[index].length > 0)
            return all[index];
    return NO_TEXT;
}

// Returns what is in objects and lists that have nothing else, or the label of a choice.
static struct value *unwrapped(struct value *value)
{
    for (int depth = 0; depth < MAX_WRAPPED; depth++) {
        struct value *inside = NULL;
        if (value_is_object(value)) {
            inside = value_at(value, "label");
            inside = inside ? inside : value_at(value, "labels");
            inside = inside ? inside : value_at(value, "other");
        }
        if (inside == NULL && value->count == 1)
            inside = value->first;
        if (inside == NULL)
            break;
        value = inside;
    }
    return value;
}

// Whether an answer has a person or more answers in it, so that the list is one of leads.
static bool is_record(struct text question, const struct value *answer)
{
    struct text name = text_folded(question);
    if (is_usual_contact(name) || is_phone_name(name) || is_email_name(name))
        return false;
    for (const struct value *inside = answer->first; inside != NULL; inside = inside->next)
        if (answer->kind == JSON_ARRAY ? value_is_object(inside)
                                       : is_usual_contact(text_folded(inside->name)))
            return true;
    return false;
}

// Adds a question with its answer, if it has one. Returns false if it is no question.
static bool add_question(struct value *out, struct value *item, struct text key,
                         struct value *beside)
{
    if (!value_is_object(item))
        return false;
    for (struct value *field = item->first; field != NULL; field = field->next)
        if (field->folded.at == NULL)
            field->folded = text_folded(field->name);
    // Some answers are under the name of their type.
    struct text kind = text_folded(value_scalar(member(item, "type")));
    bool is_typed = kind.length > 0 && !is_among(kind, names_question_names);
    struct value *answer = NULL;
    bool has_answer = false;
    const char *at = "";
    for (const char *const *name = names_answers; *name != NULL && answer == NULL; name++) {
        struct value *found = member(item, *name);
        has_answer = has_answer || found != NULL;
        if (!value_is_absent(found)) {
            answer = found;
            at = *name;
        }
    }
    for (struct value *field = item->first; field != NULL; field = field->next) {
        bool is_own = is_typed && equal(field->folded, kind);
        // A person is no question.
        if (is_usual_contact(field->folded) && !is_own)
            return false;
        has_answer = has_answer || is_own;
        if (is_own && answer == NULL && !value_is_absent(field))
            answer = field;
    }
    answer = answer ? unwrapped(answer) : NULL;
    if (value_is_absent(answer))
        return has_answer;
    struct text question = question_of(item, key, at, answer, beside);
    if (question.length == 0 || is_record(question, answer))
        return false;
    value_append_copy(out, answer, free_name(question, out));
    return true;
}

bool is_question(struct value *item)
{
    struct value *out = value_from_text(NO_TEXT);
    return add_question(out, item, NO_TEXT, out) && out->count > 0;
}

struct value *questions_in(struct text name, struct value *list, struct value *beside)
{
    bool is_form = is_among(name, names_question_lists);
    bool is_object = value_is_object(list), is_group = is_object || list->kind == JSON_ARRAY;
    if (!is_group || list->count > MAX_QUESTIONS || is_usual_contact(name) ||
        (is_others(name) && !is_form))
        return NULL;
    struct value *out = value_from_text(NO_TEXT);
    out->kind = JSON_OBJECT;
    for (struct value *item = list->first; item != NULL; item = item->next)
        if (!value_is_absent(item) && !add_question(out, item, is_object ? item->name : NO_TEXT, beside))
            return NULL;
    value_order(out);
    for (struct value *pair = out->first; pair != NULL && !is_form; pair = pair->next)
        is_form = is_contact(text_folded(pair->name), pair);
    return is_form && out->count > 0 ? out : NULL;
}
