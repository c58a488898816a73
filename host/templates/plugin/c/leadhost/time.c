// Times as sources write them, without a configured format: epochs, ISO 8601, and day before
// month.

#include <stdio.h>
#include <string.h>

#include "leadhost.h"

// A part of a text that is still to be read.
static bool skip(struct text *rest, const char *start)
{
    size_t length = strlen(start);
    if (rest->length < length || memcmp(rest->at, start, length) != 0)
        return false;
    *rest = (struct text){rest->at + length, rest->length - length};
    return true;
}

// Reads the first digits, at most `most`. Returns how many there are.
static size_t number(struct text *rest, size_t most, long long *out)
{
    size_t length = 0;
    for (*out = 0; length < most && length < rest->length; length++) {
        char next = rest->at[length];
        if (next < '0' || next > '9')
            break;
        *out = *out * 10 + (next - '0');
    }
    *rest = (struct text){rest->at + length, rest->length - length};
    return length;
}

static long long days_in(long long year, long long month)
{
    if (month == 2)
        return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28;
    return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

static struct text copied(const char *text)
{
    struct writer out = {0};
    write_string(&out, text);
    return written(&out);
}

// Reads seconds, milliseconds or microseconds: nine digits or more are after 1973.
static bool read_epoch(struct text rest, struct text *out)
{
    long long count, ignored;
    size_t length = number(&rest, 16, &count);
    bool is_number = rest.length == 0;
    if (skip(&rest, ".")) {
        while (number(&rest, 9, &ignored) > 0)
            continue;
        is_number = rest.length == 0;
    }
    if (!is_number || length < 9 || length == 15)
        return false;
    if (length == 16)
        count /= 1000;
    else if (count <= 100000000000)
        count *= 1000;
    long long seconds = count / 1000, millis = count % 1000;
    // The days since 1970, in years that begin in March.
    long long day = seconds / 86400 + 719468, second = seconds % 86400;
    long long era = day / 146097, of_era = day % 146097;
    long long year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    long long of_year = of_era - (365 * year + year / 4 - year / 100);
    long long shifted = (5 * of_year + 2) / 153;
    long long month = shifted < 10 ? shifted + 3 : shifted - 9;
    char text[64], fraction[8] = "";
    if (millis > 0)
        snprintf(fraction, sizeof fraction, ".%03d", (int)millis);
    snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d%sZ",
             (int)(year + era * 400 + (month <= 2)), (int)month,
             (int)(of_year - (153 * shifted + 2) / 5 + 1), (int)(second / 3600),
             (int)(second / 60 % 60), (int)(second % 60), fraction);
    *out = copied(text);
    return true;
}

// Reads `Z`, `UTC`, `+00:00`, `-0300`, `-03`, or nothing.
static bool read_zone(struct text rest, char *out, size_t size)
{
    rest = text_trimmed(rest);
    bool is_utc = text_is(rest, "Z") || text_is(rest, "z") || text_is(rest, "UTC") || text_is(rest, "GMT");
    snprintf(out, size, "%s", is_utc ? "Z" : "");
    if (is_utc || rest.length == 0)
        return true;
    const char *sign = skip(&rest, "+") ? "+" : "-";
    if (sign[0] == '-' && !skip(&rest, "-"))
        return false;
    long long hours, minutes = 0;
    if (number(&rest, 2, &hours) != 2)
        return false;
    bool has_minutes = rest.length > 0;
    skip(&rest, ":");
    if (has_minutes && number(&rest, 2, &minutes) != 2)
        return false;
    snprintf(out, size, "%s%02d:%02d", sign, (int)hours, (int)minutes);
    return rest.length == 0 && hours < 15 && minutes < 60;
}

// Reads the time of day and the zone after a date. Without them it is midnight.
static bool read_clock(struct text rest, char *out, size_t size)
{
    if (text_trimmed(rest).length == 0) {
        snprintf(out, size, "00:00:00");
        return true;
    }
    size_t length = rest.length;
    while (skip(&rest, " ") || skip(&rest, ","))
        continue;
    skip(&rest, "\xC3\xA0s "); // `às`
    if (rest.length == length && !skip(&rest, "T") && !skip(&rest, "t"))
        return false;
    long long hour, minute, second = 0;
    if (number(&rest, 2, &hour) == 0 || !skip(&rest, ":") || number(&rest, 2, &minute) == 0)
        return false;
    char fraction[11] = "", zone[8];
    if (skip(&rest, ":")) {
        if (number(&rest, 2, &second) == 0)
            return false;
        struct text start = rest;
        if (skip(&rest, ".")) {
            long long ignored;
            while (number(&rest, 9, &ignored) > 0)
                continue;
            length = start.length - rest.length;
            if (length == 1)
                return false;
            snprintf(fraction, sizeof fraction, "%.*s", (int)length, start.at);
        }
    }
    if (hour > 23 || minute > 59 || second > 60 || !read_zone(rest, zone, sizeof zone))
        return false;
    snprintf(out, size, "%02d:%02d:%02d%s%s", (int)hour, (int)minute,
             (int)(second < 59 ? second : 59), fraction, zone);
    return true;
}

struct text time_from(struct text given)
{
    struct text rest = text_trimmed(given), out = {"", 0};
    if (read_epoch(rest, &out))
        return out;
    long long first, month, third;
    size_t first_length = number(&rest, 4, &first);
    char sign[2] = {rest.length > 0 ? rest.at[0] : 0, 0};
    if (first_length == 0 || sign[0] == 0 || strchr("-/.", sign[0]) == NULL || !skip(&rest, sign) ||
        number(&rest, 2, &month) == 0 || !skip(&rest, sign))
        return out;
    size_t third_length = number(&rest, 4, &third);
    bool is_year_first = first_length == 4 && sign[0] != '.';
    if ((is_year_first ? third_length : first_length) > 2 || third_length == 0 ||
        (!is_year_first && third_length != 4))
        return out;
    long long year = is_year_first ? first : third, day = is_year_first ? third : first;
    // The month comes first where the second number can only be a day.
    if (month > 12 && !is_year_first) {
        long long swapped = month;
        month = day;
        day = swapped;
    }
    char clock[32], text[64];
    if (year < 1 || month < 1 || month > 12 || day < 1 || day > days_in(year, month) ||
        !read_clock(rest, clock, sizeof clock))
        return out;
    snprintf(text, sizeof text, "%04d-%02d-%02dT%s", (int)year, (int)month, (int)day, clock);
    return copied(text);
}
