package leadhost

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Fields reads a form of unknown shape by the usual names of its fields: in the form
// itself, in the objects in it that usually hold a lead (`data`, `contact`, ...), and in its
// lists of questions and answers.
// What it returns is marked as read.
type Fields struct {
	form  *Value
	views []*view
	// Whether the name may be an event's, or says nothing without a phone or an e-mail address.
	nameUnsure bool
	// The contacts of the lead.
	phones, emails []string
}

// view is one object in which fields of the lead may be.
type view struct {
	fields       []Field // With folded names.
	person, root bool
	ofFields     bool   // Whether its id is a single field's.
	about        bool   // Whether it describes where the lead comes from.
	questions    bool   // Whether the names are the questions of a form.
	asked        *Value // The answers by their questions, if the fields are made of them.
}

// Bounds of the search: real leads are three levels deep, with dozens of fields.
const (
	maxViewDepth  = 5
	maxViews      = 16
	maxViewFields = 1000
)

// The most phones, addresses and attributes of a lead that a host accepts.
const (
	maxContacts   = 20
	maxAttributes = 200
)

// A longer text is not the name of a source.
const maxSource = 200

// What Meta sends as the values of a test lead begins with this.
const testMark = "<test lead"

// NewFields returns the fields of a form, which should be an object.
func NewFields(form *Value) *Fields {
	fields := &Fields{form: form}
	fields.collect(form, "", 0)
	// The object with a phone or an e-mail address comes first.
	best := slices.IndexFunc(fields.views, (*view).hasContact)
	if best > 0 {
		view := fields.views[best]
		fields.views = slices.Insert(slices.Delete(fields.views, best, best+1), 0, view)
	}
	return fields
}

func (f *Fields) collect(value *Value, name string, depth int) {
	if !value.IsObject() || depth > maxViewDepth || len(f.views) == maxViews {
		return
	}
	view := &view{person: slices.Contains(persons, name), root: depth == 0}
	view.ofFields, view.about = slices.Contains(fieldGroups, name), name == "summary"
	view.questions = slices.Contains(questionGroups, name) || slices.ContainsFunc(value.Fields,
		func(field Field) bool { return strings.Contains(field.Name, "?") })
	f.views = append(f.views, view)
	view.fields = folded(value)
	for _, field := range view.fields {
		asked := questions(field.Name, field.Value, value)
		if asked != nil && len(f.views) < maxViews {
			answers := newView(asked)
			answers.person, answers.questions, answers.asked = true, true, asked
			f.views = append(f.views, answers)
			field.Value.read = true // The answers take the place of the list or the object.
		} else if slices.Contains(containers, field.Name) {
			f.collect(only(field.Value), field.Name, depth+1)
		}
	}
}

// folded returns the fields of an object by their folded names.
func folded(object *Value) []Field {
	var out []Field
	for _, field := range object.Fields[:min(len(object.Fields), maxViewFields)] {
		out = append(out, Field{Fold(field.Name), field.Value})
	}
	return out
}

// Forms returns the forms of a body with their paths: those of a list, of a list under
// `leads`, of the changes that Meta sends, or the body itself.
func Forms(body *Value) (forms []*Value, paths []string) {
	for of, entry := range listed(body, "entry") {
		for at, change := range listed(entry, "changes") {
			value := change
			if change.IsObject() {
				value = cmp.Or(change.child("value"), &Value{})
			}
			forms = append(forms, value)
			paths = append(paths, "entry."+strconv.Itoa(of)+".changes."+strconv.Itoa(at)+".value")
		}
	}
	if len(forms) > 0 {
		return forms, paths
	}
	list, prefix := body, ""
	if leads := body.child("leads"); body.IsObject() && leads != nil && leads.Kind == Array {
		list, prefix = leads, "leads."
	}
	if list.Kind != Array {
		return []*Value{body}, []string{""}
	}
	for index := range list.Items {
		paths = append(paths, prefix+strconv.Itoa(index))
	}
	return list.Items, paths
}

// listed returns the items of a list in an object, none if it is something else.
func listed(value *Value, name string) []*Value {
	if !value.IsObject() || value.child(name) == nil {
		return nil
	}
	return value.child(name).Items
}

// Take returns the text at the first of the paths that has one, or "".
func (f *Fields) Take(paths ...string) string {
	return f.form.Text(paths...)
}

