// Package reading has the tree that bodies are read into, and what is read from it.
package reading

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
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
	raw    string
	items  []*Value
	fields []field
}

// field is a member of an object. Objects have their members in order of name; of two with one name
// the last counts.
type field struct {
	name  string
	value *Value
}

const (
	// MaxDepth is the deepest nesting that the host takes in an attribute.
	MaxDepth = 127
	// A batch of a thousand leads has a hundred thousand values; many more do not fit the memory of a call.
	maxValues = 300_000
)

// ParseJSON parses a text as one JSON value. A byte order mark is skipped.
func ParseJSON(text string) (*Value, error) {
	left := maxValues
	return parseJSON(text, &left)
}

// parseJSON takes the values that it makes from those that are left. It is written by hand because
// encoding/json adds 1.9 MB to the component and loses digits.
func parseJSON(text string, left *int) (*Value, error) {
	parser := &parser{text: strings.TrimPrefix(text, "\ufeff"), left: left}
	value := parser.value(0)
	parser.blanks()
	if *left < 0 {
		return nil, errManyValues
	}
	if value == nil || parser.at < len(parser.text) {
		return nil, Problem{Message: "the body is not valid JSON"}
	}
	return value, nil
}

// parser reads a text from `at` on. Its methods return nil or false where it is not JSON.
type parser struct {
	text string
	at   int
	left *int
}

func (p *parser) value(depth int) *Value {
	p.blanks()
	if *p.left--; *p.left < 0 {
		return nil
	}
	switch next := p.peek(); {
	case next == '"':
		if raw, ok := p.quoted(); ok {
			return &Value{kind: textKind, raw: raw}
		}
		return nil
	case (next == '[' || next == '{') && depth < MaxDepth:
		return p.list(next, depth)
	case p.skip("null"):
		return &Value{}
	case p.skip("true"):
		return &Value{kind: booleanKind, raw: "true"}
	case p.skip("false"):
		return &Value{kind: booleanKind, raw: "false"}
	}
	return p.number()
}

// list reads an array or an object.
func (p *parser) list(open byte, depth int) *Value {
	value, end := &Value{kind: listKind}, "]"
	if open == '{' {
		value, end = &Value{kind: objectKind}, "}"
	}
	p.at++
	if p.blanks(); p.skip(end) {
		return value
	}
	for {
		member, ok := field{}, true
		if open == '{' {
			p.blanks()
			member.name, ok = p.quoted()
			p.blanks()
			ok = ok && p.skip(":")
		}
		if !ok {
			return nil
		}
		if member.value = p.value(depth + 1); member.value == nil {
			return nil
		}
		if open == '{' {
			value.fields = append(value.fields, member)
		} else {
			value.items = append(value.items, member.value)
		}
		if p.blanks(); p.skip(end) {
			value.fields = ordered(value.fields)
			return value
		}
		if !p.skip(",") {
			return nil
		}
	}
}

// ordered returns the fields in order of name, of each name the last one.
func ordered(fields []field) []field {
	slices.SortStableFunc(fields, byName)
	left := fields[:0]
	for _, field := range fields {
		if last := len(left) - 1; last >= 0 && left[last].name == field.name {
			left = left[:last]
		}
		left = append(left, field)
	}
	return left
}

func byName(a, b field) int {
	return strings.Compare(a.name, b.name)
}

func (p *parser) number() *Value {
	start := p.at
	p.skip("-")
	if !p.skip("0") && !p.digits() {
		return nil
	}
	if p.skip(".") && !p.digits() {
		return nil
	}
	if p.skip("e") || p.skip("E") {
		if !p.skip("+") {
			p.skip("-")
		}
		if !p.digits() {
			return nil
		}
	}
	return &Value{kind: numberKind, raw: p.text[start:p.at]}
}

func (p *parser) quoted() (string, bool) {
	if !p.skip(`"`) {
		return "", false
	}
	start := p.at
	for p.peek() >= ' ' && p.peek() != '"' && p.peek() != '\\' {
		p.at++
	}
	if p.skip(`"`) {
		return p.text[start : p.at-1], true
	}
	out := []byte(p.text[start:p.at])
	for {
		next := p.peek()
		p.at++
		switch {
		case next == '"':
			return string(out), true
		case next < ' ':
			return "", false
		case next != '\\':
			out = append(out, next)
			continue
		}
		escape := p.peek()
		p.at++
		if index := strings.IndexByte(`"\/bfnrt`, escape); index >= 0 {
			out = append(out, "\"\\/\b\f\n\r\t"[index])
		} else if character, ok := p.unicode(); escape == 'u' && ok {
			out = utf8.AppendRune(out, character)
		} else {
			return "", false
		}
	}
}

// unicode reads what follows `\u`. Half of a surrogate pair, which cannot leave the component, is
// U+FFFD.
func (p *parser) unicode() (rune, bool) {
	unit, ok := p.hex()
	if !ok || !utf16.IsSurrogate(unit) {
		return unit, ok
	}
	at := p.at
	if p.skip(`\u`) {
		if second, ok := p.hex(); ok && utf16.DecodeRune(unit, second) != utf8.RuneError {
			return utf16.DecodeRune(unit, second), true
		}
	}
	// What follows is a character of its own, or no JSON.
	p.at = at
	return utf8.RuneError, true
}

func (p *parser) hex() (rune, bool) {
	if p.at+4 > len(p.text) {
		return 0, false
	}
	unit, err := strconv.ParseUint(p.text[p.at:p.at+4], 16, 16)
	p.at += 4
	return rune(unit), err == nil
}

func (p *parser) digits() bool {
	start := p.at
	for p.peek() >= '0' && p.peek() <= '9' {
		p.at++
	}
	return p.at > start
}

func (p *parser) blanks() {
	for p.at < len(p.text) && strings.IndexByte(blanks, p.text[p.at]) >= 0 {
		p.at++
	}
}

const blanks = " \t\r\n"

// peek returns the next byte; 0, which no JSON has, at the end.
func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) skip(word string) bool {
	found := p.at <= len(p.text) && strings.HasPrefix(p.text[p.at:], word)
	if found {
		p.at += len(word)
	}
	return found
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
	case v.kind == booleanKind || v.kind == numberKind:
		out.WriteString(v.raw)
	case v.kind == textKind:
		quote(out, v.raw)
	case v.kind == listKind:
		separator := byte('[')
		for _, item := range v.items {
			out.WriteByte(separator)
			item.write(out)
			separator = ','
		}
		end(out, separator, "[]")
	case v.kind == objectKind:
		separator := byte('{')
		for _, field := range v.fields {
			out.WriteByte(separator)
			quote(out, field.name)
			out.WriteByte(':')
			field.value.write(out)
			separator = ','
		}
		end(out, separator, "{}")
	}
}

// end writes the bracket that closes a list, or both if nothing is in it.
func end(out *strings.Builder, separator byte, brackets string) {
	if separator == ',' {
		brackets = brackets[1:]
	}
	out.WriteString(brackets)
}

func quote(out *strings.Builder, text string) {
	out.WriteByte('"')
	for at := 0; at < len(text); at++ {
		switch character := text[at]; {
		case character == '"' || character == '\\':
			out.WriteByte('\\')
			out.WriteByte(character)
		case character < ' ':
			out.WriteString(`\u00`)
			out.WriteByte("0123456789abcdef"[character>>4])
			out.WriteByte("0123456789abcdef"[character&15])
		default:
			out.WriteByte(character)
		}
	}
	out.WriteByte('"')
}
