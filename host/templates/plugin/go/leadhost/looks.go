package leadhost

import (
	"slices"
	"strings"
	"unicode"
)

// Fold returns a name's letters and digits in lower case, without accents and without the
// number that form builders put in front (`q3_`): `Full Name`, `full_name` and
// `q3_fullName` are one name.
func Fold(name string) string {
	if rest, ok := strings.CutPrefix(name, "q"); ok {
		after := strings.TrimLeft(rest, "0123456789")
		if len(after) < len(rest) && len(after) > 1 && after[0] == '_' {
			name = after[1:]
		}
	}
	return strings.Map(func(character rune) rune {
		character = unicode.ToLower(character)
		if plain, ok := plainLetters[character]; ok {
			return plain
		}
		if unicode.IsLetter(character) || unicode.IsDigit(character) {
			return character
		}
		return -1
	}, name)
}

var plainLetters = map[rune]rune{
	'á': 'a', 'à': 'a', 'â': 'a', 'ã': 'a', 'ä': 'a', 'é': 'e', 'è': 'e', 'ê': 'e', 'ë': 'e',
	'í': 'i', 'ì': 'i', 'î': 'i', 'ï': 'i', 'ó': 'o', 'ò': 'o', 'ô': 'o', 'õ': 'o', 'ö': 'o',
	'ú': 'u', 'ù': 'u', 'û': 'u', 'ü': 'u', 'ç': 'c', 'ñ': 'n',
}

func digits(text string) string {
	return strings.Map(func(character rune) rune {
		if character < '0' || character > '9' {
			return -1
		}
		return character
	}, text)
}

func hasLetters(text string) bool {
	return strings.ContainsFunc(text, unicode.IsLetter)
}

func mayBeName(text string) bool {
	return hasLetters(text) && !looksLikeEmail(text)
}

// isJSON reports whether a text begins and ends like JSON, which is for programs.
func isJSON(text string) bool {
	return text != "" && strings.ContainsAny(text[:1], "{[") && strings.ContainsAny(text[len(text)-1:], "}]")
}

func looksLikeEmail(text string) bool {
	local, domain, _ := strings.Cut(text, "@")
	return local != "" && strings.Contains(domain, ".") && !strings.Contains(domain, "@") &&
		len(text) <= 254 && !strings.ContainsFunc(text, unicode.IsSpace)
}

func looksLikePhone(text string) bool {
	count, letters := len(digits(text)), 0
	for _, character := range text {
		if unicode.IsLetter(character) {
			letters++
		}
	}
	isDate := len(text) >= 10 && (text[4] == '-' && text[7] == '-' || text[2] == '/' && text[5] == '/')
	return count >= 8 && count <= 20 && letters <= 5 && !isDate && !strings.Contains(text, "//")
}

func isPhoneName(name string) bool {
	hasPart := slices.ContainsFunc(phoneParts, func(part string) bool { return strings.Contains(name, part) })
	return hasPart && !strings.HasSuffix(name, "id") && !isOthers(name)
}

func isEmailName(name string) bool {
	return (strings.Contains(name, "email") || strings.Contains(name, "correo")) && !isOthers(name)
}

// isNameQuestion reports whether a question asks for the whole name.
func isNameQuestion(name string) bool {
	hasPart := slices.ContainsFunc(nameParts, func(part string) bool { return strings.Contains(name, part) })
	return hasPart && !isOthers(name)
}

// isFullPhone reports whether a text is a phone with its country code and nothing else.
func isFullPhone(text string) bool {
	count := len(digits(text))
	return strings.HasPrefix(text, "+") && strings.Trim(text, "0123456789+()-. ") == "" &&
		count >= 10 && count <= 15
}

// isOthers reports whether a name is for another person's contact. `client` is the
// advertiser's word for itself, `cliente` the lead.
func isOthers(name string) bool {
	isOther := slices.ContainsFunc(others, func(part string) bool { return strings.Contains(name, part) })
	return isOther || strings.Contains(name, "client") && !strings.Contains(name, "cliente") ||
		strings.Contains(name, "clientemail")
}

// isBusiness reports whether an object of this name is no private person's: it is the
// advertiser's, one of its staff's, or a thing's, or the contact of one of these.
func isBusiness(name string, inBusiness bool) bool {
	isPrivate := slices.ContainsFunc(private, func(part string) bool { return strings.Contains(name, part) })
	return isOthers(name) && !isPrivate || slices.Contains(listingObjects, name) ||
		slices.Contains(things, name) || inBusiness && slices.Contains(contactObjects, name)
}
