package reading

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Time returns a time as the contract has it, "" for a text that is none: of an epoch, ISO 8601, a date with
// the day before the month, or as browsers, mail programs and .NET write it. The result is RFC 3339, or local
// time if the text names no zone: the host knows the connection's.
func Time(text string) string {
	text, zone := inZone(strings.TrimSpace(text))
	read := readTime(text)
	if read == "" {
		read = readTime(rearranged(text))
	}
	if read == "" || zone == "" || strings.ContainsAny(read[len("2006-01-02"):], "Z+-") {
		return read
	}
	return read + "[" + zone + "]"
}

// inZone returns a time and the zone that RFC 9557 names after it: the host knows its offset.
func inZone(text string) (string, string) {
	begin := strings.LastIndexByte(text, '[')
	if begin < 0 || !strings.HasSuffix(text, "]") {
		return text, ""
	}
	zone := text[begin+1 : len(text)-1]
	isOther := func(c rune) bool {
		return !strings.ContainsRune("/_+-", c) && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	}
	if len(zone) > 64 || strings.ContainsFunc(zone, isOther) {
		return text, ""
	}
	return text[:begin], zone
}

// extended returns the extended form of `20260302T091530Z`, "" of another text.
func extended(text string) string {
	date, clock, _ := strings.Cut(strings.Replace(text, "t", "T", 1), "T")
	time := clock[:len(clock)-len(strings.TrimLeft(clock, "0123456789"))]
	if len(date) != 8 || digits(date) != date || len(time) != 4 && len(time) != 6 {
		return ""
	}
	zone := clock[len(time):]
	seconds := (time + "00")[4:6]
	return date[:4] + "-" + date[4:6] + "-" + date[6:] + "T" + time[:2] + ":" + time[2:4] + ":" + seconds + zone
}

// rearranged returns an epoch or ISO 8601 of `Mon Mar 02 2026 09:15:30 GMT-0300 (...)`, `Mar 2, 2026, 9:15 AM`,
// RFC 2822, RFC 850, Java's `Mon Mar 02 09:15:30 BRT 2026`, `20260302T091530Z` and `/Date(1772453730000-0300)/`,
// "" of another text.
func rearranged(text string) string {
	if epoch, isDate := strings.CutPrefix(text, "/Date("); isDate {
		epoch, isWhole := strings.CutSuffix(epoch, ")/")
		if end := strings.LastIndexAny(epoch, "+-"); end > 0 {
			epoch = epoch[:end]
		}
		if !isWhole {
			return ""
		}
		return epoch
	}
	if extended := extended(text); extended != "" {
		return extended
	}
	text, _, _ = strings.Cut(strings.ReplaceAll(text[:min(len(text), 120)], ",", " "), "(")
	words := strings.Fields(text)
	if len(words) > 0 && place("montuewedthufrisatsun", words[0]) >= 0 {
		words = words[1:]
	}
	half := ""
	words = slices.DeleteFunc(words, func(word string) bool {
		isHalf := strings.EqualFold(word, "am") || strings.EqualFold(word, "pm")
		if isHalf {
			half = strings.ToLower(word)
		}
		return isHalf
	})
	// RFC 850 joins the date.
	if len(words) > 0 && strings.Count(words[0], "-") == 2 {
		words = slices.Replace(words, 0, 1, strings.Split(words[0], "-")...)
	}
	given := len(words)
	// C and Java have the year at the end.
	if last := len(words) - 1; last > 2 && strings.Contains(words[2], ":") {
		words = slices.Insert(words[:last:last], 2, words[last])
	}
	switch len(words) {
	case 3:
		words = append(words, "00:00:00", "")
	case 4:
		words = append(words, "")
	case 5:
	default:
		return ""
	}
	day, name, year := words[0], words[1], words[2]
	isDayFirst := digits(day) == day
	if !isDayFirst {
		day, name = name, day
	}
	// By RFC 2822.
	if len(year) == 2 && isDayFirst && given > 3 {
		if year < "50" {
			year = "20" + year
		} else {
			year = "19" + year
		}
	}
	month := place("janfebmaraprmayjunjulaugsepoctnovdec", name)
	if month < 0 || digits(day) != day || len(year) != 4 || digits(year) != year {
		return ""
	}
	return year + "-" + strconv.Itoa(month+1) + "-" + day + "T" + ofDay(words[3], half) + offset(words[4])
}

