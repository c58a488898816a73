package leadhost

import (
	"slices"
	"strings"
	"testing"
)

func parsed(t *testing.T, text string) *Value {
	t.Helper()
	value, err := ParseJSON(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

func TestJSONIsWrittenAsItWasRead(t *testing.T) {
	for _, text := range []string{
		`{"a":[],"b":{},"c":[null,true,{"d":"x\"y\\ã"}],"id":9007199254740993.10}`, `[1e400,-0]`, `""`,
	} {
		if out := parsed(t, "\ufeff "+text).JSON(); out != text {
			t.Errorf("%s became %s", text, out)
		}
	}
}

func TestWhatIsNotJSONIsRefused(t *testing.T) {
	bodies := []string{
		"", "{", "a=1", `{"a":1}x`, `{"a" 1}`, `"\ud80"`, `"\ud83d\u12"`, strings.Repeat("[", 100_000),
	}
	for _, body := range bodies {
		if _, err := ParseJSON(body); err == nil {
			t.Errorf("%.20s is accepted", body)
		}
	}
	if text := parsed(t, `"\ud83d \ud83d\uDE00\udc00x"`).Scalar(); text != "\ufffd 😀\ufffdx" {
		t.Errorf("half a pair became %q", text)
	}
	if text := parsed(t, `"\ud83d\ude00\u00e3\ufffd \\ud800"`).Scalar(); text != "😀ã\ufffd \\ud800" {
		t.Errorf("the escapes became %q", text)
	}
}

func TestTheFirstPathWithATextWins(t *testing.T) {
	value := parsed(t, `{"none":null,"blank":" ","a":{"b":" x ","c.d":[{"e":"y"},2]}}`)
	for _, c := range []struct{ paths, expect string }{
		{"none|blank|missing|a.b", "x"},
		{`a."c.d"[0].e`, "y"},
		{`a["c.d"][1]`, "2"},
		{`a.b.c|a[0]|a."c.d"[9]|a`, ""},
	} {
		if text := value.Text(strings.Split(c.paths, "|")...); text != c.expect {
			t.Errorf("%s is %q, not %q", c.paths, text, c.expect)
		}
	}
}

func TestBracketsOfAFormMakeATree(t *testing.T) {
	for body, expect := range map[string]string{
		"":                       `{}`,
		"a=1&b=x+y%C3%A3%&c":     `{"a":"1","b":"x yã%","c":""}`,
		"a=1&a=2&a=3":            `{"a":["1","2","3"]}`,
		"a[]=1&a[]=2":            `{"a":["1","2"]}`,
		"a[0][n]=x&a[0][v]=y":    `{"a":[{"n":"x","v":"y"}]}`,
		"a[5]=x&a[b=1":           `{"a":{"5":"x"},"a[b":"1"}`,
		"a=1&a[b]=2":             `{"a":{"":"1","b":"2"}}`,
		"a=1&a[b]=2&a=3":         `{"a":{"":["1","3"],"b":"2"}}`,
		"a=1&a[]=2":              `{"a":{"":"1","0":"2"}}`,
		"a[1]=x&a[]=y&a[]=z":     `{"a":["y","x","z"]}`,
		"a[7]=x&a[]=y&=z":        `{"0":"z","a":{"0":"y","7":"x"}}`,
		"a=S\xe3o+Jos%E9&%e9=1":  `{"a":"São José","é":"1"}`,
		"a=%96+%80&b=J%C3%A3%C3": `{"a":"– €","b":"Jã�"}`,
		"a=Oi%e2%80&b=%f0%9f%98": `{"a":"Oi�","b":"�"}`,
		"f[tel][value]=1&0=zero": `{"0":"zero","f":{"tel":{"value":"1"}}}`,
	} {
		if out := ParseForm(body).JSON(); out != expect {
			t.Errorf("%s became %s, not %s", body, out, expect)
		}
	}
}

func TestSpellingsOfANameAreOne(t *testing.T) {
	for _, name := range []string{"Full Name", "FULL_NAME", "fullName", "q3_fullName", "fúll-name:"} {
		if Fold(name) != "fullname" {
			t.Errorf("%s is folded to %s", name, Fold(name))
		}
	}
}

func TestOfTwoMembersWithOneNameTheLastCounts(t *testing.T) {
	if out := parsed(t, `{"b":1,"a":2,"b":{"c":3,"c":4}}`).JSON(); out != `{"a":2,"b":{"c":4}}` {
		t.Errorf("it became %s", out)
	}
}

func TestACodeThatIsNotUsedIsKept(t *testing.T) {
	fields := NewFields(parsed(t, `{"ddd":"11","phone":"1 555 010 0001","country_code":1,"fax":{"ddd":"12"}}`))
	if phones := fields.Phones(); !slices.Equal(phones, []string{"+1 555 010 0001"}) {
		t.Errorf("the phones are %q", phones)
	}
	rest := fields.Rest()
	if len(rest) != 2 || rest[0] != (Attribute{"ddd", `"11"`}) {
		t.Errorf("the rest is %q", rest)
	}
}

func TestPhonesHaveTheCodesBesideThem(t *testing.T) {
	for body, expect := range map[string]string{
		`{"ddd":"011","whatsapp":"90000-0001","phone":"11900000001"}`:                  "(11) 90000-0001",
		`{"celular_ddd":11,"celular":"90000-0001","ddd2":"21","telefone2":"30000002"}`: "(11) 90000-0001, (21) 30000002",
		`{"phones":[{"type":"home","value":"(11) 3000-0003"},"+351 912 345 670"]}`:     "(11) 3000-0003, +351 912 345 670",
		`{"Qual o seu WhatsApp?":"11 90000-0004","telefone_corretor":"11900000005"}`:   "11 90000-0004",
		`{"contactDDD":"11","contactPhone":"900000001"}`:                               "(11) 900000001",
		`{"TelefoneDDD":"11","TelefoneNumero":"900000001"}`:                            "(11) 900000001",
		`{"whatsapp":true,"ddd":"11","numero":"90000-0006"}`:                           "(11) 90000-0006",
	} {
		if out := strings.Join(NewFields(parsed(t, body)).Phones(), ", "); out != expect {
			t.Errorf("%s has %s, not %s", body, out, expect)
		}
	}
}

func TestNamesAreJoinedFromTheirParts(t *testing.T) {
	for body, expect := range map[string]string{
		`{"nome":"Ana","sobrenome":"Prado"}`:                         "Ana Prado",
		`{"name":"Ana Prado","lastName":"Prado"}`:                    "Ana Prado",
		`{"name":{"first":"Ana","last":"Prado"}}`:                    "Ana Prado",
		`{"name":"Form","data":{"email":"a@example.com","nome":""}}`: "",
		`{"nomeDoComprador":"Ana","contactPhone":"11900000001"}`:     "Ana",
		`{"contact":"ana@example.com"}`:                              "",
	} {
		if out := NewFields(parsed(t, body)).Name(); out != expect {
			t.Errorf("%s has %q, not %q", body, out, expect)
		}
	}
}

func TestQuestionsAndAnswersAreReadLikeTheFieldsOfAForm(t *testing.T) {
	fields := NewFields(parsed(t, `{"name":"Contact form","answers":[
		{"label":"Qual o seu nome?","value":"Ana Prado"},
		{"label":"Contato","type":"tel","value":["11 90000-0001"]},
		{"label":"Prazo","value":{"label":"3 meses"}},{"label":"Prazo","value":2},
		{"label":"Bairro","value":""}]}`))
	if name := fields.Name(); name != "Ana Prado" {
		t.Errorf("the name is %q", name)
	}
	if phones := fields.Phones(); !slices.Equal(phones, []string{"11 90000-0001"}) {
		t.Errorf("the phones are %q", phones)
	}
	expect := []Attribute{{"Prazo", `"3 meses"`}, {"Prazo 2", "2"}, {"name", `"Contact form"`}}
	if rest := fields.Rest(); !slices.Equal(rest, expect) {
		t.Errorf("the rest is %q", rest)
	}
}

func TestAListOfFormsHasOneLeadEach(t *testing.T) {
	for body, expect := range map[string][]string{
		`[1,2]`:                        {"0", "1"},
		`{"leads":[{"a":1}],"page":2}`: {"leads.0"},
		`{"leads":[]}`:                 nil,
		`{"leads":1}`:                  {""},
	} {
		if _, paths := Forms(parsed(t, body)); !slices.Equal(paths, expect) {
			t.Errorf("%s has %q, not %q", body, paths, expect)
		}
	}
}
