// The body of a source of leads. An adapter reads its bodies as they are: `body.js`.

import { parseBody as parsed } from "./body.js";
import { isObject, parseJson } from "./json.js";
import { fold } from "./looks.js";
import { JSON_TEXTS } from "./names.js";

/** Returns the body as JSON values. Throws a problem, which refuses the whole delivery. */
export function parseBody(delivery) {
  const body = parsed(delivery);
  for (const [name, value] of isObject(body) ? Object.entries(body) : []) {
    // Form builders send the whole answer as JSON in one field, where no path leads into a
    // text. A text that is not JSON stays.
    const isJson = typeof value === "string" && /^[ \t\r\n]*[{[]/.test(value);
    if (isJson && JSON_TEXTS.includes(fold(name))) {
      body[name] = parseJson(value) ?? value;
    }
  }
  return body;
}
