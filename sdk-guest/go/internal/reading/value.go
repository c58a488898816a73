package reading

import (
	"iter"
	"slices"
	"strconv"
	"strings"
)

// At returns the first value at the path that is not absent, or nil. A path is keys joined by dots:
// `contact.phones[0]`, `phones[*].value`, `phones[?type=home].value`, `"a.b".c`; without one, it is the
// value itself. With several paths, the first that leads to something counts.
func (v *Value) At(paths ...string) *Value {
	for _, found := range v.find(paths) {
		return found
	}
	return nil
}

// Text returns the trimmed text of the first scalar at the path, also within a list: a number
// with its digits, a boolean's word, the text of an XML element with attributes; "" if there is none.
func (v *Value) Text(paths ...string) string {
	for _, found := range v.List(paths...) {
		if text := found.scalar(); text != "" {
			return text
		}
	}
	return ""
}

// Texts returns all texts at the path, also within a list.
func (v *Value) Texts(paths ...string) []string {
	var texts []string
	for _, one := range v.List(paths...) {
		if text := one.scalar(); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// Number returns the first number at the path, also one in a text, as people write it (`500.000` is five
// hundred thousand, and `12,5` is twelve and a half), and whether there is one.
func (v *Value) Number(paths ...string) (float64, bool) {
	for _, found := range v.List(paths...) {
		text := found.scalar()
		if found.kind != numberKind {
			text = plainNumber(text)
		}
		if number, err := strconv.ParseFloat(text, 64); err == nil && strings.Trim(text, "+-.0123456789eE") == "" {
			return number, true
		}
	}
	return 0, false
}

// List returns the values at the path: of one list its elements, of one other value a list of it. So a
// body that is one lead and a body that is a list of leads read the same.
func (v *Value) List(paths ...string) []*Value {
	values := v.find(paths)
	if len(values) != 1 || !values[0].IsList() {
		return values
	}
	var elements []*Value
	for _, element := range values[0].Members() {
		elements = append(elements, element)
	}
	return elements
}

// Members returns the names and values of an object, or the values of a list.
func (v *Value) Members() iter.Seq2[string, *Value] {
	return func(yield func(string, *Value) bool) {
		for at := 0; v != nil && at < len(v.members) && yield(v.members[at].name, v.members[at].value); at++ {
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
		v.kind >= listKind && len(v.members) == 0
}

func (v *Value) scalar() string {
	if v.IsObject() {
		v = v.member("#text")
	}
	if v == nil {
		return ""
	}
	return strings.TrimSpace(v.raw)
}

// member returns the member of that name, also in another case, or without the prefix that the name has in
// XML, whose elements are read without prefixes; or nil.
func (v *Value) member(name string) *Value {
	at, found := slices.BinarySearchFunc(v.members, member{name: name}, byName)
	if !found {
		at = v.alike(name)
	}
	if at < 0 {
		at = v.alike(name[strings.LastIndexByte(name, ':')+1:])
	}
	if at < 0 {
		return nil
	}
	return v.members[at].value
}

// alike returns the index of a member of that name in any case, or -1.
func (v *Value) alike(name string) int {
	name = lowerASCII(name)
	return slices.IndexFunc(v.members, func(member member) bool {
		return len(member.name) == len(name) && lowerASCII(member.name) == name
	})
}

func lowerASCII(text string) string {
	return strings.Map(func(character rune) rune {
		if character >= 'A' && character <= 'Z' {
			character += 'a' - 'A'
		}
		return character
	}, text)
}

// elements returns the elements of a list. XML and forms have no list where something is there once, so any
// other value counts as a list of itself.
func (v *Value) elements() []member {
	if v.IsList() {
		return v.members
	}
	return []member{{value: v}}
}

// find returns what the first of the paths with something leads to.
func (v *Value) find(paths []string) []*Value {
	if len(paths) == 0 {
		return v.follow(nil)
	}
	for _, path := range paths {
		if found := v.follow(parsePath(path)); len(found) > 0 {
			return found
		}
	}
	return nil
}

// isMap reports whether all members are objects.
func (v *Value) isMap() bool {
	return !slices.ContainsFunc(v.members, func(member member) bool { return !member.value.IsObject() })
}

// follow returns what is at the end of the steps and not absent.
func (v *Value) follow(steps []step) []*Value {
	if v.IsAbsent() {
		return nil
	}
	if len(steps) == 0 {
		return []*Value{v}
	}
	// What is there once is its own element, unless only its members lead further.
	if steps[0].isEach && v.IsObject() && (len(steps) > 1 || !v.isMap()) {
		if own := v.follow(steps[1:]); len(own) > 0 {
			return own
		}
	}
	var found []*Value
	for _, next := range steps[0].next(v) {
		found = append(found, next.value.follow(steps[1:])...)
	}
	return found
}
