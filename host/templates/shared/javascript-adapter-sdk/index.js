// What an adapter needs beside the language. `index.d.ts` describes it for editors.

import "./console.js";

export {
  accepted,
  defineAdapter,
  event,
  eventsIn,
  hmacSha256Hex,
  inbound,
  literal,
  postJson,
  refusal,
  refused,
  requested,
  retryAfter,
  secret,
  status,
  timeText,
  unknown,
  webhook,
} from "./adapter.js";
export { bodyText, contentType, header, parseBody, parseForm, queryField } from "./body.js";
export { isAbsent, isObject, jsonText, parseJson, textAt, textOf } from "./json.js";
export { description, note, problem } from "./plugin.js";
