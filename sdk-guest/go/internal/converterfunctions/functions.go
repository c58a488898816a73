// Package converterfunctions has the functions of the plugin, which the generated exports call.
package converterfunctions

import (
	contract "leadhost/sdk/internal/generated/leadhost_converter_converter"
	core "leadhost/sdk/internal/generated/leadhost_types_core"
	wit "leadhost/sdk/internal/generated/wit/types"
)

// Describe is called before the others.
var Describe = func() core.Description {
	panic("no function init calls leadhost.Export")
}

var (
	SenderChecks func(config string) wit.Result[core.SenderPolicy, core.Problem]
	Handshake    func(core.Delivery) wit.Result[wit.Option[core.HandshakeAnswer], core.Problem]
	Convert      func(core.Delivery) wit.Result[contract.Conversion, core.Problem]
	Complete     func(contract.Completion) wit.Result[[]contract.Item, contract.Failure]
)
