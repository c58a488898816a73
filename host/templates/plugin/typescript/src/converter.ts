// Reads the leads of {{name}}: an object, or a list of objects.
//
// A value under a usual name (`nome`, `first_name`, `telefone`, `e-mail`, …) fills its
// field, wherever it is; everything else but other people is kept as an attribute.
// `fields.take("deal.ref")` reads a name that is not usual, by its path. Raise the version with
// each change.

import {
  conversion,
  defineConverter,
  description,
  Fields,
  formsIn,
  invalid,
  isObject,
  type Item,
  type Json,
  lead,
  parseBody,
} from "../leadhost-sdk/index.js";

export const converter = defineConverter({
  describe: () => description("{{name}}", "1.0.0", "Leads of {{name}}"),

  convert(delivery) {
    const forms = formsIn(parseBody(delivery));
    return conversion(forms.map(([form, path]) => read(form, path)));
  },
});

function read(form: Json, path: string): Item {
  if (!isObject(form)) {
    return invalid("a lead must be an object", path);
  }
  const fields = new Fields(form);
  const found = {
    externalId: fields.externalId(),
    isTest: fields.isTest(),
    name: fields.name(),
    phones: fields.phones(),
    emails: fields.emails(),
    listings: fields.listings(),
    message: fields.message(),
    occurredAt: fields.occurredAt(),
    source: fields.source(),
    campaign: fields.campaign(),
  };
  if (!fields.isLead(found)) {
    return invalid("the lead has no phone, no e-mail address and no name with an id or a message", path);
  }
  // Last: what nothing above has read.
  return lead({ ...found, attributes: fields.rest() });
}
