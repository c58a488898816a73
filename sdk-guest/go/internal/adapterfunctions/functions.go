// Package adapterfunctions has the functions of the plugin, which the generated exports call.
package adapterfunctions

import (
	contract "leadhost/sdk/internal/generated/leadhost_adapter_adapter"
	core "leadhost/sdk/internal/generated/leadhost_types_core"
	wit "leadhost/sdk/internal/generated/wit/types"
)

// Describe is called before the others.
var Describe = func() core.Description {
	panic("no function init calls leadhost.Export")
}

var (
	SenderChecks  func(config string) wit.Result[core.SenderPolicy, core.Problem]
	Routes        func(config string) wit.Result[[]wit.Tuple2[string, string], core.Problem]
	Handshake     func(core.Delivery) wit.Result[wit.Option[core.HandshakeAnswer], core.Problem]
	Send          func(contract.TemplateSend) contract.SendStep
	ReadAnswer    func(contract.TemplateSend, core.HttpResponse) contract.SendAnswer
	ReadWebhook   func(core.Delivery) wit.Result[contract.Webhook, core.Problem]
	ListTemplates func(config string) wit.Result[contract.TemplateStep, core.Problem]
	ReadTemplates func(config string, response core.HttpResponse) wit.Result[contract.TemplatePage, contract.Refused]
)
