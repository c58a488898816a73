package reading

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// ParseForm returns an urlencoded text as an object of texts. `a[b][0]=x` is {"a":{"b":["x"]}};
// `a[]=x&a[]=y` and `a=x&a=y` are {"a":["x","y"]}. A name that has values and children has its values
// under the empty name. A name or a value that is not UTF-8 is read by itself, as decoded does.
func ParseForm(form string) (*Value, error) {
	root, left := &formNode{}, maxFields
	for pair := range strings.SplitSeq(strings.Trim(form, blanks), "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name = Unescape(name)
		if left -= 1 + strings.Count(name, "["); left < 0 {
			return nil, errManyValues
		}
		root.add(name, withPlus(Unescape(value)))
	}
	return root.object(), nil
}

// A form has some dozen fields. Each bracket of a name counts as one.
const maxFields = 50_000

// withPlus returns a value with the plus of a phone, which was sent without its encoding as %2B and so
// became a space. No person types a space there.
func withPlus(value string) string {
	rest, found := strings.CutPrefix(value, " ")
	count := len(digits(rest))
	isPhone := found && count >= 10 && count <= 15 && strings.Trim(rest, "0123456789 ()-") == ""
	if isPhone && rest[0] >= '0' && rest[0] <= '9' {
		return "+" + rest
	}
	return value
}

// formNode is a name of a form, or a part of one.
type formNode struct {
	values   []member
	names    []string
	children map[string]*formNode
	appended int
}

func (n *formNode) add(name, text string) {
	for _, step := range formSteps(name) {
		n = n.child(step)
	}
	n.values = append(n.values, member{value: &Value{kind: textKind, raw: text}})
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
	own := &Value{kind: listKind, members: n.values}
	if len(n.values) == 1 {
		own = n.values[0].value
	}
	if len(n.names) == 0 {
		return own
	}
	if items := n.items(); len(n.values) == 0 && items != nil {
		return &Value{kind: listKind, members: items}
	}
	object := n.object()
	if len(n.values) > 0 {
		object.members = append([]member{{value: own}}, object.members...)
	}
	return object
}

// items returns the children if their names count from 0 without a gap, else nil.
func (n *formNode) items() []member {
	var items []member
	for index := range n.names {
		child := n.children[strconv.Itoa(index)]
		if child == nil {
			return nil
		}
		items = append(items, member{value: child.value()})
	}
	return items
}

func (n *formNode) object() *Value {
	object := &Value{kind: objectKind}
	for _, name := range n.names {
		object.members = append(object.members, member{name, n.children[name].value()})
	}
	return object.ordered()
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

// Unescape returns the text without `+` and `%41`; a `%` without two digits stays.
func Unescape(text string) string {
	out := make([]byte, 0, len(text))
	for at := 0; at < len(text); at++ {
		character := text[at]
		if character == '+' {
			character = ' '
		}
		if character == '%' && at+2 < len(text) {
			high, low := hexDigit(text[at+1]), hexDigit(text[at+2])
			if high >= 0 && low >= 0 {
				character = byte(high<<4 | low)
				at += 2
			}
		}
		out = append(out, character)
	}
	return decoded(string(out))
}

func hexDigit(character byte) int {
	digit := strings.IndexByte("0123456789abcdefABCDEF", character)
	if digit >= 16 {
		digit -= 6
	}
	return digit
}

// windows1252 are the characters of 0x80 to 0x9F; those that have none are U+FFFD.
var windows1252 = []rune("€\uFFFD‚ƒ„…†‡ˆ‰Š‹Œ\uFFFDŽ\uFFFD\uFFFD‘’“”•–—˜™š›œ\uFFFDžŸ")

// decoded returns bytes as UTF-8, with U+FFFD for each bad sequence, if at least as many characters
// of several bytes are good as bad, or if windows-1252 would read `â€`, `ðŸ`, or `Ã` after a small
// letter, which nobody writes; else as windows-1252, as old senders mean by Latin-1.
func decoded(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	out, good, bad, isCut := make([]byte, 0, len(text)), 0, 0, false
	for at, size := 0, 0; at < len(text); at += size {
		rest := text[at:]
		isCut = isCut || strings.HasPrefix(rest, "\xE2\x80") || strings.HasPrefix(rest, "\xF0\x9F") ||
			at > 0 && rest[0] == 0xC3 && text[at-1] >= 'a' && text[at-1] <= 'z'
		var character rune
		character, size = utf8.DecodeRuneInString(rest)
		if character == utf8.RuneError {
			bad++
			size = max(size, badBytes(rest))
		} else if size > 1 {
			good++
		}
		out = utf8.AppendRune(out, character)
	}
	if good >= bad || isCut {
		return string(out)
	}
	out = out[:0]
	for at := 0; at < len(text); at++ {
		character := rune(text[at])
		if character >= 0x80 && character < 0xA0 {
			character = windows1252[character-0x80]
		}
		out = utf8.AppendRune(out, character)
	}
	return string(out)
}

// badBytes returns how many of the first bytes begin a character that they do not complete, at least
// one.
func badBytes(text string) int {
	for size := min(len(text), 3); size > 1; size-- {
		if utf8.ValidString(text[:size]+"\x80") || utf8.ValidString(text[:size]+"\x80\x80") {
			return size
		}
	}
	return 1
}
