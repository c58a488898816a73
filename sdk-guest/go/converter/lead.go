package converter

import (
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	contract "leadhost/sdk/internal/generated/leadhost_converter_converter"
	core "leadhost/sdk/internal/generated/leadhost_types_core"
	wit "leadhost/sdk/internal/generated/wit/types"
	"leadhost/sdk/internal/plugin"
	"leadhost/sdk/internal/reading"
)

type (
	Consent = contract.Consent
	Listing = contract.Listing
	// Item is a part of a delivery: a lead, or why there is none.
	Item = contract.Item
)

// Lead is a lead; "" stands for an absent text, also in a list.
type Lead struct {
	ExternalID string
	// Action is `create` (also if it is empty), `update` or `delete`.
	Action string
	IsTest bool
	Name   string
	// Phones and Emails have the best one first.
	Phones []string
	Emails []string
	// Region is the country that phones without a country code are of, ISO 3166 alpha-2.
	Region   string
	Listings []Listing
	Message  string
	// OccurredAt is RFC 3339, or local in the connection's time zone.
	OccurredAt string
	Source     string
	Consents   []Consent
	Campaign   []Pair
	// Attributes are names and JSON texts.
	Attributes []Pair
	// Route says which connection it belongs to if one address serves several.
	Route []Pair
}

// Pair is a name and a value.
type Pair struct{ Name, Value string }

// AddListing adds a listing, unless the reference is absent. The kind is `client` (the workspace's own
// reference), `portal`, or the source's word.
func (l *Lead) AddListing(kind, reference string) {
	l.Listings = append(l.Listings, Listing{Kind: kind, Reference: reference})
}

// AddCampaign adds a text of the campaign, such as `utm-source`, unless it is absent.
func (l *Lead) AddCampaign(name, text string) {
	l.Campaign = append(l.Campaign, Pair{name, text})
}

// AddAttribute adds a value of the body or of Go as JSON, unless it is absent. It panics for a value
// that JSON does not have.
func (l *Lead) AddAttribute(name string, value any) {
	if encoded := reading.Encode(name, value); !encoded.IsAbsent() {
		l.Attributes = append(l.Attributes, Pair{name, encoded.JSON()})
	}
}

// Item returns the lead as an item of a conversion: an invalid one if nothing says who or what it is.
func (l Lead) Item() Item {
	lead := contract.Lead{
		ExternalId: plugin.OptionalText(l.ExternalID),
		Action:     plugin.OptionalText(l.Action).SomeOr("create"),
		IsTest:     l.IsTest,
		Name:       plugin.OptionalText(l.Name),
		Phones:     present(l.Phones),
		Emails:     present(l.Emails),
		Region:     plugin.OptionalText(l.Region),
		Message:    plugin.OptionalText(l.Message),
		OccurredAt: plugin.OptionalText(l.OccurredAt),
		Source:     plugin.OptionalText(l.Source),
		Consents:   l.Consents,
		Campaign:   pairs(l.Campaign),
		Attributes: pairs(l.Attributes),
	}
	for _, listing := range l.Listings {
		if listing.Reference = plugin.Clean(listing.Reference); listing.Reference != "" {
			lead.Listings = append(lead.Listings, listing)
		}
	}
	hasText := lead.ExternalId.IsSome() || lead.Name.IsSome() || lead.Message.IsSome()
	if !hasText && len(lead.Phones)+len(lead.Emails)+len(lead.Listings) == 0 {
		return Invalid("the lead has no id, name, phone, e-mail address, message or listing")
	}
	return Item{Route: pairs(l.Route), Outcome: contract.MakeOutcomeLead(lead)}
}

// ReadEach returns what read makes of each value. One for which it panics is an invalid item with the reason, and
// the others are given; if it panics for all of them, the call ends.
func ReadEach(values []*Value, read func(*Value) Item) []Item {
	items := make([]Item, 0, len(values))
	var crashes []any
	for _, value := range values {
		items = append(items, guarded(value, read, &crashes))
	}
	if len(crashes) > 0 && len(crashes) == len(values) {
		panic(crashes[0])
	}
	return items
}

// maxLogged is how many errors of items are in the log with their places.
const maxLogged = 3

func guarded(value *Value, read func(*Value) Item, crashes *[]any) (item Item) {
	defer func() {
		if crash := recover(); crash != nil {
			*crashes = append(*crashes, crash)
			if len(*crashes) <= maxLogged {
				fmt.Fprintf(os.Stderr, "panic: %v\n%s", crash, debug.Stack())
			}
			item = Invalid(fmt.Sprint(crash))
		}
	}()
	return read(value)
}

// Invalid returns an item that cannot be read; the others of the body are not affected. Its path is
// the item's key in the body, by default its index.
func Invalid(message string, path ...string) Item {
	problem := core.Problem{Message: plugin.Clean(message), Path: strings.Join(path, ".")}
	return Item{Outcome: contract.MakeOutcomeInvalid(problem)}
}

// Ignored returns an item about which nothing is to be done, and why.
func Ignored(why string) Item {
	return Item{Outcome: contract.MakeOutcomeIgnored(plugin.Clean(why))}
}

// Fetch returns an item whose lead is elsewhere: the host makes the request and calls Complete with the
// answer and the state, at most 64 KiB.
func Fetch(externalID string, request Request, state []byte) Item {
	fetch := contract.Fetch{ExternalId: plugin.OptionalText(externalID), Request: request, State: state}
	return Item{Outcome: contract.MakeOutcomeFetch(fetch)}
}

// present returns the texts that are not absent, each once.
func present(texts []string) []string {
	var out []string
	for _, text := range texts {
		if text = plugin.Clean(text); text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// pairs returns those whose value is not absent.
func pairs(given []Pair) []wit.Tuple2[string, string] {
	var out []wit.Tuple2[string, string]
	for _, pair := range given {
		if value := plugin.Clean(pair.Value); value != "" {
			out = append(out, wit.Tuple2[string, string]{F0: pair.Name, F1: value})
		}
	}
	return out
}
