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
			out.items = append(out.items, Encode(name, value.Index(index).Interface()))
		}
		return out
	case reflect.Map:
		out := &Value{kind: objectKind}
		for members := value.MapRange(); members.Next(); {
			member := Encode(name, members.Value().Interface())
			out.fields = append(out.fields, field{fmt.Sprint(members.Key().Interface()), member})
		}
		out.fields = ordered(out.fields)
		return out
	}
	// Not a number: NaN, a struct, a function.
	encoded, err := ParseJSON(fmt.Sprint(given))
	if err != nil || !value.CanInt() && !value.CanUint() && !value.CanFloat() {
		panic(fmt.Sprintf("`%s` must be a text, a number, a boolean, or a list or map of these, not %T", name, given))
	}
	return encoded
}
