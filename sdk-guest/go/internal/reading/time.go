package reading

import (
	"strconv"
	"strings"
	"time"
)

// Time returns a time as the contract has it, "" for a text that is none: of an epoch, ISO 8601, or a
// date with the day before the month. The result is RFC 3339, or local time if the text names no zone:
// the host knows the connection's.
func Time(text string) string {
	text = strings.TrimSpace(text)
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
