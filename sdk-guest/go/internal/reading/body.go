package reading

import (
	"slices"
	"strings"
	"unicode"

	core "leadhost/sdk/internal/generated/leadhost_types_core"
	wit "leadhost/sdk/internal/generated/wit/types"
)

// Problem says why a body, or one item of it, cannot be read.
type Problem struct {
	Message string
	// Path is where in the body: keys and indexes joined by dots.
	Path string
}

func (p Problem) Error() string {
	return p.Message
}

// blanks are JSON's, which may stand around a body.
const blanks = " \t\r\n"

var errManyValues = Problem{Message: "the body has too many values"}

// Parse returns the body of a delivery as a tree, by its content and its label: JSON, XML, or a form,
// urlencoded or in parts; if it is empty, the query as a form. A text at the top that is itself JSON,
// under a name such as `rawRequest` or `payload`, is what it contains.
func Parse(delivery core.Delivery) (*Value, error) {
	left := maxValues
	body, err := parseBody(delivery, &left)
	if err != nil {
		return nil, err
	}
	// Form builders send the whole answer as JSON in one field.
	for at, member := range body.members {
		if slices.Contains(jsonNames, letters(member.name)) {
			body.members[at].value = jsonIn(member.value, &left)
		}
	}
	return body, nil
}

// jsonNames are the usual names of a text that is JSON, as letters returns them.
var jsonNames = []string{"rawrequest", "datajson", "message", "payload", "data", "json", "lead", "body"}

func parseBody(delivery core.Delivery, left *int) (*Value, error) {
	label, body := Header(delivery, "content-type"), strings.TrimPrefix(ContentText(delivery.Body), "\ufeff")
	body = strings.Trim(body, blanks)
	media, _, _ := strings.Cut(label, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	switch {
	case body == "" && len(delivery.Query) > 0:
		return queryForm(delivery), nil
	case body == "":
		return nil, Problem{Message: "the body is empty"}
	case media == "multipart/form-data":
		return parseMultipart(label, raw(delivery.Body))
	case body[0] == '{' || body[0] == '[':
		return parseJSON(body, left)
	case body[0] == '<':
		return parseXML(body)
	case body[0] == '"':
		if value, err := parseJSON(body, left); err == nil {
			return jsonIn(value, left), nil
		}
	}
	if media != "application/x-www-form-urlencoded" && !strings.Contains(body, "=") {
		return nil, Problem{Message: "the body is neither JSON nor XML nor a form (content type `" + label + "`)"}
	}
	// Each name and value of a form has an encoding of its own.
	return ParseForm(strings.TrimPrefix(raw(delivery.Body), "\ufeff"))
}

// jsonIn returns the list or object that a text contains as JSON, even if it was serialised several
// times; else the value itself.
func jsonIn(value *Value, left *int) *Value {
	for inner := value; inner.kind == textKind; {
		text := strings.Trim(inner.raw, blanks)
		if text == "" || strings.IndexByte(`{["`, text[0]) < 0 {
			return value
		}
		parsed, err := parseJSON(text, left)
		if err != nil {
			return value
		}
		if inner = parsed; inner.kind >= listKind {
			return inner
		}
	}
	return value
}

func queryForm(delivery core.Delivery) *Value {
	root := &formNode{}
	for _, field := range delivery.Query {
		root.add(field.F0, withPlus(field.F1))
	}
	return root.object()
}

func raw(body core.Content) string {
	if body.Tag() == core.Content_Text {
		return body.Text()
	}
	return string(body.Bytes())
}

// ContentText returns a body as text; decoded reads bytes, which are not UTF-8.
func ContentText(body core.Content) string {
	return decoded(raw(body))
}

// Header returns the first header of that name, in lower case; "" if there is none.
func Header(delivery core.Delivery, name string) string {
	return first(delivery.Headers, name)
}

// QueryField returns the first field of that name in the query; "" if there is none.
func QueryField(delivery core.Delivery, name string) string {
	return first(delivery.Query, name)
}

func first(pairs []wit.Tuple2[string, string], name string) string {
	for _, pair := range pairs {
		if pair.F0 == name {
			return pair.F1
		}
	}
	return ""
}

// letters returns the letters and digits of a name, in lower case.
func letters(name string) string {
	return strings.Map(func(character rune) rune {
		if unicode.IsLetter(character) || unicode.IsDigit(character) {
			return unicode.ToLower(character)
		}
		return -1
	}, name)
}
