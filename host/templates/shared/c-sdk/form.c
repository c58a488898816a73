// Forms, with the bracket paths that form builders send.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

// Brackets deeper than this stay part of the last key.
enum { MAX_STEPS = 16 };

// The children of all objects, by their parent and name: a body may have many fields. A
// hash table that is at most half full.
struct form {
    struct value *root;
    struct slot {
        struct value *parent, *child;
        // The indexes below this one are not free for `a[]`.
        size_t appended;
    } *slots;
    size_t count, capacity;
    // As in a slot, for the form itself.
    size_t appended;
};

// Returns the child's slot, or the free one that is its place.
static struct slot *slot_for(struct form *form, struct value *parent, struct text name)
{
    uint32_t hash = (uint32_t)(uintptr_t)parent * 31;
    for (size_t at = 0; at < name.length; at++)
        hash = (hash ^ (unsigned char)name.at[at]) * 16777619u;
    for (hash ^= hash >> 15;; hash++) {
        struct slot *slot = &form->slots[hash & (form->capacity - 1)];
        if (slot->parent == NULL ||
            (slot->parent == parent && slot->child->name.length == name.length &&
             memcmp(slot->child->name.at, name.at, name.length) == 0))
            return slot;
    }
}

static void grow(struct form *form)
{
    struct form larger = {form->root, NULL, form->count, 2 * form->capacity, form->appended};
    larger.slots = new_memory(larger.capacity, sizeof *larger.slots);
    for (size_t at = 0; at < form->capacity; at++)
        if (form->slots[at].parent != NULL)
            *slot_for(&larger, form->slots[at].parent, form->slots[at].child->name) = form->slots[at];
    free(form->slots);
    *form = larger;
}

static int hex(char digit)
{
    const char *digits = "0123456789abcdef";
    const char *found = digit ? strchr(digits, digit >= 'A' && digit <= 'F' ? digit | 32 : digit) : NULL;
    return found ? (int)(found - digits) : -1;
}

// Returns the text without `+` and `%41`; a `%` without two digits stays.
static struct text decoded(struct text text)
{
    char *bytes = new_memory(text.length, 1);
    struct text out = {bytes, 0};
    for (size_t at = 0; at < text.length; at++) {
        char next = text.at[at] == '+' ? ' ' : text.at[at];
        if (next == '%' && at + 2 < text.length) {
            int high = hex(text.at[at + 1]), low = hex(text.at[at + 2]);
            if (high >= 0 && low >= 0) {
                next = (char)(high << 4 | low);
                at += 2;
            }
        }
        bytes[out.length++] = next;
    }
    return text_from_bytes(out);
}

// Splits `a[b][]` into `a`, `b` and an empty step. A name with unclosed brackets is one.
static size_t split(struct text name, struct text steps[MAX_STEPS + 1])
{
    const char *end = name.at + name.length;
    const char *open = memchr(name.at, '[', name.length);
    steps[0] = name;
    if (open == NULL || open == name.at)
        return 1;
    steps[0].length = (size_t)(open - name.at);
    size_t count = 1;
    while (open < end) {
        const char *close = memchr(open, ']', (size_t)(end - open));
        if (*open != '[' || close == NULL) {
            steps[0] = name;
            return 1;
        }
        if (count == MAX_STEPS) {
            steps[count++] = (struct text){open, (size_t)(end - open)};
            break;
        }
        steps[count++] = (struct text){open + 1, (size_t)(close - open - 1)};
        open = close + 1;
    }
    return count;
}

static struct text number_text(size_t number)
{
    char *digits = new_memory(20, 1);
    size_t at = 20;
    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    return (struct text){digits + at, 20 - at};
}

// Until `settle`, the texts of a name are children without a name.
void form_add(struct form *form, struct text name, struct text text)
{
    struct text steps[MAX_STEPS + 1];
    size_t count = split(name, steps);
    if (2 * (form->count + count) > form->capacity)
        grow(form);
    struct value *place = form->root;
    size_t *appended = &form->appended;
    for (size_t at = 0; at < count; at++) {
        struct text step = steps[at];
        // `a[]`: the first index that is free.
        while (step.length == 0) {
            struct text number = number_text((*appended)++);
            if (slot_for(form, place, number)->parent == NULL)
                step = number;
        }
        struct slot *slot = slot_for(form, place, step);
        if (slot->parent == NULL) {
            *slot = (struct slot){place, value_from_text((struct text){"", 0}), 0};
            slot->child->kind = JSON_OBJECT;
            slot->child->name = step;
            value_append(place, slot->child);
            form->count++;
        }
        place = slot->child;
        appended = &slot->appended;
    }
    value_append(place, value_from_text(text));
}

// Makes the children of an object the items of a list, if their names count from 0 without
// a gap.
static void make_list(struct form *form, struct value *object)
{
    size_t count = object->count;
    for (size_t at = 0; at < count; at++)
        if (slot_for(form, object, number_text(at))->parent == NULL)
            return;
    value_clear(object);
    object->kind = JSON_ARRAY;
    for (size_t at = 0; at < count; at++)
        value_append(object, slot_for(form, object, number_text(at))->child);
}

// Gives a name its value: a text, a list, or an object, in which texts of its own are under
// the empty name.
static void settle(struct form *form, struct value *value)
{
    struct value *own = value_from_text((struct text){"", 0}), *child = value->first;
    own->kind = JSON_ARRAY;
    value_clear(value);
    while (child != NULL) {
        struct value *next = child->next;
        if (child->kind == JSON_OBJECT)
            settle(form, child);
        value_append(child->name.length == 0 ? own : value, child);
        child = next;
    }
    if (own->count == 1)
        own = own->first;
    if (value->count == 0) {
        own->name = value->name;
        own->next = value->next;
        *value = *own;
    } else if (value_is_absent(own) && own->kind == JSON_ARRAY) {
        make_list(form, value);
    } else {
        own->name = (struct text){"", 0};
        value_append(value, own);
    }
    value_order(value);
}

struct form *form_new(void)
{
    struct form *form = new_memory(1, sizeof *form);
    *form = (struct form){value_from_text((struct text){"", 0}), new_memory(64, sizeof(struct slot)), 0, 64, 0};
    form->root->kind = JSON_OBJECT;
    return form;
}

struct value *form_tree(struct form *form)
{
    for (struct value *child = form->root->first; child != NULL; child = child->next)
        settle(form, child);
    value_order(form->root);
    return form->root;
}

struct value *form_parse(struct text text)
{
    struct form *form = form_new();
    while (text.length > 0) {
        const char *ampersand = memchr(text.at, '&', text.length);
        struct text pair = {text.at, ampersand ? (size_t)(ampersand - text.at) : text.length};
        size_t skipped = pair.length + (ampersand != NULL);
        text = (struct text){text.at + skipped, text.length - skipped};
        if (pair.length == 0)
            continue;
        const char *equals = memchr(pair.at, '=', pair.length);
        struct text name = {pair.at, equals ? (size_t)(equals - pair.at) : pair.length};
        struct text value = {"", 0};
        if (equals != NULL)
            value = (struct text){equals + 1, pair.length - name.length - 1};
        form_add(form, decoded(name), decoded(value));
    }
    return form_tree(form);
}
