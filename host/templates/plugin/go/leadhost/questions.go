package leadhost

import (
	"slices"
	"strconv"
)

// Lists of questions and answers, and objects of them by a key, as form builders send them:
// each question is read as the name of a field, and its answer as the field's value.

// A longer list is no form: the host takes as many attributes of a lead.
const maxQuestions = 200

// Objects and lists around one answer.
const maxWrapped = 5

// questions returns the answers by their questions, in order of these, of a list or an object
// with this folded name, or nil if it is something else: a question with its answer is all that
// each of its elements has, and its own name is a usual one, or one of the answers is a phone or
// an e-mail address. The key of an object's member is its question, if it has none itself.
func questions(name string, list, beside *Value) *Value {
	isForm := slices.Contains(questionLists, name)
	if len(list.Items) > maxQuestions || len(list.Fields) > maxQuestions ||
		isUsualContact(name) || isOthers(name) && !isForm {
		return nil
	}
	items := list.Fields // An array has none, and its items have no key.
	for _, item := range list.Items {
		items = append(items, Field{"", item})
	}
	titles, out := titlesIn(beside), &Value{Kind: Object}
	for _, item := range items {
		if item.Value.Absent() {
			continue
		}
		pair, ok := questionWithAnswer(item.Value, item.Name, titles)
		if !ok {
			return nil
		}
		if pair.Value != nil {
			pair.Name = free(pair.Name, out.Fields)
			out.Fields = append(out.Fields, pair)
		}
	}
	out.Fields = ordered(out.Fields)
	if len(out.Fields) == 0 || !isForm && !slices.ContainsFunc(out.Fields, isContact) {
		return nil
	}
	return out
}

// free returns a name, with a number if another field has it already: `Phone 2`.
func free(name string, taken []Field) string {
	out := name
	for number := 2; slices.ContainsFunc(taken, func(field Field) bool { return field.Name == out }); number++ {
		out = name + " " + strconv.Itoa(number)
	}
	return out
}

// isContact reports whether a question asks for a phone or an e-mail address, and the answer
// is one.
func isContact(pair Field) bool {
	isPhone, isEmail := asksFor(Fold(pair.Name))
	text := pair.Value.Scalar()
	return isPhone && looksLikePhone(text) || isEmail && looksLikeEmail(text)
}

// asksFor reports whether a folded question asks for a phone, and for an e-mail address.
func asksFor(name string) (isPhone, isEmail bool) {
	return slices.Contains(phones, name) || isPhoneName(name), slices.Contains(emails, name) || isEmailName(name)
}

func isUsualContact(name string) bool {
	return slices.Contains(phones, name) || slices.Contains(emails, name)
}

// isUsual reports whether a name is a usual one of what a question asks for.
func isUsual(name string) bool {
	lists := [][]string{fullNames, firstNames, lastNames, plainNames, messages}
	return isNameQuestion(name) ||
		slices.ContainsFunc(lists, func(list []string) bool { return slices.Contains(list, name) })
}

// questionWithAnswer returns a question and its answer, which is nil if it has none. It
// reports whether the item is one at all.
func questionWithAnswer(item *Value, key string, titles map[string]string) (pair Field, ok bool) {
	if !item.IsObject() {
		return pair, false
	}
	fields := map[string]*Value{}
	for _, field := range slices.Backward(item.Fields) {
		fields[Fold(field.Name)] = field.Value
	}
	// Some answers are under the name of their type.
	names, kind := answerNames, Fold(fields["type"].Scalar())
	if kind != "" && !slices.Contains(questionNames, kind) {
		names = append(slices.Clone(names), kind)
	}
	at, hasAnswer := "", false
	for _, name := range names {
		value, ok := fields[name]
		hasAnswer = hasAnswer || ok
		if at == "" && !value.Absent() {
			at = name
		}
	}
	for name := range fields {
		// A person is no question.
		if isUsualContact(name) && !slices.Contains(names, name) {
			return pair, false
		}
	}
	if at == "" {
		return pair, hasAnswer
	}
	answer := unwrapped(fields[at])
	if answer.Absent() {
		return pair, true
	}
	pair = Field{questionOf(fields, key, at, answer, titles), answer}
	return pair, pair.Name != "" && !isRecord(pair)
}

// questionOf returns the name that says most: one that asks for a contact and has it, or has
// it by its type, then one that asks for a name or a message, then the most readable one.
func questionOf(fields map[string]*Value, key, at string, answer *Value, titles map[string]string) string {
	id := fields["field"].At("id").Scalar()
	for _, name := range []string{"questionid", "id"} {
		if id == "" {
			id = fields[name].Scalar()
		}
	}
	asked, isOther := []string{titles[id]}, false
	for _, name := range questionNames {
		// A key takes the place of the question's id, after all names that say more.
		if key != "" && name == "questionid" {
			asked = append(asked, key)
		} else if name != at {
			asked = append(asked, questionIn(fields[name]))
		}
	}
	asked = slices.DeleteFunc(asked, func(name string) bool { return name == "" })
	for _, name := range asked {
		isOther = isOther || isOthers(Fold(name))
	}
	all := slices.Clone(asked)
	for _, name := range kinds {
		if kind := fields[name].Scalar(); kind != "" && !isOther {
			all = append(all, kind)
		}
	}
	if index := slices.IndexFunc(all, func(name string) bool { return isContact(Field{name, answer}) }); index >= 0 {
		return all[index]
	}
	if index := slices.IndexFunc(asked, func(name string) bool { return isUsual(Fold(name)) }); index >= 0 {
		return asked[index]
	}
	return append(all, "")[0]
}

// questionIn returns the text of a question, or of an object that describes it.
func questionIn(value *Value) string {
	if !value.IsObject() {
		return value.Scalar()
	}
	for _, name := range []string{"title", "label", "name", "ref", "id"} {
		if text := value.child(name).Scalar(); text != "" {
			return text
		}
	}
	return ""
}

// titlesIn returns the titles of questions, by their ids, that a source sends beside the
// answers.
func titlesIn(beside *Value) map[string]string {
	listed, titles := beside.child("questions"), map[string]string{}
	if definition := beside.child("definition"); definition.IsObject() {
		listed = definition.child("fields")
	}
	if listed == nil {
		return titles
	}
	for _, one := range slices.Backward(listed.Items[:min(len(listed.Items), maxQuestions)]) {
		id, title := one.child("id").Scalar(), one.child("title").Scalar()
		if id != "" && title != "" {
			titles[id] = title
		}
	}
	return titles
}

// unwrapped returns what is in objects and lists that have nothing else, or the label of a
// choice.
func unwrapped(value *Value) *Value {
	for range maxWrapped {
		inner := only(value)
		if value.IsObject() {
			for _, name := range []string{"label", "labels", "other"} {
				if label := value.child(name); label != nil && inner == value {
					inner = label
				}
			}
			if len(value.Fields) == 1 {
				inner = value.Fields[0].Value
			}
		}
		if inner == value {
			break
		}
		value = inner
	}
	return value
}

// isRecord reports whether an answer has a person or more answers in it, so that the list is
// one of leads.
func isRecord(pair Field) bool {
	isPhone, isEmail := asksFor(Fold(pair.Name))
	return !isPhone && !isEmail &&
		(slices.ContainsFunc(pair.Value.Items, (*Value).IsObject) ||
			slices.ContainsFunc(pair.Value.Fields, func(field Field) bool { return isUsualContact(Fold(field.Name)) }))
}
