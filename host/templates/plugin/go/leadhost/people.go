package leadhost

import (
	"slices"
	"strings"
)

// Other people in a lead's body: objects with a phone or an e-mail address of their own. As an
// attribute of the lead, an erasure of theirs would not find them.

const (
	// Objects in a person that hold a part of it.
	maxPersonDepth = 8
	// Places that are noted, and the length of a path there.
	maxTold = 20
	maxPath = 200
)

// rest makes what is not read of a form, without other people.
type rest struct {
	phones, emails []string // The phones and e-mail addresses of the lead.
	leftOut        []string // The places of other people.
}

// spot is where a value is: under a name, in an object of a business or not, as an item of a
// list or not, at a depth.
type spot struct {
	name, path         string
	inBusiness, isItem bool
	depth              int
}

// of returns what is left of a value, nil if nothing is; the value itself if all of it is.
func (r *rest) of(value *Value, at spot) *Value {
	if value.read {
		return nil
	}
	if value.Kind == String {
		return r.ofText(value, at)
	}
	at.depth++
	if at.depth > MaxDepth && value.Kind >= Array {
		// Only in a text is anything as deep. It is not read, so there may be people in it.
		return r.leaveOut(at.path)
	}
	if value.IsObject() {
		at.inBusiness = isBusiness(Fold(at.name), at.inBusiness)
		if (at.isItem || !at.inBusiness) && r.isOtherPerson(at.name, value) {
			return r.leaveOut(at.path)
		}
	}
	left, changed := &Value{Kind: value.Kind, Raw: value.Raw}, false
	for _, item := range value.Items {
		at.isItem = true
		rest := r.of(item, at)
		changed = changed || rest != item
		if !rest.Absent() {
			left.Items = append(left.Items, rest)
		}
	}
	for _, field := range value.Fields {
		rest := r.of(field.Value, spot{field.Name, below(at.path, field.Name), at.inBusiness, false, at.depth})
		changed = changed || rest != field.Value
		if !rest.Absent() {
			left.Fields = append(left.Fields, Field{field.Name, rest})
		}
	}
	if changed {
		return left
	}
	return value
}

// ofText returns a text, nil if it is JSON with other people in it.
func (r *rest) ofText(value *Value, at spot) *Value {
	text := strings.TrimSpace(value.Raw)
	if text == "" || !strings.ContainsAny(text[:1], "{[") {
		return value
	}
	inner, err := ParseJSON(text)
	if err != nil {
		return value
	}
	told := len(r.leftOut)
	at.isItem = false
	if r.of(inner, at) == inner {
		return value
	}
	r.leftOut = r.leftOut[:told]
	return r.leaveOut(at.path)
}

func (r *rest) isOtherPerson(name string, value *Value) bool {
	phones, emails := contactsIn(value, 0)
	isPerson := len(phones) > 0 || len(emails) > 0
	// The phones of one person are objects with a phone as well.
	if isPhone, isEmail := asksFor(Fold(name)); isPhone || isEmail {
		isPerson = len(phones) > 0 && len(emails) > 0
	}
	if !isPerson || hasRead(value) {
		return false
	}
	if question, ok := questionWithAnswer(value, "", nil); ok && question.Value != nil {
		return false
	}
	isOthers := func(phone string) bool {
		return !slices.ContainsFunc(r.phones, func(own string) bool { return samePhone(own, phone) })
	}
	return slices.ContainsFunc(phones, isOthers) || slices.ContainsFunc(emails, func(email string) bool {
		return !slices.ContainsFunc(r.emails, func(own string) bool { return strings.EqualFold(own, email) })
	})
}

// leaveOut notes the place of a person, and returns nil.
func (r *rest) leaveOut(path string) *Value {
	if len(r.leftOut) < maxTold && !slices.Contains(r.leftOut, path) {
		r.leftOut = append(r.leftOut, path)
	}
	return nil
}

func hasRead(value *Value) bool {
	return value.read || slices.ContainsFunc(value.Items, hasRead) ||
		slices.ContainsFunc(value.Fields, func(field Field) bool { return hasRead(field.Value) })
}

// contactsIn returns the phones and the e-mail addresses of an object, and of those in it that
// hold a part of a person.
func contactsIn(object *Value, depth int) (phones, emails []string) {
	for _, field := range object.Fields {
		name := Fold(field.Name)
		isPhone, isEmail := asksFor(name)
		inside := []*Value{field.Value}
		if isPhone || isEmail {
			inside = nodes(field.Value)
		} else if !slices.Contains(containers, name) {
			continue
		}
		for _, node := range inside {
			texts := []string{node.Scalar()}
			for _, part := range node.Fields {
				if name := Fold(part.Name); slices.Contains(phoneNodes, name) || name == "address" {
					texts = append(texts, part.Value.Scalar())
				}
			}
			for _, text := range texts {
				if isPhone && looksLikePhone(text) {
					phones = append(phones, text)
				} else if isEmail && looksLikeEmail(text) {
					emails = append(emails, text)
				}
			}
			if depth < maxPersonDepth {
				morePhones, moreEmails := contactsIn(node, depth+1)
				phones, emails = append(phones, morePhones...), append(emails, moreEmails...)
			}
		}
	}
	return phones, emails
}

// below returns the path of a member; a hostile one is cut.
func below(path, name string) string {
	whole := path + name
	if path != "" && name != "" {
		whole = path + "." + name
	}
	if len(whole) > maxPath {
		return path
	}
	return whole
}
