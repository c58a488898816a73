// Recognises the names of fields, and the shapes of their values.

#include <string.h>

#include "looks.h"
#include "names.h"

bool equal(struct text a, struct text b)
{
    return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

bool ends_with(struct text text, struct text end)
{
    return end.length <= text.length &&
           memcmp(text.at + text.length - end.length, end.at, end.length) == 0;
}

bool starts_with(struct text text, struct text start)
{
    return start.length <= text.length && memcmp(text.at, start.at, start.length) == 0;
}

bool contains(struct text text, const char *part)
{
    for (; text.length > 0; text = (struct text){text.at + 1, text.length - 1})
        if (starts_with(text, text_from(part)))
            return true;
    return false;
}

static bool contains_any(struct text text, const char *const *parts)
{
    for (; *parts != NULL; parts++)
        if (contains(text, *parts))
            return true;
    return false;
}

bool is_among(struct text text, const char *const *names)
{
    for (; *names != NULL; names++)
        if (text_is(text, *names))
            return true;
    return false;
}

static bool is_digit(char character)
{
    return character >= '0' && character <= '9';
}

struct text digits(struct text text)
{
    char *out = new_memory(text.length, 1);
    size_t length = 0;
    for (size_t at = 0; at < text.length; at++)
        if (is_digit(text.at[at]))
            out[length++] = text.at[at];
    return (struct text){out, length};
}

size_t letters(struct text text)
{
    size_t count = 0;
    for (size_t at = 0; at < text.length; at++) {
        unsigned char next = (unsigned char)text.at[at];
        count += ((next | 32) >= 'a' && (next | 32) <= 'z') || next >= 0xC3;
    }
    return count;
}

bool looks_like_email(struct text text)
{
    const char *at = text.length <= 254 ? memchr(text.at, '@', text.length) : NULL;
    if (at == NULL || at == text.at)
        return false;
    struct text domain = {at + 1, text.length - (size_t)(at + 1 - text.at)};
    for (size_t index = 0; index < text.length; index++)
        if ((unsigned char)text.at[index] <= ' ')
            return false;
    return contains(domain, ".") && !contains(domain, "@");
}

bool is_json(struct text text)
{
    if (text.length == 0)
        return false;
    char first = text.at[0], last = text.at[text.length - 1];
    return (first == '{' || first == '[') && (last == '}' || last == ']');
}

bool may_be_name(struct text text)
{
    return letters(text) > 0 && !looks_like_email(text);
}

bool is_phone_number(struct text text)
{
    return digits(text).length > 3;
}

bool looks_like_phone(struct text text)
{
    size_t count = digits(text).length;
    bool is_date = text.length >= 10 && ((text.at[4] == '-' && text.at[7] == '-') ||
                                         (text.at[2] == '/' && text.at[5] == '/'));
    return count >= 8 && count <= 20 && letters(text) <= 5 && !is_date && !contains(text, "//");
}

bool is_others(struct text name)
{
    return contains_any(name, names_others) || contains(name, "clientemail") ||
           (contains(name, "client") && !contains(name, "cliente"));
}

bool is_business(struct text name, bool in_business)
{
    return (is_others(name) && !contains_any(name, names_private)) ||
           is_among(name, names_listing_objects) || is_among(name, names_things) ||
           (in_business && is_among(name, names_contact_objects));
}

bool is_phone_name(struct text name)
{
    return contains_any(name, names_phone_parts) && !ends_with(name, text_from("id")) &&
           !is_others(name);
}

bool is_email_name(struct text name)
{
    return (contains(name, "email") || contains(name, "correo")) && !is_others(name);
}

bool is_name_question(struct text name)
{
    return contains_any(name, names_name_parts) && !is_others(name);
}

bool is_full_phone(struct text text)
{
    size_t count = digits(text).length;
    for (size_t at = 0; at < text.length; at++)
        if (!is_digit(text.at[at]) && memchr("+()-. ", text.at[at], 6) == NULL)
            return false;
    return count >= 10 && count <= 15 && text.at[0] == '+';
}

struct text text_folded(struct text name)
{
    // The letters U+00E0 to U+00FF without their accents; `?` stays as it is.
    static const char plain[] = "aaaaa??ceeeeiiii?nooooo??uuuu?""?y";
    if (name.length > 2 && name.at[0] == 'q' && is_digit(name.at[1])) {
        size_t at = 1;
        while (at < name.length && is_digit(name.at[at]))
            at++;
        if (at + 1 < name.length && name.at[at] == '_')
            name = (struct text){name.at + at + 1, name.length - at - 1};
    }
    char *out = new_memory(name.length, 1);
    size_t length = 0;
    for (size_t at = 0; at < name.length; at++) {
        unsigned char next = (unsigned char)name.at[at];
        if (next >= 'A' && next <= 'Z')
            out[length++] = (char)(next | 32);
        else if ((next >= 'a' && next <= 'z') || is_digit((char)next))
            out[length++] = (char)next;
        else if (next == 0xC3 && at + 1 < name.length) {
            unsigned char second = (unsigned char)name.at[++at] | 0x20;
            char letter = plain[second & 0x1F];
            if (letter != '?') {
                out[length++] = letter;
            } else if (second != 0xB7) { // Neither of the signs of U+00D7 and U+00F7.
                out[length++] = (char)next;
                out[length++] = (char)second;
            }
        } else if (next == 0xC2 || next == 0xCC || next == 0xCD || next == 0xE2 || next == 0xF0) {
            // Signs, accents on their own, and pictures.
            while (at + 1 < name.length && (name.at[at + 1] & 0xC0) == 0x80)
                at++;
        } else if (next >= 0x80) {
            out[length++] = (char)next;
        }
    }
    return (struct text){out, length};
}
