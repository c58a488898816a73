package leadhost

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// ParseForm returns an urlencoded text as an object of strings. `a[b][0]=x` becomes
// {"a":{"b":["x"]}}; `a[]=x&a[]=y` and `a=x&a=y` become {"a":["x","y"]}. A name that has
// values and children has its values under the empty name. A name or a value that is not
// UTF-8 is read as Latin-1, which old senders still use.
func ParseForm(text string) *Value {
	root := &formNode{}
	for _, pair := range strings.Split(text, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		root.add(decode(name), decode(value))
	}
	return root.object()
}

// formNode is a name of a form, or a part of one.
type formNode struct {
	values   []*Value
	names    []string
	children map[string]*formNode
	appended int
}

func (n *formNode) add(name, text string) {
	for _, step := range formSteps(name) {
		n = n.child(step)
	}
	n.values = append(n.values, Text(text))
}

func (n *formNode) child(step string) *formNode {
	// `a[]` is the first index that is free.
	for step == "" {
		index := strconv.Itoa(n.appended)
		n.appended++
		if n.children[index] == nil {
			step = index
		}
	}
	child := n.children[step]
	if child == nil {
		if n.children == nil {
			n.children = map[string]*formNode{}
		}
		child = &formNode{}
		n.children[step] = child
		n.names = append(n.names, step)
	}
	return child
}

func (n *formNode) value() *Value {
	own := &Value{Kind: Array, Items: n.values}
	if len(n.values) == 1 {
		own = n.values[0]
	}
	if len(n.names) == 0 {
		return own
	}
	if items := n.items(); len(n.values) == 0 && items != nil {
		return &Value{Kind: Array, Items: items}
	}
	object := n.object()
	if len(n.values) > 0 {
		object.Fields = ordered(append(object.Fields, Field{"", own}))
	}
	return object
}

// items returns the children if their names count from 0 without a gap, else nil.
func (n *formNode) items() []*Value {
	var items []*Value
	for index := range n.names {
		child := n.children[strconv.Itoa(index)]
		if child == nil {
			return nil
		}
		items = append(items, child.value())
	}
	return items
}

func (n *formNode) object() *Value {
	object := &Value{Kind: Object}
	for _, name := range n.names {
		object.Fields = append(object.Fields, Field{name, n.children[name].value()})
	}
	object.Fields = ordered(object.Fields)
	return object
}

// maxSteps bounds the nesting: brackets beyond it stay part of the last key.
const maxSteps = 16

// formSteps splits `a[b][]` into "a", "b" and "". A name with unclosed brackets is one.
func formSteps(name string) []string {
	open := strings.IndexByte(name, '[')
	if open <= 0 {
		return []string{name}
	}
	steps, rest := []string{name[:open]}, name[open:]
	for rest != "" {
		step, after, closed := strings.Cut(rest[1:], "]")
		switch {
		case rest[0] != '[' || !closed:
			return []string{name}
		case len(steps) == maxSteps:
			return append(steps, rest)
		}
		steps, rest = append(steps, step), after
	}
	return steps
}

// decode returns the text without `+` and `%41`; a `%` without two digits stays.
func decode(text string) string {
	out := make([]byte, 0, len(text))
	for at := 0; at < len(text); at++ {
		character := text[at]
		if character == '+' {
			character = ' '
		}
		if character == '%' && at+2 < len(text) {
			if code, err := strconv.ParseUint(text[at+1:at+3], 16, 8); err == nil {
				character = byte(code)
				at += 2
			}
		}
		out = append(out, character)
	}
	return decoded(string(out))
}

// decoded returns bytes as UTF-8: bytes that are not are read as Latin-1.
func decoded(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return latin1([]byte(text))
}

func latin1(bytes []byte) string {
	runes := make([]rune, len(bytes))
	for index, character := range bytes {
		runes[index] = rune(character)
	}
	return string(runes)
}
