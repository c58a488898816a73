// Package converter has what a converter needs: it reads the requests of a lead source and returns leads.
//
// An absent text is "", and a blank one is absent. A method on a nil *Value acts as on null.
package converter

import (
	"errors"
	"fmt"

	"leadhost/sdk/internal/converterfunctions"
	_ "leadhost/sdk/internal/generated/converter_exports"
	contract "leadhost/sdk/internal/generated/leadhost_converter_converter"
	core "leadhost/sdk/internal/generated/leadhost_types_core"
	wit "leadhost/sdk/internal/generated/wit/types"
	"leadhost/sdk/internal/plugin"
)

// The types of the contract.
type (
	Delivery          = core.Delivery
	Description       = core.Description
	SecretDeclaration = core.SecretDeclaration
	SenderPolicy      = core.SenderPolicy
	SenderCheck       = core.SenderCheck
	Location          = core.Location
	SignedPart        = core.SignedPart
	HandshakeAnswer   = core.HandshakeAnswer
	Requirement       = core.Requirement
	Reply             = core.Reply
	Segment           = core.Segment
	Request           = core.HttpRequest
	Completion        = contract.Completion
)

// Converter has the functions of a converter. All but Describe and Convert may be nil.
type Converter struct {
	// Describe says who the converter is.
	Describe func() Description
	// Convert returns the leads of a delivery. A Problem refuses the whole body; any other error is a crash.
	Convert func(Delivery) (Conversion, error)
	// SenderChecks says how senders prove themselves. Nil: they need not, and the host masks the usual
	// secrets in a body.
	SenderChecks func(config string) (SenderPolicy, error)
	// Handshake answers a GET that verifies the address. Nil, or a nil answer: the source has none.
	Handshake func(Delivery) (*HandshakeAnswer, error)
	// Complete returns the items that the answer to a Fetch gives, or a Failure.
	Complete func(Completion) ([]Item, error)
}

// Conversion is what a delivery becomes. Without a reply the host answers with its own JSON.
type Conversion struct {
	Items []Item
	Reply *Reply
}

// Failure is an error of Complete. Its category is `retry` (later), `stop` (the connection's credential
// is at fault) or `give-up` (this item is lost).
type Failure struct {
	Category string
	Message  string
	// RetryAfterSeconds is 0 if the source does not say.
	RetryAfterSeconds uint32
}

func (f Failure) Error() string {
	return f.Message
}

// Export makes these functions the plugin's. Call it in a function init.
func Export(converter Converter) {
	if converter.Describe == nil || converter.Convert == nil {
		panic("a converter needs Describe and Convert")
	}
	converterfunctions.Describe = converter.Describe
	converterfunctions.SenderChecks = func(config string) wit.Result[SenderPolicy, core.Problem] {
		if converter.SenderChecks == nil {
			return plugin.Result(Checks(), nil)
		}
		return plugin.Result(converter.SenderChecks(config))
	}
	converterfunctions.Handshake = func(delivery Delivery) wit.Result[wit.Option[HandshakeAnswer], core.Problem] {
		if converter.Handshake == nil {
			return plugin.Handshake(nil, nil)
		}
		return plugin.Handshake(converter.Handshake(delivery))
	}
	converterfunctions.Convert = func(delivery Delivery) wit.Result[contract.Conversion, core.Problem] {
		plugin.TakeNotes()
		conversion, err := converter.Convert(delivery)
		return plugin.Result(conversion.contract(), err)
	}
	converterfunctions.Complete = func(completion Completion) wit.Result[[]contract.Item, contract.Failure] {
		if converter.Complete == nil {
			return completed(nil, Failure{Category: "give-up", Message: "this converter fetches nothing"})
		}
		return completed(converter.Complete(completion))
	}
}

// contract returns the conversion with the notes. An invalid item of several has its index as its path.
func (c Conversion) contract() contract.Conversion {
	for index, item := range c.Items {
		if item.Outcome.Tag() != contract.Outcome_Invalid || len(c.Items) == 1 {
			continue
		}
		if problem := item.Outcome.Invalid(); problem.Path == "" {
			c.Items[index] = Invalid(problem.Message, fmt.Sprint(index))
		}
	}
	return contract.Conversion{Items: c.Items, Reply: plugin.Option(c.Reply), Notes: plugin.TakeNotes()}
}

func completed(items []Item, err error) wit.Result[[]contract.Item, contract.Failure] {
	var failure Failure
	if err == nil {
		return wit.Ok[[]contract.Item, contract.Failure](items)
	}
	if !errors.As(err, &failure) {
		panic(fmt.Errorf("Complete returned an error that is no Failure: %w", err))
	}
	return wit.Err[[]contract.Item](contract.Failure{
		Category: failure.Category, Message: failure.Message, RetryAfterSeconds: plugin.Seconds(failure.RetryAfterSeconds),
	})
}

// Checks returns a policy with these checks; those whose secret the connection has must all pass. The
// host masks the values of the usual secrets in a body.
func Checks(checks ...SenderCheck) SenderPolicy {
	return SenderPolicy{Checks: checks, CarriedSecrets: usualSecrets()}
}

// HmacSha256Hex returns the check of a hex HMAC-SHA256 of the raw body in a header.
func HmacSha256Hex(secret, header, prefix string) SenderCheck {
	proof := Location{Place: "header", Name: header}
	return SenderCheck{Secret: secret, Scheme: "hmac-sha256", Proof: proof, Encoding: "hex", Prefix: prefix}
}

func usualSecrets() []Location {
	var places []Location
	for _, name := range []string{
		"google_key", "apikey", "api_key", "api-key", "x-api-key", "access_token", "accessToken",
		"refresh_token", "refreshToken", "session_token", "id_token", "auth_token", "authToken",
		"client_secret", "clientSecret", "app_secret", "private_key", "password", "passwd", "senha",
	} {
		places = append(places, Location{Place: "json", Name: name})
	}
	return places
}
