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
// name. A name or a text that is not UTF-8 is read by itself. A delimiter counts only at the
// beginning of a line, so the time grows with the length of the body and no faster. The last
// delimiter may be missing.
func parseMultipart(contentType, body string) (*Value, error) {
	boundary := parameter(contentType, "boundary")
	if boundary == nil || *boundary == "" || len(*boundary) > maxBoundary {
		return nil, Problem{Message: "the multipart body's boundary is missing or too long"}
	}
	form, begin := &parts{}, -1
	for line, end := 0, 0; end >= 0; line += end + 1 {
		end = strings.IndexByte(body[line:], '\n')
		text, next := body[line:], len(body)
		if end >= 0 {
			text, next = body[line:line+end], line+end+1
		}
		after, begins := strings.CutPrefix(text, "--"+*boundary)
		rest, last := strings.CutPrefix(after, "--")
		if !begins || strings.Trim(rest, " \t\r") != "" {
			continue
		}
		if begin >= 0 {
			form.add(body[begin:line])
		}
		if last {
			return form.tree()
		}
		begin = next
	}
	if begin < 0 {
		return nil, Problem{Message: "the multipart body has no delimiter in it"}
	}
	if begin < len(body) {
		form.add(body[begin:])
	}
	return form.tree()
}

// parts are those that are read so far, and the first error.
type parts struct {
	root  formNode
	count int
	err   error
}

func (p *parts) tree() (*Value, error) {
	if p.err != nil {
		return nil, p.err
	}
	return p.root.object(), nil
}

func (p *parts) add(part string) {
	part = strings.TrimSuffix(strings.TrimSuffix(part, "\n"), "\r")
	headers, text := cutHeaders(part)
	switch {
	case p.err != nil:
		return
	case p.count == maxParts:
		p.err = Problem{Message: fmt.Sprintf("the multipart body has more than %d parts", maxParts)}
		return
	case len(headers) > maxHeaders:
		p.err = Problem{Message: "a part of the multipart body has too long headers"}
		return
	}
	p.count++
	name, value := "", decoded(text)
	for _, line := range strings.Split(decoded(headers), "\n") {
		header, given, found := strings.Cut(line, ":")
		if !found || !strings.EqualFold(strings.TrimSpace(header), "content-disposition") {
			continue
		}
		name, value = "", decoded(text)
		if found := parameter(given, "name"); found != nil {
			name = *found
		}
		if file := parameter(given, "filename"); file != nil {
			value = *file
		}
	}
	p.root.add(name, value)
}

// cutHeaders returns what is before and after the first empty line.
func cutHeaders(part string) (headers, text string) {
	for line := 0; ; {
		for _, empty := range []string{"\n", "\r\n"} {
			if after, found := strings.CutPrefix(part[line:], empty); found {
				return part[:max(line-1, 0)], after
			}
		}
		end := strings.IndexByte(part[line:], '\n')
		if end < 0 {
			return part, ""
		}
		line += end + 1
	}
}

// parameter returns a parameter of a header, `name=value` or `name="value"`, or nil.
func parameter(header, wanted string) *string {
	_, rest, _ := strings.Cut(header, ";")
	for rest != "" {
		rest = strings.TrimLeftFunc(rest, func(c rune) bool { return c == ';' || unicode.IsSpace(c) })
		end := strings.IndexAny(rest, "=;")
		if end < 0 {
			return nil
		}
		name, value := rest[:end], ""
		if rest = rest[end:]; rest[0] == ';' {
			continue
		}
		if value, rest = headerValue(rest[1:]); strings.EqualFold(strings.TrimSpace(name), wanted) {
			return &value
		}
	}
	return nil
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
		// Other backslashes are those of a Windows path, as old browsers sent it.
		if text[at] == '\\' && at+1 < len(text) && (text[at+1] == '"' || text[at+1] == '\\') {
			at++
		}
		out = append(out, text[at])
	}
	return string(out), ""
}
