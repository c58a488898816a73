// Package leadhost has what converters need: bodies as a tree whose numbers keep every
// digit, the fields of a form by their usual names, and leads as plain structs.
package leadhost

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Kind is the JSON type of a value.
type Kind int

const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// Value is a JSON value. A method on a nil *Value acts as on null.
//
// Reading a text marks its value as read; Rest returns what was not.
type Value struct {
	Kind Kind
	// Raw is the text of a string, a number as it was written, or a boolean's word.
	Raw    string
	Items  []*Value
	Fields []Field
	read   bool
}

// Field is a member of an object. Objects have their members in order of name; of two with
// one name the last counts.
type Field struct {
	Name  string
	Value *Value
}

// MaxDepth is the deepest nesting of lists and objects that ParseJSON accepts, and that the
// host does in an attribute.
const MaxDepth = 127

// ParseJSON parses a text as one JSON value. A byte order mark is skipped.
//
// It is written by hand because encoding/json adds 1.9 MB to the component.
func ParseJSON(text string) (*Value, error) {
	parser := &parser{text: strings.TrimPrefix(text, "\ufeff")}
	value := parser.value(0)
	parser.blanks()
	if value == nil || parser.at < len(parser.text) {
		return nil, errors.New("the body is not valid JSON")
	}
	return value, nil
}

// parser reads a text from `at` on. Its methods return nil or false where it is not JSON.
type parser struct {
	text string
	at   int
}

func (p *parser) value(depth int) *Value {
	p.blanks()
	switch next := p.peek(); {
	case next == '"':
		if text, ok := p.quoted(); ok {
			return Text(text)
		}
		return nil
	case next == '[' || next == '{':
		if depth == MaxDepth {
			return nil
		}
		return p.list(next, depth)
	case p.skip("null"):
		return &Value{}
	case p.skip("true"):
		return &Value{Kind: Bool, Raw: "true"}
	case p.skip("false"):
		return &Value{Kind: Bool, Raw: "false"}
	}
	return p.number()
}

// list reads an array or an object.
func (p *parser) list(open byte, depth int) *Value {
	value, end := &Value{Kind: Array}, "]"
	if open == '{' {
		value, end = &Value{Kind: Object}, "}"
	}
	p.at++
	if p.blanks(); p.skip(end) {
		return value
	}
	for {
		field, ok := Field{}, true
		if open == '{' {
			p.blanks()
			field.Name, ok = p.quoted()
			p.blanks()
			ok = ok && p.skip(":")
		}
		if !ok {
			return nil
		}
		if field.Value = p.value(depth + 1); field.Value == nil {
			return nil
		}
		if open == '{' {
			value.Fields = append(value.Fields, field)
		} else {
			value.Items = append(value.Items, field.Value)
		}
		if p.blanks(); p.skip(end) {
			value.Fields = ordered(value.Fields)
			return value
		}
		if !p.skip(",") {
			return nil
		}
	}
}

