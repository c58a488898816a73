package converter

import (
	"errors"
	"strings"
	"testing"

	"leadhost/sdk/internal/converterfunctions"
	contract "leadhost/sdk/internal/generated/leadhost_converter_converter"
	core "leadhost/sdk/internal/generated/leadhost_types_core"
)

// converted returns what the host gets of a converter whose Convert returns this.
func converted(items []Item, err error) (contract.Conversion, string) {
	Export(Converter{
		Describe: func() Description { return Description{Name: "test"} },
		Convert:  func(Delivery) (Conversion, error) { return Conversion{Items: items}, err },
	})
	result := converterfunctions.Convert(Delivery{Body: core.MakeContentText("")})
	if err != nil {
		return contract.Conversion{}, result.Err().Message
	}
	return result.Ok(), ""
}

func TestALeadHasWhatIsNotAbsentOnce(t *testing.T) {
	lead := Lead{Name: " Ana ", Message: " ", Phones: []string{"", "1", " 1 ", "2"}, Emails: []string{" "}}
	lead.AddListing("client", "")
	lead.AddListing("client", "AP-9")
	lead.AddCampaign("utm-source", " ")
	lead.AddAttribute("none", nil)
	lead.AddAttribute("blank", " ")
	lead.AddAttribute("rooms", 3)
	conversion, _ := converted([]Item{lead.Item()}, nil)
	given := conversion.Items[0].Outcome.Lead()
	if given.Name.SomeOr("") != "Ana" || given.Message.IsSome() || given.Action != "create" {
		t.Errorf("the lead is %+v", given)
	}
	if strings.Join(given.Phones, ",") != "1,2" || len(given.Emails)+len(given.Campaign) != 0 || len(given.Listings) != 1 {
		t.Errorf("the lead is %+v", given)
	}
	if len(given.Attributes) != 1 || given.Attributes[0].F0 != "rooms" || given.Attributes[0].F1 != "3" {
		t.Errorf("the attributes are %v", given.Attributes)
	}
}

func TestAnInvalidItemOfSeveralHasItsPlace(t *testing.T) {
	conversion, _ := converted([]Item{Lead{ExternalID: "1"}.Item(), Lead{Source: "x"}.Item(), Invalid("no", "a.1")}, nil)
	second := conversion.Items[1].Outcome.Invalid()
	if second.Path != "1" || second.Message != "the lead has no id, name, phone, e-mail address, message or listing" {
		t.Errorf("it is %+v", second)
	}
	if third := conversion.Items[2].Outcome.Invalid(); third.Path != "a.1" {
		t.Errorf("it is %+v", third)
	}
	conversion, _ = converted([]Item{Lead{}.Item()}, nil)
	if alone := conversion.Items[0].Outcome.Invalid(); alone.Path != "" {
		t.Errorf("it is %+v", alone)
	}
}

func TestAnItemThatPanicsIsInvalidAndTheOthersAreGiven(t *testing.T) {
	body, err := ParseJSON(`[{"name": "Ana"}, {"name": ""}]`)
	if err != nil {
		t.Fatal(err)
	}
	read := func(item *Value) Item {
		return Lead{Name: item.Text("name")[0:3]}.Item()
	}
	conversion, _ := converted(ReadEach(body.List(), read), nil)
	if name := conversion.Items[0].Outcome.Lead().Name.SomeOr(""); name != "Ana" {
		t.Errorf("the name is %q", name)
	}
	bad := conversion.Items[1].Outcome.Invalid()
	if bad.Path != "1" || !strings.Contains(bad.Message, "out of range") {
		t.Errorf("it is %+v", bad)
	}
	defer func() {
		if recover() == nil {
			t.Error("a body without a good item is no crash")
		}
	}()
	ReadEach(body.List()[1:], read)
}

func TestAProblemRefusesTheBodyAndAnyOtherErrorIsACrash(t *testing.T) {
	if _, message := converted(nil, Problem{Message: "no leads"}); message != "no leads" {
		t.Errorf("the message is %q", message)
	}
	defer func() {
		if crash, _ := recover().(error); crash == nil || !strings.HasSuffix(crash.Error(), "out of sorts") {
			t.Errorf("it is %v", crash)
		}
	}()
	converted(nil, errors.New("out of sorts"))
}

func TestNotesAreThoseOfTheCall(t *testing.T) {
	Note("of another call")
	lead := Lead{Name: "Ana"}.Item()
	conversion, _ := converted([]Item{lead}, nil)
	if len(conversion.Notes) != 0 {
		t.Errorf("the notes are %q", conversion.Notes)
	}
}

func TestWhatAConverterLeavesOutHasADefault(t *testing.T) {
	converted(nil, nil)
	if checks := converterfunctions.SenderChecks("{}").Ok(); len(checks.Checks) != 0 || len(checks.CarriedSecrets) != 20 {
		t.Errorf("the policy is %+v", checks)
	}
	if converterfunctions.Handshake(Delivery{}).Ok().IsSome() {
		t.Error("there is a handshake")
	}
	if failure := converterfunctions.Complete(Completion{}).Err(); failure.Category != "give-up" {
		t.Errorf("the failure is %+v", failure)
	}
}
