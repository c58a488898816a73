package reading

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxXMLDepth = 64
	maxElements = 200_000
	// Attributes of one element.
	maxAttributes = 1000
)

// parseXML returns a document as an object with its root element under the element's name. An element
// that contains only text is that text; any other is an object with its attributes as `@name`, its text
// as `#text`, and its children by name, repeated ones as a list. The name of an element is without its prefix,
// which each sender chooses. Senders' XML is read, not validated: instructions, comments and document types
// are skipped, and an entity is one of XML or HTML or a character's number, so nothing is expanded and nothing
// fetched.
func parseXML(text string) (*Value, error) {
	document := &element{}
	reader := &xmlReader{text: text, elements: []*element{document}}
	for reader.wrong == "" && len(document.members) == 0 {
		reader.next()
	}
	if reader.wrong == "" {
		return document.value(), nil
	}
	before := text[:min(reader.at, len(text))]
	begin := strings.LastIndexByte(before, '\n') + 1
	return nil, Problem{Message: fmt.Sprintf("the body is not valid XML: %s at line %d column %d", reader.wrong,
		strings.Count(before, "\n")+1, utf8.RuneCountInString(before[begin:])+1)}
}

// xmlReader reads a text from `at` on. It has a stack of its own, so depth costs no call stack.
type xmlReader struct {
	text string
	at   int
	// elements are those that are not closed yet; the first one stands for the document.
	elements []*element
	count    int
	// wrong is the first mistake.
	wrong string
}

type element struct {
	name    string
	members []member
	// index has the places in members by name.
	index map[string]int
	text  strings.Builder
}

func (x *xmlReader) fail(wrong string) {
	if x.wrong == "" {
		x.wrong = wrong
	}
}

func (x *xmlReader) last() *element {
	return x.elements[len(x.elements)-1]
}

// next reads a text and the markup after it.
func (x *xmlReader) next() {
	last := x.last()
	markup := strings.IndexByte(x.text[x.at:], '<')
	if markup < 0 && len(x.elements) == 1 {
		x.fail("there is no element")
	} else if markup < 0 {
		x.fail("an element is not closed")
	}
	if x.wrong != "" {
		return
	}
	writeUnescaped(&last.text, x.text[x.at:x.at+markup])
	x.at += markup
	switch {
	case x.skip("<?"):
		x.until("?>", "a processing instruction is not closed")
	case x.skip("<!--"):
		x.until("-->", "a comment is not closed")
	case x.skip("<![CDATA["):
		last.text.WriteString(x.until("]]>", "a CDATA section is not closed"))
	case x.skip("<!"):
		const wrong = "a document type is not closed"
		if declaration := x.until(">", wrong); strings.Contains(declaration, "[") && !strings.Contains(declaration, "]") {
			x.until("]", wrong)
			x.until(">", wrong)
		}
	case strings.HasPrefix(x.text[x.at:], "</"):
		end := strings.IndexByte(x.text[x.at:], '>')
		if end < 0 {
			x.fail("a tag is not closed")
		} else if strings.TrimSpace(x.text[x.at+2:x.at+end]) != last.name || last.name == "" {
			x.fail("a closing tag has no opening one")
		} else {
			x.at += end + 1
			x.elements = x.elements[:len(x.elements)-1]
			x.last().add(last.name, last.value())
		}
	default:
		x.tag()
	}
}

// tag reads an opening tag.
func (x *xmlReader) tag() {
	if x.count++; x.count > maxElements {
		x.fail("there are too many elements")
	}
	x.at++
	opened := &element{name: x.name()}
	for attributes := 0; x.wrong == ""; attributes++ {
		x.spaces()
		if x.skip("/>") {
			x.last().add(opened.name, opened.value())
			return
		}
		if x.skip(">") {
			x.elements = append(x.elements, opened)
			break
		}
		name := "@" + x.name()
		x.spaces()
		if !x.skip("=") {
			x.fail("an attribute has no value")
		}
		x.spaces()
		value := &strings.Builder{}
		writeUnescaped(value, x.attribute())
		opened.put(name, &Value{kind: textKind, raw: value.String()})
		if attributes > maxAttributes {
			x.fail("there are too many attributes")
		}
	}
	if len(x.elements) > maxXMLDepth+1 {
		x.fail("elements are nested too deep")
	}
}

