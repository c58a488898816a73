package adapter

import (
	"strings"
	"testing"

	core "leadhost/sdk/internal/generated/leadhost_types_core"
)

func TestARequestHasTheWholeURL(t *testing.T) {
	request := PostJSON("https://api.provider.example:8443/v1/a%20b?x=1+2&y=%26#z", map[string]any{"n": []int{1}})
	if request.Scheme != "https" || request.Authority != "api.provider.example:8443" || request.Path[0].Literal() != "/v1/a%20b" {
		t.Errorf("the request is %+v", request)
	}
	if len(request.Query) != 2 || request.Query[0].F1[0].Literal() != "1 2" || request.Query[1].F1[0].Literal() != "&" {
		t.Errorf("the query is %+v", request.Query)
	}
	if request.Body[0].Literal() != `{"n":[1]}` || request.Headers[0].F0 != "content-type" {
		t.Errorf("the request is %+v", request)
	}
	if local := NewRequest("GET", "http://127.0.0.1:8080"); local.Scheme != "http" || local.Path[0].Literal() != "/" {
		t.Errorf("the request is %+v", local)
	}
	defer func() {
		if message, _ := recover().(string); !strings.HasPrefix(message, "the URL `ftp://x/` must begin with https://") {
			t.Errorf("it panics with %q", message)
		}
	}()
	NewRequest("GET", "ftp://x/")
}

func TestATemplateWithoutAMeaningIsRefused(t *testing.T) {
	for _, template := range []string{"{}", `{"name":"x"}`, "null", "{"} {
		_, err := Requested(TemplateSend{Template: template})
		if refused, _ := err.(Refused); refused.Category != "request" {
			t.Errorf("%s: %v", template, err)
		}
	}
	template, err := Requested(TemplateSend{Template: `{"name":"x","language":"pt","components":[
		{"type":"BODY","parameters":[{"text":"Ana"},{"text":7}]},{"type":"body","parameters":[{"text":"no"}]}]}`})
	if err != nil || template.Language != "pt" || strings.Join(template.Values, ",") != "Ana,7" {
		t.Errorf("%+v, %v", template, err)
	}
}

func TestEventsAreAListUnderAKey(t *testing.T) {
	for body, expect := range map[string]string{
		`{"events":[1,{}]}`: "", `{"events":[]}`: "", `{}`: "the body has no list `events`",
		`{"events":1}`: "the body has no list `events`", `events=1`: "the body is not valid JSON",
	} {
		events, err := EventsIn(Delivery{Body: core.MakeContentText(body)}, "events")
		if expect == "" && err != nil || expect != "" && (err == nil || err.Error() != expect) {
			t.Errorf("%s: %v, %v", body, events, err)
		}
	}
	event := Other("nothing", NewRoute("number", ""), NewRoute("page", "1"))
	if len(event.Route) != 1 || event.Route[0].F0 != "page" {
		t.Errorf("the route is %v", event.Route)
	}
}
