package reading

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// At returns the first value at the path that is not absent, or nil. A path is keys joined by dots:
// `contact.phones[0]`, `phones[*].value`, `phones[?type=home].value`, `"a.b".c`; without one, it is the
// value itself. With several paths, the first that leads to something counts.
func (v *Value) At(paths ...string) *Value {
	for found := range v.found(paths) {
		return found
	}
	return nil
}

// Text returns the trimmed text of the first scalar at the path: a number with its digits, a boolean's
// word, the text of an XML element with attributes; "" if there is none.
func (v *Value) Text(paths ...string) string {
	for found := range v.found(paths) {
		if text := found.scalar(); text != "" {
			return text
		}
	}
	return ""
}

// Texts returns all texts at the path, of a list those of its elements.
func (v *Value) Texts(paths ...string) []string {
	var texts []string
	for _, one := range v.List(paths...) {
		if text := one.scalar(); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// Number returns the first number at the path, also one in a text, and whether there is one.
func (v *Value) Number(paths ...string) (float64, bool) {
	for found := range v.found(paths) {
		text := found.scalar()
		if number, err := strconv.ParseFloat(text, 64); err == nil && strings.Trim(text, "+-.0123456789eE") == "" {
			return number, true
		}
	}
	return 0, false
}

// List returns the values at the path: of one list its elements, of one other value a list of it. So a
// body that is one lead and a body that is a list of leads read the same.
func (v *Value) List(paths ...string) []*Value {
	values := slices.Collect(v.found(paths))
	if len(values) == 1 && values[0].kind == listKind {
		return values[0].items
	}
	return values
}

// Members returns the names and values of an object.
func (v *Value) Members() iter.Seq2[string, *Value] {
	return func(yield func(string, *Value) bool) {
		if v == nil {
			return
		}
		for _, field := range v.fields {
			if !yield(field.name, field.value) {
				return
			}
		}
	}
}

// IsObject reports whether the value is an object.
func (v *Value) IsObject() bool {
	return v != nil && v.kind == objectKind
}

// IsList reports whether the value is a list.
func (v *Value) IsList() bool {
	return v != nil && v.kind == listKind
}

// IsAbsent reports whether the value is empty: null, a blank text, {} or [].
func (v *Value) IsAbsent() bool {
	return v == nil || v.kind == nullKind || v.kind == textKind && strings.TrimSpace(v.raw) == "" ||
		v.kind == listKind && len(v.items) == 0 || v.kind == objectKind && len(v.fields) == 0
}

func (v *Value) scalar() string {
	if v.IsObject() {
		v = v.member("#text")
	}
	if v == nil || v.kind == objectKind {
		return ""
	}
	return strings.TrimSpace(v.raw)
}

// member returns the member of that name, also in another case, or nil.
func (v *Value) member(name string) *Value {
	at, found := slices.BinarySearchFunc(v.fields, field{name: name}, byName)
	if !found {
		at = slices.IndexFunc(v.fields, func(field field) bool { return equalASCII(field.name, name) })
	}
	if at < 0 {
		return nil
	}
	return v.fields[at].value
}

func equalASCII(a, b string) bool {
	return len(a) == len(b) && lowerASCII(a) == lowerASCII(b)
}

func lowerASCII(text string) string {
	lower := func(character rune) rune {
		if character >= 'A' && character <= 'Z' {
			character += 'a' - 'A'
		}
		return character
	}
	return strings.Map(lower, text)
}

// found yields what the first of the paths with something leads to.
func (v *Value) found(paths []string) iter.Seq[*Value] {
	return func(yield func(*Value) bool) {
		if len(paths) == 0 {
			v.walk(nil, yield)
		}
		for _, path := range paths {
			isFound := false
			v.walk(parsePath(path), func(value *Value) bool {
				isFound = true
				return yield(value)
			})
			if isFound {
				return
			}
		}
	}
}

// step leads from a value to others.
type step struct {
	key string
	// index counts if it is not negative.
	index int
	// isAll is for each element of a list and each value of an object.
	isAll bool
	// where leads to a text that an element must have.
	where []step
}

// walk yields what is at the end of the steps and not absent, until yield returns false.
func (v *Value) walk(steps []step, yield func(*Value) bool) bool {
	if v.IsAbsent() {
		return true
	}
	if len(steps) == 0 {
		return yield(v)
	}
	each := func(values []*Value) bool {
		for _, value := range values {
			if !value.walk(steps[1:], yield) {
				return false
			}
		}
		return true
	}
	switch step := steps[0]; {
	case step.where != nil && v.kind == listKind:
		for _, item := range v.items {
			if item.has(step) && !item.walk(steps[1:], yield) {
				return false
			}
		}
		return true
	case step.where != nil:
		return !v.has(step) || v.walk(steps[1:], yield)
	case step.isAll && v.kind == objectKind:
		for _, field := range v.fields {
			if !field.value.walk(steps[1:], yield) {
				return false
			}
		}
		return true
	case step.isAll && v.kind == listKind:
		return each(v.items)
	case step.index >= 0 && v.kind == listKind:
		return each(v.items[min(step.index, len(v.items)):min(step.index+1, len(v.items))])
	case step.isAll || step.index == 0:
		// XML and forms have no list where something is there once.
		return v.walk(steps[1:], yield)
	case step.index > 0:
		return true
	case v.kind == objectKind:
		return v.member(step.key).walk(steps[1:], yield)
	case v.kind == listKind:
		if index, err := strconv.ParseUint(step.key, 10, 31); err == nil && int(index) < len(v.items) {
			return v.items[index].walk(steps[1:], yield)
		}
		return v.items[0].walk(steps, yield)
	}
	return true
}

// has reports whether there is a text where the step looks for it.
func (v *Value) has(step step) bool {
	isOther := func(found *Value) bool { return found.scalar() != step.key }
	return !v.walk(step.where, isOther)
}

// parsePath panics if the path is malformed, since it is the plugin's own.
func parsePath(path string) []step {
	parser := &pathParser{rest: strings.TrimSpace(path)}
	if parser.rest == "" {
		parser.fail("it is empty")
	}
	steps := parser.steps()
	if parser.wrong != "" {
		panic(fmt.Sprintf("path `%s`: %s", path, parser.wrong))
	}
	return steps
}

type pathParser struct {
	rest string
	// wrong is the first mistake.
	wrong string
}

func (p *pathParser) fail(wrong string) {
	if p.wrong == "" {
		p.wrong = wrong
	}
	p.rest = ""
}

func (p *pathParser) steps() []step {
	var steps []step
	wantsKey := true
	for p.rest != "" {
		switch {
		case p.skip("["):
			steps, wantsKey = append(steps, p.bracket()), false
		case p.skip("."):
			if wantsKey {
				p.fail("a key is missing beside a dot")
			}
			wantsKey = true
		case !wantsKey:
			p.fail("a dot or a bracket must follow a bracket or a quote")
		case p.skip(`"`):
			steps, wantsKey = append(steps, step{key: p.quoted(), index: -1}), false
		default:
			end := strings.IndexAny(p.rest, ".[")
			if end < 0 {
				end = len(p.rest)
			}
			key := p.rest[:end]
			p.rest = p.rest[end:]
			steps, wantsKey = append(steps, step{key: key, index: -1, isAll: key == "*"}), false
		}
	}
	if wantsKey {
		p.fail("it ends in a dot")
	}
	return steps
}

// bracket reads what follows `[`.
func (p *pathParser) bracket() step {
	if p.skip(`"`) {
		key := p.quoted()
		p.expect("]")
		return step{key: key, index: -1}
	}
	if p.skip("?") {
		return p.where()
	}
	switch index := strings.TrimSpace(p.until("]", "a bracket is not closed")); index {
	case "*":
		return step{index: -1, isAll: true}
	default:
		number, err := strconv.ParseUint(index, 10, 31)
		if err != nil {
			p.fail("a bracket holds an index, *, a quoted key or a filter")
		}
		return step{index: int(number)}
	}
}

// where reads what follows `[?`.
func (p *pathParser) where() step {
	path := p.until("=", "a filter is written [?key=value]")
	// A filter in a filter would recurse.
	if strings.Contains(path, "[") {
		p.fail("a filter takes keys only")
	}
	inner := &pathParser{rest: strings.TrimSpace(path)}
	where := inner.steps()
	if inner.wrong != "" {
		p.fail(inner.wrong)
	}
	if p.skip(`"`) {
		wanted := p.quoted()
		p.expect("]")
		return step{key: wanted, index: -1, where: where}
	}
	wanted := strings.TrimSpace(p.until("]", "a bracket is not closed"))
	return step{key: wanted, index: -1, where: where}
}

// quoted reads what follows a quote, to the next one.
func (p *pathParser) quoted() string {
	var out []byte
	for at := 0; at < len(p.rest); at++ {
		if p.rest[at] == '"' {
			p.rest = p.rest[at+1:]
			return string(out)
		}
		if p.rest[at] == '\\' && at+1 < len(p.rest) {
			at++
		}
		out = append(out, p.rest[at])
	}
	p.fail("a quote is not closed")
	return ""
}

func (p *pathParser) until(end, wrong string) string {
	text, rest, found := strings.Cut(p.rest, end)
	if p.rest = rest; !found {
		p.fail(wrong)
	}
	return text
}

func (p *pathParser) skip(prefix string) bool {
	rest, found := strings.CutPrefix(p.rest, prefix)
	p.rest = rest
	return found
}

func (p *pathParser) expect(end string) {
	if !p.skip(end) {
		p.fail("a bracket is not closed")
	}
}
