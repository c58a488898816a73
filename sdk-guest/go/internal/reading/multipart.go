package reading

import (
	"fmt"
	"strings"
	"unicode"
)

const (
	// RFC 2046 allows 70 characters; some senders use a few more.
	maxBoundary = 200
	// A form has some dozen fields.
	maxParts = 1000
	// Bytes of the headers of one part.
	maxHeaders = 8 * 1024
)

// parseMultipart returns the fields of a multipart/form-data body as ParseForm does: of a file, its
// name. A name or a text that is not UTF-8 is read by itself.
func parseMultipart(contentType, body string) (*Value, error) {
	boundary, _ := parameter(contentType, "boundary")
	if boundary == "" || len(boundary) > maxBoundary {
		return nil, Problem{Message: "the multipart body's boundary is missing or too long"}
	}
	parts := split(body, "--"+boundary)
	if len(parts) == 0 || len(parts) > maxParts {
		return nil, Problem{Message: fmt.Sprintf("the multipart body has no part, or more than %d", maxParts)}
	}
	root := &formNode{}
	for _, part := range parts {
		headers, text := cutHeaders(strings.TrimSuffix(strings.TrimSuffix(part, "\n"), "\r"))
		if len(headers) > maxHeaders {
			return nil, Problem{Message: "a part of the multipart body has too long headers"}
		}
		root.add(named(decoded(headers), decoded(text)))
	}
	return root.object(), nil
}

// split returns what is between the delimiters. One counts only at the beginning of a line, so the time
// grows with the length of the body and no faster. The last one may be missing.
func split(body, delimiter string) []string {
	var parts []string
	begin, at := -1, 0
	for line := range strings.Lines(body) {
		at += len(line)
		rest, isDelimiter := strings.CutPrefix(line, delimiter)
		rest, isLast := strings.CutPrefix(rest, "--")
		if !isDelimiter || strings.Trim(rest, blanks) != "" {
			continue
		}
		if begin >= 0 {
			parts = append(parts, body[begin:at-len(line)])
		}
		if begin = at; isLast {
			return parts
		}
	}
	if begin >= 0 && begin < len(body) {
		parts = append(parts, body[begin:])
	}
	return parts
}

// cutHeaders returns what is before and after the first empty line.
func cutHeaders(part string) (headers, text string) {
	at := 0
	for line := range strings.Lines(part) {
		if line == "\n" || line == "\r\n" {
			return part[:at], part[at+len(line):]
		}
		at += len(line)
	}
	return part, ""
}

// named returns the name of a part, and its text or the name of its file.
func named(headers, text string) (name, value string) {
	value = text
	for line := range strings.Lines(headers) {
		header, given, _ := strings.Cut(line, ":")
		if !strings.EqualFold(strings.TrimSpace(header), "content-disposition") {
			continue
		}
		name, _ = parameter(given, "name")
		if file, found := parameter(given, "filename"); found {
			value = file
		}
	}
	return name, value
}

// parameter returns a parameter of a header, `name=value` or `name="value"`.
func parameter(header, wanted string) (value string, found bool) {
	_, rest, _ := strings.Cut(header, ";")
	for rest != "" {
		rest = strings.TrimLeftFunc(rest, func(c rune) bool { return c == ';' || unicode.IsSpace(c) })
		end := strings.IndexAny(rest, "=;")
		if end < 0 {
			return "", false
		}
		name := rest[:end]
		if rest = rest[end:]; rest[0] == ';' {
			continue
		}
		if value, rest = headerValue(rest[1:]); strings.EqualFold(strings.TrimSpace(name), wanted) {
			return value, true
		}
	}
	return "", false
}

// headerValue returns a value, plain or in quotes, and what is after it.
func headerValue(text string) (value, rest string) {
	if !strings.HasPrefix(text, `"`) {
		value, rest, _ = strings.Cut(text, ";")
		return strings.TrimRightFunc(value, unicode.IsSpace), rest
	}
	var out []byte
	for at := 1; at < len(text); at++ {
		if text[at] == '"' {
			return string(out), text[at+1:]
		}
		// Other backslashes belong to a Windows path, as old browsers sent it.
		if text[at] == '\\' && at+1 < len(text) && (text[at+1] == '"' || text[at+1] == '\\') {
			at++
		}
		out = append(out, text[at])
	}
	return string(out), ""
}