// ordered returns the fields in order of name, of each name the last one.
func ordered(fields []Field) []Field {
	slices.SortStableFunc(fields, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	left := fields[:0]
	for _, field := range fields {
		if last := len(left) - 1; last >= 0 && left[last].Name == field.Name {
			left = left[:last]
		}
		left = append(left, field)
	}
	return left
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
	return &Value{Kind: Number, Raw: p.text[start:p.at]}
}

func (p *parser) quoted() (string, bool) {
	if !p.skip(`"`) {
		return "", false
	}
	start := p.at
	for p.peek() >= ' ' && p.peek() != '"' && p.peek() != '\\' {
		p.at++
	}
	out := []byte(p.text[start:p.at])
	for {
		next := p.peek()
		switch {
		case next == '"':
			p.at++
			return string(out), true
		case next < ' ':
			return "", false
		case next != '\\':
			out = append(out, next)
			p.at++
			continue
		}
		p.at++
		escape := p.peek()
		p.at++
		if index := strings.IndexByte(`"\/bfnrt`, escape); escape != 0 && index >= 0 {
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
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// peek returns the next byte; 0, which no JSON has, at the end.
func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) skip(word string) bool {
	found := strings.HasPrefix(p.text[p.at:], word)
	if found {
		p.at += len(word)
	}
	return found
}

// Text returns a string value.
func Text(text string) *Value {
	return &Value{Kind: String, Raw: text}
}

// IsObject reports whether the value is an object.
func (v *Value) IsObject() bool {
	return v != nil && v.Kind == Object
}

// Absent reports whether the value is empty: null, a blank string, {} or [].
func (v *Value) Absent() bool {
	return v == nil || v.Kind == Null || v.Kind == String && strings.TrimSpace(v.Raw) == "" ||
		v.Kind == Array && len(v.Items) == 0 || v.Kind == Object && len(v.Fields) == 0
}

// Scalar returns a string without the blanks around it, a number as it was written, or a
// boolean's word; "" for anything else. It does not mark the value as read.
func (v *Value) Scalar() string {
	if v == nil || v.Kind == Array || v.Kind == Object {
		return ""
	}
	return strings.TrimSpace(v.Raw)
}

// Whole returns the digits of a whole number, also of one with a fraction or an exponent, as
// programs write large numbers (of 1.1987654321e+10); "" for anything else.
func (v *Value) Whole() string {
	if v == nil || v.Kind != Number {
		return ""
	}
	number, exponent, _ := strings.Cut(strings.ToLower(v.Raw), "e")
	before, after, _ := strings.Cut(number, ".")
	shift, err := strconv.Atoi(strings.TrimPrefix(exponent, "+"))
	point := len(before) + shift
	if exponent != "" && (err != nil || shift < 0) || point > 20 || strings.HasPrefix(before, "-") {
		return ""
	}
	digits := before + after
	digits += strings.Repeat("0", max(0, point-len(digits)))
	if strings.Trim(digits[point:], "0") != "" {
		return ""
	}
	return strings.TrimLeft(digits[:point], "0")
}

// At returns the value at a path, or nil. A path is keys joined by dots, with indexes in
// brackets: `contact.phones[0]`. A key with a dot or a bracket in it is quoted:
// `"utm.source".first`.
func (v *Value) At(path string) *Value {
	for v != nil && path != "" {
		step, rest := nextStep(path)
		v, path = v.child(step), rest
	}
	return v
}

// First returns the value at the first of the paths that is not absent, or nil.
func (v *Value) First(paths ...string) *Value {
	for _, path := range paths {
		if found := v.At(path); !found.Absent() {
			return found
		}
	}
	return nil
}

// Text returns the first text at one of the paths and marks it as read; "" if there is
// none.
func (v *Value) Text(paths ...string) string {
	for _, path := range paths {
		if found := v.At(path); found.Scalar() != "" {
			return found.take()
		}
	}
	return ""
}

// take returns the scalar and marks it as read.
func (v *Value) take() string {
	if v != nil {
		v.read = true
	}
	return v.Scalar()
}

func (v *Value) child(step string) *Value {
	if index, err := strconv.Atoi(step); err == nil && index >= 0 && index < len(v.Items) {
		return v.Items[index]
	}
	// Of two fields with one name the last counts.
	for at := len(v.Fields) - 1; at >= 0; at-- {
		if v.Fields[at].Name == step {
			return v.Fields[at].Value
		}
	}
	return nil
}

func nextStep(path string) (step, rest string) {
	path = strings.TrimPrefix(path, ".")
	if inner, ok := strings.CutPrefix(path, `"`); ok {
		step, rest, _ = strings.Cut(inner, `"`)
		return step, rest
	}
	if inner, ok := strings.CutPrefix(path, "["); ok {
		step, rest, _ = strings.Cut(inner, "]")
		return strings.Trim(step, `"`), rest
	}
	if end := strings.IndexAny(path, ".["); end >= 0 {
		return path[:end], path[end:]
	}
	return path, ""
}

// JSON returns the value as JSON text; numbers keep their digits.
func (v *Value) JSON() string {
	out := &strings.Builder{}
	v.write(out)
	return out.String()
}

func (v *Value) write(out *strings.Builder) {
	switch v.Kind {
	case Null:
		out.WriteString("null")
	case Bool, Number:
		out.WriteString(v.Raw)
	case String:
		quote(out, v.Raw)
	case Array:
		out.WriteByte('[')
		for index, item := range v.Items {
			if index > 0 {
				out.WriteByte(',')
			}
			item.write(out)
		}
		out.WriteByte(']')
	case Object:
		out.WriteByte('{')
		for index, field := range v.Fields {
			if index > 0 {
				out.WriteByte(',')
			}
			quote(out, field.Name)
			out.WriteByte(':')
			field.Value.write(out)
		}
		out.WriteByte('}')
	}
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