// ExternalID returns the lead's id, or "".
func (f *Fields) ExternalID() string {
	if id := f.first(ids, func(view *view) bool { return !view.about }); id != "" {
		return id
	}
	// Typeform's own id of a response.
	isResponse := func(view *view) bool { return view.values("formid") != nil && view.values("answers") != nil }
	if id := f.first([]string{"token"}, isResponse); id != "" {
		return id
	}
	return f.first(plainIDs, func(view *view) bool { return !view.person && !view.ofFields })
}

// IsTest reports whether the lead is a test: a field says so, or a value is Meta's for a test
// lead.
func (f *Fields) IsTest() bool {
	said := f.first(tests, func(*view) bool { return true })
	isMarked := func(field Field) bool { return strings.HasPrefix(inner(field.Value).Scalar(), testMark) }
	return slices.Contains(yes, Fold(said)) ||
		slices.ContainsFunc(f.views, func(view *view) bool { return slices.ContainsFunc(view.fields, isMarked) })
}

// IsLead reports whether what was read is a lead, which the mapping converter asks in the same
// way: it has a phone or an e-mail address, or an id and a form's answers, or a name with an id,
// a message or a listing.
func (f *Fields) IsLead(lead Lead) bool {
	isAnswered := lead.ExternalID != "" && slices.ContainsFunc(f.views, (*view).hasAnswers)
	isNamed := lead.Name != "" && !f.nameUnsure
	isMore := lead.ExternalID != "" || lead.Message != "" || len(lead.Listings) > 0
	return len(lead.Phones) > 0 || len(lead.Emails) > 0 || isAnswered || isNamed && isMore
}

// Name returns the person's name, joined from its parts, or "".
func (f *Fields) Name() string {
	// Beside an object with the contact, or the answers of a form, `name` is rather a form's.
	best := f.views[0]
	apart := best.hasContact() && !best.root && (best.questions || !best.person)
	for index, view := range f.views {
		plain := !apart || index == 0 || view.person || view.questions
		if name := view.name(plain); name != "" {
			f.nameUnsure = view.root && view.isEvent()
			return name
		}
	}
	f.nameUnsure = true
	for _, view := range f.views {
		if name := view.whole(nameWords); name != "" {
			return name
		}
		if name := join(view.whole(firstNameWords), view.whole(lastNameWords)); name != "" {
			return name
		}
	}
	return ""
}

// Phones returns the phones as they were written, best first, with the codes beside them.
func (f *Fields) Phones() []string {
	var out []string
	for _, view := range f.views {
		for _, name := range phones {
			out = view.phones(out, name, func(text string) bool { return len(digits(text)) > 3 })
		}
	}
	usual := len(out)
	for _, view := range f.views {
		if usual > 0 {
			break
		}
		for _, field := range view.fields {
			if isPhoneName(field.Name) {
				out = view.phones(out, field.Name, looksLikePhone)
			}
		}
		if view.code("", []string{"ddd", "areacode"}) == nil {
			continue
		}
		for _, name := range numbers {
			out = view.phones(out, name, looksLikePhone)
		}
	}
	for _, field := range f.answers(len(out)) {
		out = field.view.phones(out, field.Name, isFullPhone)
	}
	f.phones = out
	return out
}

// answers returns the answers of forms that are not about other people, if nothing else was
// found.
func (f *Fields) answers(found int) []answer {
	var out []answer
	for _, view := range f.views {
		for _, field := range view.fields {
			if found == 0 && view.questions && !isOthers(field.Name) {
				out = append(out, answer{field, view})
			}
		}
	}
	return out
}

type answer struct {
	Field
	view *view
}

// Emails returns the e-mail addresses, best first.
func (f *Fields) Emails() []string {
	var out []string
	for _, view := range f.views {
		for _, name := range emails {
			out = view.emails(out, name)
		}
	}
	usual := len(out)
	for _, view := range f.views {
		if usual > 0 {
			break
		}
		for _, field := range view.fields {
			if isEmailName(field.Name) {
				out = view.emails(out, field.Name)
			}
		}
	}
	for _, field := range f.answers(len(out)) {
		out = field.view.emails(out, field.Name)
	}
	f.emails = out
	return out
}

// Message returns the message, or "".
func (f *Fields) Message() string {
	return f.first(messages, func(*view) bool { return true })
}

