#include <stdio.h>
#include <stdlib.h>

#include "lead.h"

static void *new_list(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL && count > 0)
        abort();
    return memory;
}

static text copy(text value)
{
    text out = {0};
    if (value.len > 0)
        lead_converter_string_dup_n(&out, (const char *)value.ptr, value.len);
    return out;
}

text text_from(const char *string)
{
    text out;
    lead_converter_string_dup(&out, string);
    return out;
}

optional_text text_at(text form, const char *path)
{
    text value = json_text(json_at(form, path));
    return (optional_text){value.len > 0, copy(value)};
}

static size_t length(const char *const *paths)
{
    size_t count = 0;
    while (paths[count] != NULL)
        count++;
    return count;
}

texts texts_at(text form, const char *const *paths)
{
    texts list = {new_list(length(paths), sizeof *list.ptr), 0};
    for (; *paths != NULL; paths++) {
        optional_text value = text_at(form, *paths);
        if (value.is_some)
            list.ptr[list.len++] = value.val;
    }
    return list;
}

pairs attributes_at(text form, const char *const *paths)
{
    pairs list = {new_list(length(paths), sizeof *list.ptr), 0};
    for (; *paths != NULL; paths++) {
        text value = json_at(form, *paths);
        if (value.len > 0) {
            list.ptr[list.len].f0 = text_from(*paths);
            list.ptr[list.len++].f1 = copy(value);
        }
    }
    return list;
}

items items_from(text body, item (*read)(text form, text path))
{
    if (!json_is_list(body)) {
        items one = {new_list(1, sizeof(item)), 1};
        one.ptr[0] = read(body, (text){0});
        return one;
    }
    size_t count = 0;
    for (text rest = body, form; json_next(&rest, &form);)
        count++;
    items items = {new_list(count, sizeof(item)), 0};
    for (text form; json_next(&body, &form);) {
        char path[24];
        snprintf(path, sizeof path, "%zu", items.len);
        items.ptr[items.len++] = read(form, text_from(path));
    }
    return items;
}

item lead_item(lead lead)
{
    item out = {.outcome.tag = EXPORTS_LEADHOST_CONVERTER_CONVERTER_OUTCOME_LEAD};
    out.outcome.val.lead = lead;
    return out;
}

item invalid_item(const char *message, text path)
{
    item out = {.outcome.tag = EXPORTS_LEADHOST_CONVERTER_CONVERTER_OUTCOME_INVALID};
    out.outcome.val.invalid = (problem){text_from(message), path};
    return out;
}