func (x *xmlReader) attribute() string {
	for _, quote := range []string{`"`, "'"} {
		if x.skip(quote) {
			return x.until(quote, "an attribute's value is not closed")
		}
	}
	x.fail("an attribute's value is not quoted")
	return ""
}

func (x *xmlReader) name() string {
	end := strings.IndexFunc(x.text[x.at:], func(character rune) bool {
		return unicode.IsSpace(character) || strings.ContainsRune("/>=<\"'&", character)
	})
	if end < 0 {
		end = len(x.text) - x.at
	}
	if end == 0 {
		x.fail("a name is missing")
	}
	x.at += end
	return x.text[x.at-end : x.at]
}

func (x *xmlReader) spaces() {
	x.at = len(x.text) - len(strings.TrimLeftFunc(x.text[x.at:], unicode.IsSpace))
}

func (x *xmlReader) skip(prefix string) bool {
	found := strings.HasPrefix(x.text[x.at:], prefix)
	if found {
		x.at += len(prefix)
	}
	return found
}

// until passes the end and returns what is before it.
func (x *xmlReader) until(end, wrong string) string {
	length := strings.Index(x.text[x.at:], end)
	if length < 0 {
		x.fail(wrong)
		return ""
	}
	x.at += length + len(end)
	return x.text[x.at-length-len(end) : x.at-len(end)]
}

// put adds a field, or replaces the one of that name.
func (e *element) put(name string, value *Value) {
	if at, found := e.index[name]; found {
		e.members[at].value = value
		return
	}
	if e.index == nil {
		e.index = map[string]int{}
	}
	e.index[name] = len(e.members)
	e.members = append(e.members, member{name, value})
}

// add adds a child. An element's own value is never a list, so a list means that the child repeats.
func (e *element) add(name string, value *Value) {
	if _, local, found := strings.Cut(name, ":"); found && local != "" {
		name = local
	}
	at, found := e.index[name]
	if !found {
		e.put(name, value)
		return
	}
	known := e.members[at].value
	if known.kind != listKind {
		known = &Value{kind: listKind, members: []member{{value: known}}}
		e.members[at].value = known
	}
	known.members = append(known.members, member{value: value})
}

func (e *element) value() *Value {
	text := &Value{kind: textKind, raw: strings.TrimSpace(e.text.String())}
	if len(e.members) == 0 {
		return text
	}
	if text.raw != "" && e.name != "" {
		e.put("#text", text)
	}
	return (&Value{kind: objectKind, members: e.members}).ordered()
}

func writeUnescaped(out *strings.Builder, text string) {
	for {
		before, rest, found := strings.Cut(text, "&")
		out.WriteString(before)
		if !found {
			return
		}
		// No entity's name is longer; a lone ampersand is not searched far.
		name, _, closed := strings.Cut(rest[:min(len(rest), 11)], ";")
		if character := entity(name); closed && character != 0 {
			out.WriteRune(character)
			rest = rest[len(name)+1:]
		} else {
			out.WriteByte('&')
		}
		text = rest
	}
}

var entities = func() map[string]rune {
	entities := map[string]rune{}
	for at, name := range strings.Fields(latin) {
		entities[name] = rune(0xa0 + at)
	}
	others := strings.Fields(others)
	for at := 0; at < len(others); at += 2 {
		entities[others[at]], _ = utf8.DecodeRuneInString(others[at+1])
	}
	return entities
}()

// latin has the names that HTML has for U+00A0 to U+00FF.
const latin = `
nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro
para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil
Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave
Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml
igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute
thorn yuml`

// others has other names, each before its character.
const others = `
amp & lt < gt > quot " apos ' ndash – mdash — lsquo ‘ rsquo ’ sbquo ‚ ldquo “ rdquo ” bdquo „ hellip … bull •
euro € trade ™ OElig Œ oelig œ Scaron Š scaron š`

// entity returns the character of an entity, 0 if there is none.
func entity(name string) rune {
	number, isNumber := strings.CutPrefix(name, "#")
	if !isNumber {
		return entities[name]
	}
	base := 10
	if strings.HasPrefix(strings.ToLower(number), "x") {
		number, base = number[1:], 16
	}
	code, err := strconv.ParseUint(number, base, 31)
	if err != nil || !utf8.ValidRune(rune(code)) {
		return 0
	}
	return rune(code)
}
