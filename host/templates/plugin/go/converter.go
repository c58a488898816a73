// {{name}} turns the requests of its source into leads.
package main

import leadhost "leadhost/sdk/converter"

func init() {
	leadhost.Export(leadhost.Converter{Describe: describe, Convert: convert})
}

func main() {} // Go wants one; the host calls the functions above.

// Raise the version with every change.
func describe() leadhost.Description {
	return leadhost.Description{Name: "{{name}}", Version: "1.0.0", Summary: "Leads of {{name}}"}
}

func convert(delivery leadhost.Delivery) (leadhost.Conversion, error) {
	body, err := leadhost.Parse(delivery)
	if err != nil {
		return leadhost.Conversion{}, err
	}
	items := leadhost.ReadEach({{items}}, func(item *leadhost.Value) leadhost.Item {
		return readLead(item, body)
	})
	return leadhost.Conversion{Items: items}, nil
}

// A path that leads to nothing leaves its field empty.
func readLead(item, body *leadhost.Value) leadhost.Item {
	var lead leadhost.Lead
{{lead}}
	return lead.Item()
}
