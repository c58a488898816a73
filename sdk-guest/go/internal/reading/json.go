// Package reading has the tree that bodies are read into, and what is read from it.
package reading

import (
	"bytes"
	"encoding/json/jsontext"
	"fmt"
	"io"
	"slices"
	"strings"
)

type kind byte

const (
	nullKind kind = iota
	booleanKind
	numberKind
	textKind
	listKind
	objectKind
)

// Value is a value of a body: JSON, or a form or XML in the shape of JSON. A method on a nil *Value
// acts as on null.
type Value struct {
	kind kind
	// raw is the text of a string, a number with the digits that were sent, or a boolean's word.
	raw string
	// members are an object's, in order of name and of each name the last one, or a list's,
	// without names.
	members []member
}

type member struct {
	name  string
	value *Value
}

const (
	// The deepest nesting that the host takes in an attribute.
	maxDepth = 127
	// A batch of a thousand leads has a hundred thousand values; many more do not fit the memory of a call.
	maxValues = 200_000
)

// ParseJSON parses a text as one JSON value. A byte order mark is skipped, and a control character in a text
// of it, which templates put there, is itself.
func ParseJSON(text string) (*Value, error) {
	left := maxValues
	return parseJSON(text, &left)
}

// parseJSON takes the values that it makes from those that are left. The whole encoding/json would lose
// digits and add 1.9 MB to the component.
func parseJSON(text string, left *int) (*Value, error) {
	value, err := decodeJSON(text, left)
	if err == nil || *left < 0 {
		return value, err
	}
	return decodeJSON(withoutControls(text), left)
}

// withoutControls returns a JSON text with escapes in place of the control characters in its texts.
func withoutControls(text string) string {
	out := &strings.Builder{}
	inText, isEscaped := false, false
	for _, character := range []byte(text) {
		switch {
		case isEscaped:
			isEscaped = false
		case character == '\\':
			isEscaped = inText
		case character == '"':
			inText = !inText
		case inText && character < ' ':
			fmt.Fprintf(out, "\\u%04x", character)
			continue
		}
		out.WriteByte(character)
	}
	return out.String()
}

func decodeJSON(text string, left *int) (*Value, error) {
	input := bytes.NewBufferString(strings.TrimPrefix(text, "\ufeff"))
	// Half of a surrogate pair, which cannot leave the component, is U+FFFD.
	decoder := jsontext.NewDecoder(input, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	value := readValue(decoder, left)
	_, err := decoder.ReadToken()
	if *left < 0 {
		return nil, errManyValues
	}
	if value == nil || err != io.EOF {
		return nil, Problem{Message: "the body is not valid JSON"}
	}
	return value, nil
}

// readValue returns nil if there is no value, or one that is too much.
func readValue(decoder *jsontext.Decoder, left *int) *Value {
	token, err := decoder.ReadToken()
	if *left--; *left < 0 || err != nil {
		return nil
	}
	switch token.Kind() {
	case '{':
		return readMembers(decoder, objectKind, left)
	case '[':
		return readMembers(decoder, listKind, left)
	case '"':
		return &Value{kind: textKind, raw: token.String()}
	case '0':
		return &Value{kind: numberKind, raw: token.String()}
	case 't', 'f':
		return &Value{kind: booleanKind, raw: token.String()}
	}
	return &Value{}
}

func readMembers(decoder *jsontext.Decoder, kind kind, left *int) *Value {
	if decoder.StackDepth() > maxDepth {
		return nil
	}
	value := &Value{kind: kind}
	for decoder.PeekKind() != '}' && decoder.PeekKind() != ']' {
		name := ""
		if kind == objectKind {
			token, err := decoder.ReadToken()
			if err != nil {
				return nil
			}
			name = token.String()
		}
		inner := readValue(decoder, left)
		if inner == nil {
			return nil
		}
		value.members = append(value.members, member{name, inner})
	}
	if _, err := decoder.ReadToken(); err != nil {
		return nil
	}
	return value.ordered()
}

// ordered brings the members of an object in their order.
func (v *Value) ordered() *Value {
	if v.kind != objectKind {
		return v
	}
	slices.SortStableFunc(v.members, byName)
	left := v.members[:0]
	for _, member := range v.members {
		if last := len(left) - 1; last >= 0 && left[last].name == member.name {
			left = left[:last]
		}
		left = append(left, member)
	}
	v.members = left
	return v
}

func byName(a, b member) int {
	return strings.Compare(a.name, b.name)
}

// JSON returns the value as JSON text; numbers keep their digits.
func (v *Value) JSON() string {
	out := &strings.Builder{}
	v.write(out)
	return out.String()
}

func (v *Value) write(out *strings.Builder) {
	switch {
	case v == nil || v.kind == nullKind:
		out.WriteString("null")
	case v.kind == textKind:
		out.WriteString(quoted(v.raw))
	case v.kind < listKind:
		out.WriteString(v.raw)
	default:
		brackets := "[]"
		if v.kind == objectKind {
			brackets = "{}"
		}
		out.WriteByte(brackets[0])
		for index, member := range v.members {
			if index > 0 {
				out.WriteByte(',')
			}
			if v.kind == objectKind {
				out.WriteString(quoted(member.name) + ":")
			}
			member.value.write(out)
		}
		out.WriteByte(brackets[1])
	}
}

func quoted(text string) string {
	// A text that is not UTF-8 gets U+FFFD.
	out, _ := jsontext.AppendQuote(nil, text)
	return string(out)
}
