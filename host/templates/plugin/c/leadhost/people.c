// Other people in a lead's body: objects with a phone or an e-mail address of their own. As an
// attribute of the lead, an erasure of theirs would not find them.

#include <stdlib.h>
#include <string.h>

#include "looks.h"
#include "names.h"

// The depth of objects in a person that hold a part of it, and the length of a path that is noted.
enum { MAX_PERSON_DEPTH = 8, MAX_PATH = 200 };

// What there is of phones and e-mail addresses in an object.
struct contacts {
    bool has_phone, has_email;
    // Whether one is not the lead's.
    bool has_other;
};

static struct text folded(struct value *member)
{
    if (member->folded.at == NULL)
        member->folded = text_folded(member->name);
    return member->folded;
}

static bool asks_for_phone(struct text name)
{
    return is_among(name, names_phones) || is_phone_name(name);
}

static bool asks_for_email(struct text name)
{
    return is_among(name, names_emails) || is_email_name(name);
}

bool is_same_phone(struct text a, struct text b)
{
    struct text x = digits(a), y = digits(b);
    bool is_long = x.length >= 8 && y.length >= 8;
    return equal(a, b) || (is_long && (ends_with(x, y) || ends_with(y, x)));
}

static bool is_same_email(struct text a, struct text b)
{
    bool is_same = a.length == b.length;
    for (size_t at = 0; is_same && at < a.length; at++) {
        char x = a.at[at], y = b.at[at];
        bool is_letter = (x | 32) >= 'a' && (x | 32) <= 'z';
        is_same = x == y || (is_letter && (x | 32) == (y | 32));
    }
    return is_same;
}

static bool is_own(const struct texts *own, struct text text, bool (*is_same)(struct text, struct text))
{
    for (size_t at = 0; at < own->count; at++)
        if (is_same(own->items[at], text))
            return true;
    return false;
}

static void add_contact(struct contacts *out, const struct rest *rest, struct text name, struct text text)
{
    if (asks_for_phone(name) && looks_like_phone(text)) {
        out->has_phone = true;
        out->has_other = out->has_other || !is_own(&rest->phones, text, is_same_phone);
    } else if (asks_for_email(name) && looks_like_email(text)) {
        out->has_email = true;
        out->has_other = out->has_other || !is_own(&rest->emails, text, is_same_email);
    }
}

// Adds the contacts of an object, and of those in it that hold a part of a person.
static void add_contacts(struct contacts *out, const struct rest *rest, struct value *object, int depth)
{
    for (struct value *field = object->first; field != NULL; field = field->next) {
        struct text name = folded(field);
        bool is_contact = asks_for_phone(name) || asks_for_email(name);
        if (!is_contact && !is_among(name, names_containers))
            continue;
        bool is_list = is_contact && field->kind == JSON_ARRAY;
        for (struct value *node = is_list ? field->first : field; node != NULL;
             node = is_list ? node->next : NULL) {
            add_contact(out, rest, name, value_scalar(node));
            if (node->kind != JSON_OBJECT)
                continue;
            for (struct value *part = node->first; part != NULL; part = part->next)
                if (is_among(folded(part), names_phone_nodes) || text_is(folded(part), "address"))
                    add_contact(out, rest, name, value_scalar(part));
            if (depth < MAX_PERSON_DEPTH)
                add_contacts(out, rest, node, depth + 1);
        }
    }
}

static bool has_read(const struct value *value)
{
    bool found = value->read;
    for (const struct value *child = value->first; child != NULL && !found; child = child->next)
        found = has_read(child);
    return found;
}

static bool is_other_person(const struct rest *rest, struct text name, struct value *object)
{
    struct contacts found = {0};
    add_contacts(&found, rest, object, 0);
    bool is_person = found.has_phone || found.has_email;
    // The phones of one person are objects with a phone as well.
    if (asks_for_phone(name) || asks_for_email(name))
        is_person = found.has_phone && found.has_email;
    return is_person && found.has_other && !is_question(object) && !has_read(object);
}

