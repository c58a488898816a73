package reading

import (
	"fmt"
	"reflect"
)

// Encode returns a value of Go as a value: a text, a number, a boolean, nil, a *Value, and lists and
// maps of these. It panics for any other, with the name that the value was given under.
func Encode(name string, given any) *Value {
	if value, ok := given.(*Value); ok {
		return value
	}
	value := reflect.ValueOf(given)
	switch value.Kind() {
	case reflect.Invalid:
		return nil
	case reflect.String:
		return &Value{kind: textKind, raw: value.String()}
	case reflect.Bool:
		return &Value{kind: booleanKind, raw: fmt.Sprint(value.Bool())}
	case reflect.Slice, reflect.Array:
		out := &Value{kind: listKind}
		for index := range value.Len() {
			out.members = append(out.members, member{value: Encode(name, value.Index(index).Interface())})
		}
		return out
	case reflect.Map:
		out := &Value{kind: objectKind}
		for members := value.MapRange(); members.Next(); {
			key := fmt.Sprint(members.Key().Interface())
			out.members = append(out.members, member{key, Encode(name, members.Value().Interface())})
		}
		return out.ordered()
	}
	// Not a number: NaN, a struct, a function.
	encoded, err := ParseJSON(fmt.Sprint(given))
	if err != nil || !value.CanInt() && !value.CanUint() && !value.CanFloat() {
		panic(fmt.Sprintf("`%s` must be a text, a number, a boolean, or a list or map of these, not %T", name, given))
	}
	return encoded
}