// Listings returns the listings: the workspace's own references first, then the portal's
// others.
func (f *Fields) Listings() []Listing {
	var client, portal []string
	add := func(list *[]string, reference string) {
		if reference != "" && !slices.Contains(*list, reference) {
			*list = append(*list, reference)
		}
	}
	for _, view := range f.views {
		for _, name := range clientListings {
			add(&client, view.first([]string{name}))
		}
		for _, name := range portalListings {
			add(&portal, view.first([]string{name}))
		}
		for _, field := range view.fields {
			if slices.Contains(listingObjects, field.Name) && field.Value.IsObject() {
				object := newView(field.Value)
				add(&client, object.first(listingReferences))
				add(&portal, object.first([]string{"id", "listingid"}))
			}
		}
	}
	var out []Listing
	for _, reference := range client {
		out = append(out, Listing{Kind: "client", Reference: reference})
	}
	for _, reference := range portal {
		if !slices.Contains(client, reference) {
			out = append(out, Listing{Kind: "portal", Reference: reference})
		}
	}
	return out
}

// OccurredAt returns the time of the lead, of one field or of a date and a time of day, or "".
func (f *Fields) OccurredAt() string {
	for _, view := range f.views {
		day, hour := view.find(dates), view.find(hours)
		if strings.Contains(hour.Scalar(), ":") {
			if time := Time(day.Scalar() + " " + hour.Scalar()); time != "" {
				day.take()
				hour.take()
				return time
			}
		}
		for _, name := range times {
			for _, value := range view.values(name) {
				value = inner(value)
				if time := Time(value.Scalar()); time != "" {
					value.take()
					return time
				}
			}
		}
	}
	return ""
}

// Source returns where the lead came from, or "".
func (f *Fields) Source() string {
	for _, view := range f.views {
		if value := view.find(sources); value != nil {
			if utf8.RuneCountInString(value.Scalar()) > maxSource {
				return ""
			}
			return value.take()
		}
	}
	return ""
}

// Campaign returns the fields of the campaign, by the names that the host knows.
func (f *Fields) Campaign() []Attribute {
	var out []Attribute
	for _, field := range campaign {
		if text := f.first(field.usual, func(*view) bool { return true }); text != "" {
			out = append(out, Attribute{field.name, text})
		}
	}
	return out
}

// Rest returns what is not read, as attributes in order of name. An object of which a
// part is read keeps the other parts; empty values are left out. Other people are left out,
// and a note says where they are: an erasure would not find them in an attribute.
func (f *Fields) Rest() []Attribute {
	var left []Field
	rest := rest{phones: f.phones, emails: f.emails}
	add := func(field Field, isAsked bool) {
		// One more than a host accepts is enough: it refuses the lead and says why.
		if len(left) > maxAttributes {
			return
		}
		value := rest.of(field.Value, spot{name: field.Name, path: below("", field.Name)})
		if value.Absent() {
			return
		}
		if isAsked {
			field.Name = free(field.Name, left)
		}
		left = append(left, Field{field.Name, value})
	}
	for _, field := range f.form.Fields {
		add(field, false)
	}
	for _, view := range f.views {
		if view.asked == nil {
			continue
		}
		for _, field := range view.asked.Fields {
			add(field, true)
		}
	}
	slices.Sort(rest.leftOut)
	for _, path := range rest.leftOut {
		noteOnce("the people under `" + path + "` are not kept with the lead; the raw delivery has them")
	}
	var out []Attribute
	for _, field := range ordered(left) {
		out = append(out, Attribute{field.Name, field.Value.JSON()})
	}
	return out
}

func (f *Fields) first(names []string, wanted func(*view) bool) string {
	for _, view := range f.views {
		if !wanted(view) {
			continue
		}
		if text := view.first(names); text != "" {
			return text
		}
	}
	return ""
}

func newView(value *Value) *view {
	return &view{fields: folded(value)}
}

// values returns the values under a folded name that are not absent.
func (v *view) values(name string) []*Value {
	var out []*Value
	for _, field := range v.fields {
		if field.Name == name && !field.Value.Absent() {
			out = append(out, field.Value)
		}
	}
	return out
}

// find returns the value under the first of the names that has a text, or nil.
func (v *view) find(names []string) *Value {
	for _, name := range names {
		for _, value := range v.values(name) {
			if value = inner(value); value.Scalar() != "" {
				return value
			}
		}
	}
	return nil
}

