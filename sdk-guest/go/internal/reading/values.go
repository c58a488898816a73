package reading

import (
	"slices"
	"strconv"
	"strings"
)

// Join returns the texts with a space between, absent ones left out. A first text whose last words are the
// second is whole by itself.
func Join(texts ...string) string {
	var parts []string
	for _, text := range texts {
		if text = strings.TrimSpace(text); text != "" {
			parts = append(parts, text)
		}
	}
	if len(parts) > 1 && strings.HasSuffix(" "+strings.ToLower(parts[0]), " "+strings.ToLower(parts[1])) {
		parts = append(parts[:1], parts[2:]...)
	}
	return strings.Join(parts, " ")
}

// Email returns the trimmed text if it has an `@`, else "".
func Email(text string) string {
	if !strings.Contains(text, "@") {
		return ""
	}
	return strings.TrimSpace(text)
}

// Yes reports whether a text says yes, in English, Portuguese or Spanish.
func Yes(text string) bool {
	switch letters(text) {
	case "true", "1", "yes", "y", "sim", "s", "si", "sí", "on", "aceito", "accepted", "granted":
		return true
	}
	return false
}

// Phone returns a phone as it is written, "" if it has fewer than four digits. The codes are those
// beside it, which it may lack: the area's code, then the country's, `55` or `BR`. The host knows
// whether a number has the code of its country: it gets the country as the context of RFC 3966.
func Phone(text string, codes ...string) string {
	phone := strings.TrimSpace(text)
	if whole := wholeNumber(phone); whole != "" {
		phone = whole
	}
	number := digits(phone)
	if len(number) < 4 {
		return ""
	}
	if strings.HasPrefix(phone, "+") || strings.HasPrefix(phone, "p:") {
		return phone
	}
	codes = append(slices.Clip(codes), "", "")
	if area := strings.TrimLeft(code(codes[0]), "0"); area != "" && len(number) < 10 {
		phone = "(" + area + ") " + phone
	}
	return withCountry(phone, number, strings.TrimSpace(codes[1]))
}

func withCountry(phone, number, country string) string {
	code := code(country)
	isISO := len(country) == 2 && strings.Trim(lowerASCII(country), "abcdefghijklmnopqrstuvwxyz") == ""
	switch {
	case isISO:
		return phone + ";phone-context=" + country
	case code == "" || len(code) > 3 || len(number) > 11:
		return phone
	case code == "1" && len(number) == 11 && number[0] == '1':
		return "+" + phone
	case strings.HasPrefix(number, code):
		return phone + ";phone-context=+" + code
	}
	return "+" + code + " " + phone
}

// code returns the one to four digits of a code, "" for a text that is none.
func code(text string) string {
	code := digits(text)
	if len(code) > 4 || strings.Trim(text, "0123456789+() ") != "" {
		return ""
	}
	return code
}

// plainNumber returns a number as people write it as Go writes it. A sign that groups three digits each is
// none of decimals.
func plainNumber(text string) string {
	unsigned := strings.TrimLeft(text, "+-")
	at := strings.IndexAny(unsigned, ".,")
	if at < 1 || unsigned[0] == '0' {
		return strings.ReplaceAll(text, ",", ".")
	}
	group, decimal := unsigned[at:at+1], "."
	if group == "." {
		decimal = ","
	}
	whole, decimals, _ := strings.Cut(unsigned, decimal)
	groups := strings.Split(whole, group)
	isGrouped := len(groups) > 1 && at <= 3 && digits(decimals) == decimals
	for index, one := range groups {
		isGrouped = isGrouped && digits(one) == one && (index == 0 || len(one) == 3)
	}
	if !isGrouped {
		return strings.ReplaceAll(text, ",", ".")
	}
	return text[:len(text)-len(unsigned)] + strings.Join(groups, "") + "." + decimals
}

func digits(text string) string {
	return strings.Map(func(character rune) rune {
		if character < '0' || character > '9' {
			return -1
		}
		return character
	}, text)
}

// wholeNumber returns the digits of a whole number that has a fraction or an exponent, as programs
// write large numbers: of 1.1987654321e+10; "" for any other text.
func wholeNumber(text string) string {
	number, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	before, after, _ := strings.Cut(number, ".")
	// Between groups of digits, a point is a sign of the phone.
	isOne := number != strings.ToLower(text) || after == "0"
	if !isOne || digits(before+after) != before+after {
		return ""
	}
	shift, err := strconv.Atoi("0" + strings.TrimPrefix(exponent, "+"))
	point := len(before) + shift
	if err != nil || point > 20 {
		return ""
	}
	whole := before + after
	whole += strings.Repeat("0", max(0, point-len(whole)))
	if strings.Trim(whole[point:], "0") != "" {
		return ""
	}
	return strings.TrimLeft(whole[:point], "0")
}
