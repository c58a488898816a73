package reading

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	core "leadhost/sdk/internal/generated/leadhost_types_core"
	wit "leadhost/sdk/internal/generated/wit/types"
)

// cases reads a file of the cases that the SDKs of all languages have in common.
func cases(t *testing.T, file string, into any) {
	t.Helper()
	content, err := os.ReadFile("../../../cases/" + file)
	if err == nil {
		err = json.Unmarshal(content, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func parsed(t *testing.T, text string) *Value {
	t.Helper()
	value, err := ParseJSON(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

func delivery(label string, body core.Content) core.Delivery {
	return core.Delivery{Headers: []wit.Tuple2[string, string]{{F0: "content-type", F1: label}}, Body: body}
}

func TestBodies(t *testing.T) {
	var all []struct {
		About, ContentType, Body, Tree, Problem string
		Base64                                  []byte
		Query                                   [][2]string
	}
	cases(t, "bodies.json", &all)
	for _, c := range all {
		given := delivery(c.ContentType, core.MakeContentText(c.Body))
		if c.Base64 != nil {
			given.Body = core.MakeContentBytes(c.Base64)
		}
		for _, field := range c.Query {
			given.Query = append(given.Query, wit.Tuple2[string, string]{F0: field[0], F1: field[1]})
		}
		tree, err := Parse(given)
		if c.Problem != "" {
			if problem, ok := err.(Problem); !ok || !strings.HasPrefix(problem.Message, c.Problem) {
				t.Errorf("%s: the error is %v", c.About, err)
			}
		} else if err != nil {
			t.Errorf("%s: %v", c.About, err)
		} else if expect := parsed(t, c.Tree).JSON(); tree.JSON() != expect {
			t.Errorf("%s: the tree is %s, not %s", c.About, tree.JSON(), expect)
		}
	}
}

func TestPaths(t *testing.T) {
	var all struct {
		Tree  string
		Cases []struct {
			Path, Text, At, List string
			Number               *float64
			Texts                []string
		}
	}
	cases(t, "paths.json", &all)
	tree := parsed(t, all.Tree)
	for _, c := range all.Cases {
		if text := tree.Text(c.Path); text != c.Text {
			t.Errorf("%s: the text is %q", c.Path, text)
		}
		if number, found := tree.Number(c.Path); found != (c.Number != nil) || found && number != *c.Number {
			t.Errorf("%s: the number is %v", c.Path, number)
		}
		if texts := tree.Texts(c.Path); c.Texts != nil && !slices.Equal(texts, c.Texts) {
			t.Errorf("%s: the texts are %q", c.Path, texts)
		}
		if at := tree.At(c.Path).JSON(); c.At != "" && at != c.At {
			t.Errorf("%s: the value is %s", c.Path, at)
		}
		if list := Encode("list", tree.List(c.Path)).JSON(); c.List != "" && list != parsed(t, c.List).JSON() {
			t.Errorf("%s: the list is %s", c.Path, list)
		}
	}
}

func TestAMalformedPathPanicsWithItsMistake(t *testing.T) {
	for _, path := range []string{
		"", " ", ".", "a.", ".a", "a..b", "a[", "a[x]", `a["b]`, "a[?b]", "a[?b=c", `"a`, "a[0]b", `"a"b`, "a[?b[?c=d]=e]",
	} {
		func() {
			defer func() {
				if message, _ := recover().(string); !strings.HasPrefix(message, "path `"+path+"`: ") {
					t.Errorf("%q: %q", path, message)
				}
			}()
			parsed(t, `{"a":1}`).Text(path)
		}()
	}
}

func TestValues(t *testing.T) {
	var all map[string][]struct {
		Text, Area, Country, Phone, Email, Time, Join, Value, JSON string
		Yes                                                        bool
		Number                                                     *float64
		Texts                                                      []string
	}
	cases(t, "values.json", &all)
	for kind, values := range all {
		for _, c := range values {
			result, expect := "", c.Phone+c.Email+c.Time+c.Join+c.JSON
			switch kind {
			case "phone":
				result = Phone(c.Text, c.Area, c.Country)
			case "email":
				result = Email(c.Text)
			case "time":
				result = Time(c.Text)
			case "join":
				result = Join(c.Texts...)
			case "yes":
				if Yes(c.Text) != c.Yes {
					t.Errorf("%s: yes is not %v", c.Text, c.Yes)
				}
			case "number":
				number, found := (&Value{kind: textKind, raw: c.Text}).Number()
				if found != (c.Number != nil) || found && number != *c.Number {
					t.Errorf("%s: the number is %v", c.Text, number)
				}
			case "attribute":
				if value := Encode("value", parsed(t, c.Value)); !value.IsAbsent() {
					result = value.JSON()
				}
			default:
				t.Errorf("there is no %s", kind)
			}
			if result != expect {
				t.Errorf("%s of %+v: %q", kind, c, result)
			}
		}
	}
}

func TestValuesOfGoAreJSON(t *testing.T) {
	given := map[string]any{"a": []any{1, 1.5, uint8(2), "x", nil, true}, "b": []string{"y"}, "c": map[string]int{"d": -3}}
	if out := Encode("body", given).JSON(); out != `{"a":[1,1.5,2,"x",null,true],"b":["y"],"c":{"d":-3}}` {
		t.Errorf("it is %s", out)
	}
	defer func() {
		if message, _ := recover().(string); !strings.HasPrefix(message, "`budget` must be a text") {
			t.Errorf("it panics with %q", message)
		}
	}()
	Encode("budget", struct{}{})
}

func TestJSONIsWrittenAsItWasRead(t *testing.T) {
	for _, text := range []string{
		`{"a":[],"b":{},"c":[null,true,{"d":"x\"y\\ã"}],"id":9007199254740993.10}`, `[1e400,-0]`, `""`,
	} {
		if out := parsed(t, "\ufeff "+text).JSON(); out != text {
			t.Errorf("%s became %s", text, out)
		}
	}
	for _, text := range []string{"", "{", `{"a":1}x`, `{"a" 1}`, `"\ud80"`, `"\ud83d\u12"`, `"\`, `"a`, strings.Repeat("[", 100_000)} {
		if _, err := ParseJSON(text); err == nil {
			t.Errorf("%.20s is accepted", text)
		}
	}
}

func TestBracketsOfAFormMakeATree(t *testing.T) {
	for body, expect := range map[string]string{
		"a=1&b=x+y%C3%A3%&c":     `{"a":"1","b":"x yã%","c":""}`,
		"a=1&a[b]=2&a=3":         `{"a":{"":["1","3"],"b":"2"}}`,
		"a=1&a[]=2":              `{"a":{"":"1","0":"2"}}`,
		"a[1]=x&a[]=y&a[]=z":     `{"a":["y","x","z"]}`,
		"a[7]=x&a[]=y&=z":        `{"0":"z","a":{"0":"y","7":"x"}}`,
		"a=S\xe3o+Jos%E9&%e9=1":  `{"a":"São José","é":"1"}`,
		"a=%96+%80&b=J%C3%A3%C3": `{"a":"– €","b":"Jã�"}`,
		"a=Oi%e2%80&b=%f0%9f%98": `{"a":"Oi�","b":"�"}`,
	} {
		if out, err := ParseForm(body); err != nil || out.JSON() != expect {
			t.Errorf("%s became %s, not %s", body, out.JSON(), expect)
		}
	}
}

func TestMalformedXMLIsRefusedWithItsPlace(t *testing.T) {
	_, err := parseXML("<a>\n <b></c></a>")
	if err == nil || !strings.HasSuffix(err.Error(), "a closing tag has no opening one at line 2 column 5") {
		t.Error(err)
	}
	for _, body := range []string{
		"<", "<a", "<a>", "</a>", "<a b></a>", "<a b=c></a>", "<a b=\"></a>", "<!--", "<!DOCTYPE [", "<?", "<![CDATA[",
		strings.Repeat("<a>", 65), strings.Repeat("<a/>", 9) + "</a>" + "x", "</>",
	} {
		if tree, err := parseXML(body); err == nil && body[:4] != "<a/>" {
			t.Errorf("%.20s became %s", body, tree.JSON())
		}
	}
}

// Each body is as long as the host takes, and none takes more than seconds or the memory of a call.
func TestHostileBodiesEndSoon(t *testing.T) {
	repeat := func(piece string) string { return strings.Repeat(piece, (4<<20)/len(piece)) }
	for _, body := range []string{
		repeat("<"), repeat("<a"), repeat("<a>"), "<r>" + repeat("<a/>"), "<r>" + repeat("&"), "<r " + repeat("a=''"), "<r>" + repeat("<!["),
		"<r>" + repeat("<!--"), "<!" + repeat("["), "<r>" + repeat("]]>"), repeat("["), "[" + repeat("0,"), "[" + repeat("[],"), "[" + repeat(`"",`),
		repeat(`"`), `"` + repeat(`\"`), `{"a":` + repeat(`"\\`), repeat("&"), repeat("a=&"), repeat("a[]=&"), "a" + repeat("["), "a" + repeat("[]") + "=1",
		repeat("%"), repeat("=+"), repeat("\xe2\x80=") + "\xff", repeat("{\"a\":"), `{"lead":"` + repeat("[0,") + `"}`, repeat("\n"),
	} {
		for _, label := range []string{"", "application/x-www-form-urlencoded", "multipart/form-data; boundary=a"} {
			begin := time.Now()
			if tree, err := Parse(delivery(label, core.MakeContentText(body))); err == nil {
				tree.Text("a", "r.a", "[*].a", "[*][*]")
				tree.List("*")
			}
			if took := time.Since(begin); took > 3*time.Second {
				t.Errorf("%.10s as %q took %s", body, label, took)
			}
		}
	}
}

func TestDamagedBodiesDoNotPanic(t *testing.T) {
	for _, body := range []string{
		`{"leads":[{"phones":[{"ddd":"11","value":"9\u00e9"}],"e-mail":["a@b.c", 1.5e3, true, null]}]}`,
		`<?xml?><!DOCTYPE a [x]><a b="1&amp;2"><c>&#233;</c><![CDATA[x]]><c/><!-- --></a>`, "a[b][]=1&c=%41+%&d[=2",
	} {
		for end := range body {
			_, _ = Parse(delivery("", core.MakeContentText(body[:end])))
			_, _ = Parse(delivery("", core.MakeContentBytes([]byte(body[end:]+"\xff"))))
		}
	}
}