// inner returns the value that has the text: of a list of one, and of `{"value": "..."}`. It is nil
// for a text that is JSON.
func inner(value *Value) *Value {
	value = only(value)
	if value.IsObject() {
		value = value.child("value")
	}
	if isJSON(value.Scalar()) {
		return nil
	}
	return value
}

func (v *view) first(names []string) string {
	return v.find(names).take()
}

func (v *view) hasContact() bool {
	if v.asked != nil && slices.ContainsFunc(v.asked.Fields, isContact) {
		return true
	}
	return slices.ContainsFunc(v.fields, func(field Field) bool {
		isContact := slices.Contains(phones, field.Name) || slices.Contains(emails, field.Name)
		isAnswer := v.questions && !isOthers(field.Name) && looksLikeEmail(inner(field.Value).Scalar())
		return isContact && !field.Value.Absent() || isAnswer
	})
}

func (v *view) hasAnswers() bool {
	return v.asked != nil && slices.ContainsFunc(v.asked.Fields, func(field Field) bool { return !field.Value.IsObject() })
}

func (v *view) isEvent() bool {
	return slices.ContainsFunc(v.fields, func(field Field) bool { return slices.Contains(events, field.Name) })
}

// name returns the name in this object; plain says whether `name` itself is a person's.
func (v *view) name(plain bool) string {
	if name := v.first(fullNames); name != "" {
		return name
	}
	first, last := v.find(firstNames), v.find(lastNames)
	if first != nil && last != nil {
		return join(first.take(), last.take())
	}
	if !plain {
		return ""
	}
	for _, name := range plainNames {
		for _, value := range v.values(name) {
			text := ""
			// A name in its parts; an object named `contact` is a person instead.
			if only(value).IsObject() && !strings.HasPrefix(name, "cont") {
				text = newView(only(value)).name(true)
			}
			if value = inner(value); text == "" && mayBeName(value.Scalar()) {
				text = value.take()
			}
			if text != "" {
				return text
			}
		}
	}
	for _, field := range v.fields {
		value := inner(field.Value)
		if v.questions && isNameQuestion(field.Name) && mayBeName(value.Scalar()) {
			return value.take()
		}
	}
	if first != nil {
		return first.take()
	}
	return last.take()
}

// whole returns the text under a name that says whose it is: `buyer_name`,
// `nomeDoComprador`.
func (v *view) whole(words []string) string {
	isLead := func(rest string) bool { return slices.Contains(leadWords, rest) }
	for _, field := range v.fields {
		isOwn := slices.ContainsFunc(words, func(word string) bool {
			before, isEnd := strings.CutSuffix(field.Name, word)
			after, isStart := strings.CutPrefix(field.Name, word)
			return isEnd && isLead(before) || isStart && slices.ContainsFunc(
				[]string{"", "do", "da", "de", "del"},
				func(of string) bool {
					person, isOf := strings.CutPrefix(after, of)
					return isOf && isLead(person)
				})
		})
		if value := inner(field.Value); isOwn && mayBeName(value.Scalar()) {
			return value.take()
		}
	}
	return ""
}

// phones adds the phones under a name, with the codes that are beside them.
func (v *view) phones(out []string, name string, fits func(string) bool) []string {
	for _, value := range v.values(name) {
		for _, number := range nodes(value) {
			var area, country *Value
			if number.IsObject() {
				object := newView(number)
				number = object.find(phoneNodes)
				area, country = object.find(areaCodes), object.find(countryCodes)
				if object.isPhoneOnly() {
					area = cmp.Or(object.find(phoneAreas), area)
				}
			} else {
				number = inner(number)
			}
			text := cmp.Or(number.Whole(), number.Scalar())
			if !fits(text) || len(out) == maxContacts {
				continue
			}
			number.take()
			if area == nil {
				area = v.code(name, areaCodes)
			}
			if country == nil {
				country = v.code(name, countryCodes)
			}
			text = withCodes(text, area, country)
			if !slices.ContainsFunc(out, func(known string) bool { return samePhone(known, text) }) {
				out = append(out, text)
			}
		}
	}
	return out
}