// ofDay returns the time of day of a clock with twelve hours.
func ofDay(clock, half string) string {
	if half == "" {
		return clock
	}
	first, rest, _ := strings.Cut(clock, ":")
	hour, err := strconv.Atoi(first)
	if err != nil || hour < 1 || hour > 12 {
		return half
	}
	hour %= 12
	if half == "pm" {
		hour += 12
	}
	return strconv.Itoa(hour) + ":" + rest
}

// place returns the place of a word's first three letters in a list of such, or -1.
func place(list, word string) int {
	at := strings.Index(list, strings.ToLower(word[:min(len(word), 3)]))
	if len(word) < 3 || at%3 != 0 {
		return -1
	}
	return at / 3
}

// zones have a name to themselves.
var zones = map[string]string{"BRT": "-03:00", "BRST": "-02:00", "ART": "-03:00", "WET": "+00:00", "WEST": "+01:00",
	"CET": "+01:00", "CEST": "+02:00"}

// offset reads `GMT-0300`, and the names that RFC 822 has for the zones of North America.
func offset(zone string) string {
	if at := place("estedtcstcdtmstmdtpstpdt", zone); at >= 0 && len(zone) == 3 {
		return "-0" + strconv.Itoa(5+at/2-at%2) + ":00"
	}
	if offset, isKnown := zones[zone]; isKnown {
		return offset
	}
	for _, name := range []string{"GMT", "UTC", "UT"} {
		if rest, found := strings.CutPrefix(zone, name); found && rest != "" {
			return rest
		} else if found {
			return "Z"
		}
	}
	return zone
}

func readTime(text string) string {
	if whole, fraction, _ := strings.Cut(text, "."); digits(whole+fraction) == whole+fraction {
		return epoch(whole)
	}
	end := strings.IndexAny(text+" ", "Tt ,")
	// The month comes first where the second number can only be a day.
	date, isDate := parseTime(text[:end], "2006-1-2", "2006/1/2", "2/1/2006", "2-1-2006", "2.1.2006", "1/2/2006",
		"1-2-2006", "1.2.2006")
	clock, isClock := clock(strings.TrimPrefix(strings.TrimLeft(text[end:], "Tt ,"), "às "))
	if !isDate || !isClock || date.Year() == 0 {
		return ""
	}
	return date.Format("2006-01-02T") + clock
}

// clock returns a time of day with its zone, midnight for "".
func clock(text string) (string, bool) {
	if text == "" {
		return "00:00:00", true
	}
	end := strings.IndexAny(text+" ", "Zz+-UG ")
	seconds, fraction, hasFraction := strings.Cut(text[:end], ".")
	// A leap second is one that Go does not know.
	if minutes, isLeap := strings.CutSuffix(seconds, ":60"); isLeap && strings.Contains(minutes, ":") {
		seconds = minutes + ":59"
	}
	clock, isClock := parseTime(seconds, "15:4:5", "15:4")
	zone, isZone := zone(strings.TrimSpace(text[end:]))
	if !isClock || !isZone || digits(fraction) != fraction || hasFraction && fraction == "" {
		return "", false
	}
	if hasFraction {
		fraction = "." + fraction[:min(len(fraction), 9)]
	}
	return clock.Format("15:04:05") + fraction + zone, true
}

// zone reads `Z`, `UTC`, `+00:00`, `-0300`, `-03`, or nothing.
func zone(text string) (string, bool) {
	switch text {
	case "":
		return "", true
	case "Z", "z", "UTC", "GMT":
		return "Z", true
	}
	offset, isOffset := parseTime(text, "-07:00", "-0700", "-07")
	return offset.Format("-07:00"), isOffset && text[1:3] < "15"
}

// epoch reads seconds, milliseconds or microseconds: nine digits or more are after 1973.
func epoch(text string) string {
	count, err := strconv.ParseInt(text, 10, 64)
	if err != nil || len(text) < 9 || len(text) == 15 || len(text) > 16 {
		return ""
	}
	if len(text) == 16 {
		count /= 1000
	} else if count <= 1e11 {
		count *= 1000
	}
	out := time.UnixMilli(count).UTC().Format("2006-01-02T15:04:05.000Z")
	return strings.Replace(out, ".000Z", "Z", 1)
}

// parseTime parses a text by the first of the layouts that it has.
func parseTime(text string, layouts ...string) (time.Time, bool) {
	for _, layout := range layouts {
		if parsed, err := time.Parse(layout, text); err == nil {
			return parsed, true
		}
	}
	return time.Time{}, false
}
