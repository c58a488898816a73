// Reads the leads of {{name}}. Each field has the path of its value, such as `contact.phones[0]`, `"key.with.dots"` or
// `answers[?question=Budget].text`; what is not there is left out. Raise the version with each change.

import {
  at,
  attribute,
  conversion,
  defineConverter,
  description,
  email,
  join,
  lead,
  list,
  listing,
  parse,
  phone,
  readEach,
  text,
  texts,
  time,
  yes,
} from "leadhost-sdk";

export const converter = defineConverter({
  describe: () => description("{{name}}", "1.0.0", "Leads of {{name}}"),

  convert(delivery) {
    const body = parse(delivery);
    const items = readEach({{items}}, (item) =>
      lead({
{{lead}}
      }),
    );
    return conversion(items);
  },
});