// isPhoneOnly reports whether an object has nothing but the parts of a phone.
func (v *view) isPhoneOnly() bool {
	parts := [][]string{phones, phoneNodes, areaCodes, phoneAreas, countryCodes, phoneDetails}
	return !slices.ContainsFunc(v.fields, func(field Field) bool {
		return !slices.ContainsFunc(parts, func(list []string) bool { return slices.Contains(list, field.Name) })
	})
}

// code returns the code that belongs to a phone's name: `ddd_celular` or `celular_ddd` of
// `celular`, `ddd2` of `telefone2`, else `contactDDD` of `contactPhone`, or one without the
// name of a phone.
func (v *view) code(phone string, names []string) *Value {
	var plain, ofOwner *Value
	phone = stem(phone)
	for _, name := range names {
		for _, field := range v.fields {
			rest, isCode := strings.CutPrefix(field.Name, name)
			if !isCode {
				rest, isCode = strings.CutSuffix(field.Name, name)
			}
			text := field.Value.Scalar()
			if !isCode || digits(text) == "" || len(text) > 6 || hasLetters(text) {
				continue
			}
			isNumber := rest != "" && digits(rest) == rest && strings.HasSuffix(phone, rest)
			if rest != "" && (stem(rest) == phone || isNumber) {
				return field.Value
			}
			if ofOwner == nil && isOfOwner(phone, rest) {
				ofOwner = field.Value
			}
			if rest == "" && plain == nil {
				plain = field.Value
			}
		}
	}
	if ofOwner != nil {
		return ofOwner
	}
	return plain
}

// stem returns the name of a phone without the words around it, as its code has it.
func stem(name string) string {
	for _, word := range []string{"numerode", "numerodo", "numero", "number"} {
		name = strings.TrimPrefix(name, word)
	}
	return strings.TrimSuffix(strings.TrimSuffix(name, "numero"), "number")
}

// isOfOwner reports whether a phone's name is that of its owner with a usual name of a phone.
func isOfOwner(phone, owner string) bool {
	before, isEnd := strings.CutSuffix(phone, owner)
	after, isStart := strings.CutPrefix(phone, owner)
	return owner != "" && (isEnd && slices.Contains(phones, stem(before)) ||
		isStart && slices.Contains(phones, stem(after)))
}

func (v *view) emails(out []string, name string) []string {
	for _, value := range v.values(name) {
		for _, node := range nodes(value) {
			address := node
			if node.IsObject() {
				object := newView(node)
				if address = object.find(emails); address == nil {
					address = object.find([]string{"value", "address"})
				}
			}
			if looksLikeEmail(address.Scalar()) && len(out) < maxContacts {
				if text := address.take(); !slices.Contains(out, text) {
					out = append(out, text)
				}
			}
		}
	}
	return out
}

// nodes returns the items of a list, or the value alone.
func nodes(value *Value) []*Value {
	if value.Kind == Array {
		return value.Items
	}
	return []*Value{value}
}

// only returns the only item of a list, and any other value as it is.
func only(value *Value) *Value {
	if value.Kind == Array && len(value.Items) == 1 {
		return value.Items[0]
	}
	return value
}

// join joins the parts of a name, unless the first one is the whole name.
func join(first, last string) string {
	if strings.HasSuffix(strings.ToLower(first), strings.ToLower(last)) {
		return first
	}
	return strings.TrimSpace(first + " " + last)
}

// withCodes adds the codes beside a phone, if it has none itself. A code that is not used
// stays an attribute.
func withCodes(phone string, area, country *Value) string {
	number := digits(phone)
	if strings.HasPrefix(phone, "+") || len(number) > 11 {
		return phone
	}
	if code := strings.TrimLeft(digits(area.Scalar()), "0"); code != "" && len(code) <= 4 && len(number) < 10 {
		area.take()
		phone = "(" + code + ") " + phone
	}
	if code := digits(country.Scalar()); code != "" && len(code) <= 3 {
		country.take()
		// A number of North America may have its country code already.
		if code == "1" && len(number) == 11 && number[0] == '1' {
			return "+" + phone
		}
		phone = "+" + code + " " + phone
	}
	return phone
}

// samePhone reports whether two spellings are one number: it may come whole and without
// its codes.
func samePhone(a, b string) bool {
	x, y := digits(a), digits(b)
	return a == b ||
		min(len(x), len(y)) >= 8 && (strings.HasSuffix(x, y) || strings.HasSuffix(y, x))
}
