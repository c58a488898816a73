package reading

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Time returns a time as the contract has it, "" for a text that is none: of an epoch, ISO
// 8601, or a date with the day before the month. The result is RFC 3339, or local time if
// the text names no zone: the host knows the connection's.
func Time(text string) string {
	text = strings.TrimSpace(text)
	if whole, fraction, _ := strings.Cut(text, "."); digits(whole+fraction) == whole+fraction {
		return epoch(whole)
	}
	first, rest := number(text, 4)
	if first == "" || rest == "" {
		return ""
	}
	sign := rest[:1]
	second, rest := number(rest[1:], 2)
	rest, isDate := strings.CutPrefix(rest, sign)
	third, rest := number(rest, 4)
	day, month, year := first, second, third
	if len(first) == 4 && sign != "." {
		day, year = third, first
	}
	isDate = isDate && strings.Contains("-/.", sign) && len(year) == 4 && len(day) < 3
	// The month comes first where the second number can only be a day.
	if m := value(month); m > 12 && year == third {
		day, month = month, day
	}
	d, m, y := value(day), value(month), value(year)
	if !isDate || d < 1 || m < 1 || m > 12 || y < 1 || d > days(y, m) {
		return ""
	}
	clock := clock(rest)
	if clock == "" {
		return ""
	}
	return fmt.Sprintf("%04d-%02d-%02dT%s", y, m, d, clock)
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

// clock reads the time of day and the zone after a date. Without them it is midnight.
func clock(text string) string {
	if strings.TrimSpace(text) == "" {
		return "00:00:00"
	}
	rest := strings.TrimLeft(text, " ,")
	rest = strings.TrimPrefix(rest, "às ")
	isApart := len(rest) < len(text)
	if !isApart {
		isApart = strings.ContainsAny(text[:1], "Tt")
		rest = text[1:]
	}
	hour, rest := number(rest, 2)
	rest, isClock := strings.CutPrefix(rest, ":")
	minute, rest := number(rest, 2)
	second, fraction := "0", ""
	if after, ok := strings.CutPrefix(rest, ":"); ok {
		second, rest = number(after, 2)
		if after, ok := strings.CutPrefix(rest, "."); ok {
			fraction, rest = number(after, len(after))
			if fraction == "" {
				return ""
			}
			fraction = "." + fraction[:min(len(fraction), 9)]
		}
	}
	zone, isZone := zone(strings.TrimSpace(rest))
	isClock = isClock && isApart && isZone && hour != "" && minute != "" && second != ""
	h, m, s := value(hour), value(minute), value(second)
	if !isClock || h > 23 || m > 59 || s > 60 {
		return ""
	}
	return fmt.Sprintf("%02d:%02d:%02d%s%s", h, m, min(s, 59), fraction, zone)
}

// zone reads `Z`, `UTC`, `+00:00`, `-0300`, `-03`, or nothing.
func zone(text string) (string, bool) {
	switch text {
	case "":
		return "", true
	case "Z", "z", "UTC", "GMT":
		return "Z", true
	}
	if text[0] != '+' && text[0] != '-' {
		return "", false
	}
	hours, rest := number(text[1:], 2)
	minutes := strings.TrimPrefix(rest, ":")
	if rest == "" {
		minutes = "00"
	}
	isZone := len(hours) == 2 && len(minutes) == 2 && digits(minutes) == minutes && hours < "15" && minutes < "60"
	return text[:1] + hours + ":" + minutes, isZone
}

// number returns the first digits, at most so many, and what follows them.
func number(text string, most int) (string, string) {
	length := 0
	for length < len(text) && length < most && text[length] >= '0' && text[length] <= '9' {
		length++
	}
	return text[:length], text[length:]
}

func value(digits string) int {
	number, _ := strconv.Atoi(digits)
	return number
}

func days(year, month int) int {
	return time.Date(year, time.Month(month+1), 0, 0, 0, 0, 0, time.UTC).Day()
}