// Notes the place of a person.
static struct value *leave_out(struct rest *rest, struct text path)
{
    for (size_t at = 0; at < rest->count; at++)
        if (equal(rest->left_out[at], path))
            return NULL;
    if (rest->count < MAX_REPORTED)
        rest->left_out[rest->count++] = path;
    return NULL;
}

// Returns the path of a member; a hostile one is cut.
static struct text below(struct text path, struct text name)
{
    if (path.length + name.length >= MAX_PATH)
        return path;
    struct writer out = {0};
    write_text(&out, path);
    if (path.length > 0 && name.length > 0)
        write_string(&out, ".");
    write_text(&out, name);
    return written(&out);
}

// Returns a text, NULL if it is JSON with other people in it.
static struct value *rest_of_text(struct rest *rest, struct value *value, struct spot spot)
{
    struct text text = value_scalar(value);
    bool may_be_json = text.length > 0 && (text.at[0] == '{' || text.at[0] == '[');
    struct value *inside = may_be_json ? json_parse(text) : NULL;
    if (inside == NULL)
        return value;
    size_t told = rest->count;
    spot.is_item = false;
    if (rest_of(rest, inside, spot) == inside)
        return value;
    rest->count = told;
    return leave_out(rest, spot.path);
}

struct value *rest_of(struct rest *rest, struct value *value, struct spot spot)
{
    if (value->read)
        return NULL;
    if (value->kind == JSON_STRING)
        return rest_of_text(rest, value, spot);
    // Only in a text is anything as deep. It is not read, so there may be people in it.
    if (spot.depth++ > MAX_DEPTH && value->kind >= JSON_ARRAY)
        return leave_out(rest, spot.path);
    bool is_object = value->kind == JSON_OBJECT;
    spot.in_business = is_object ? is_business(spot.name, spot.in_business) : spot.in_business;
    bool may_be_person = is_object && (spot.is_item || !spot.in_business);
    if (may_be_person && is_other_person(rest, spot.name, value))
        return leave_out(rest, spot.path);
    struct value **rests = new_memory(value->count, sizeof *rests);
    size_t count = 0;
    bool is_whole = true;
    spot.is_item = !is_object;
    struct text path = spot.path;
    for (struct value *child = value->first; child != NULL; child = child->next) {
        if (is_object) {
            spot.name = folded(child);
            spot.path = below(path, child->name);
        }
        rests[count] = rest_of(rest, child, spot);
        is_whole = rests[count++] == child && is_whole;
    }
    struct value *left = value;
    if (!is_whole) {
        left = value_from_text((struct text){"", 0});
        left->kind = value->kind;
        left->name = value->name;
        for (size_t at = 0; at < count; at++)
            if (!value_is_absent(rests[at]))
                value_append_copy(left, rests[at], rests[at]->name);
    }
    free(rests);
    return left;
}

struct value *rest_of_member(struct rest *rest, struct value *member)
{
    struct text path = below((struct text){"", 0}, member->name);
    return rest_of(rest, member, (struct spot){.name = folded(member), .path = path, .depth = 1});
}

static int compare_texts(const void *a, const void *b)
{
    const struct text *x = a, *y = b;
    int order = memcmp(x->at, y->at, x->length < y->length ? x->length : y->length);
    return order ? order : (x->length > y->length) - (x->length < y->length);
}

void note_left_out(struct rest *rest)
{
    qsort(rest->left_out, rest->count, sizeof *rest->left_out, compare_texts);
    for (size_t at = 0; at < rest->count; at++) {
        struct writer line = {0};
        write_string(&line, "the people under `");
        write_text(&line, rest->left_out[at]);
        write_string(&line, "` are not kept with the lead; the raw delivery has them");
        note_once(written(&line));
    }
}
