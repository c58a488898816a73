// Bodies of the type multipart/form-data. A delimiter counts only at the beginning of a line, so
// the time grows with the length of the body and no faster. The last delimiter may be missing.

import { problem } from "./plugin.js";

/** RFC 2046 allows 70 characters; some senders use a few more. */
const MAX_BOUNDARY = 200;
/** A form has some dozen fields. */
const MAX_PARTS = 1000;
/** The length of the headers of one part. */
const MAX_HEADERS = 8 * 1024;

/**
 * Returns the parts as names and texts, in their order: of a file, its name. `decode` makes a
 * text of a piece of the body. Throws a problem, which refuses the whole delivery.
 */
export function multipartFields(contentType, body, decode) {
  const boundary = parameter(contentType, "boundary") ?? "";
  if (boundary === "" || boundary.length > MAX_BOUNDARY) {
    throw problem("the multipart body's boundary is missing or too long");
  }
  const delimiter = `--${boundary}`;
  const fields = [];
  const add = (part) => {
    if (fields.length === MAX_PARTS) {
      throw problem(`the multipart body has more than ${MAX_PARTS} parts`);
    }
    fields.push(field(part.replace(/\r?\n?$/, ""), decode));
  };
  let begin;
  for (let line = 0, end = 0; end !== -1; line = end + 1) {
    end = body.indexOf("\n", line);
    const rest = body.startsWith(delimiter, line)
      ? body.slice(line + delimiter.length, end === -1 ? body.length : end)
      : undefined;
    if (rest === undefined || !/^(--)?[ \t\r]*$/.test(rest)) {
      continue;
    }
    if (begin !== undefined) {
      add(body.slice(begin, line));
    }
    if (rest.startsWith("--")) {
      return fields;
    }
    begin = end === -1 ? body.length : end + 1;
  }
  if (begin === undefined) {
    throw problem("the multipart body has no delimiter in it");
  }
  if (begin < body.length) {
    add(body.slice(begin));
  }
  return fields;
}

function field(part, decode) {
  // A part without headers begins with an empty line.
  const [blank] = /^\r?\n/.exec(part) ?? /\n\r?\n/.exec(part) ?? [""];
  const end = blank === "" ? part.length : part.indexOf(blank);
  if (end > MAX_HEADERS) {
    throw problem("a part of the multipart body has too long headers");
  }
  let [name, file] = ["", undefined];
  for (const line of decode(part.slice(0, end)).split("\n")) {
    const colon = line.indexOf(":");
    if (line.slice(0, Math.max(colon, 0)).trim().toLowerCase() === "content-disposition") {
      name = parameter(line.slice(colon + 1), "name") ?? "";
      file = parameter(line.slice(colon + 1), "filename");
    }
  }
  return [name, file ?? decode(part.slice(end + blank.length))];
}

/** Returns a parameter of a header: `name=value` or `name="value"`. */
function parameter(header, wanted) {
  const semicolon = header.indexOf(";");
  const given = semicolon === -1 ? "" : header.slice(semicolon);
  const form = /[;\s]*([^=;]*)(=(?:"((?:\\["\\]|[^"])*)"?|([^;]*)))?/g;
  for (const [, name, value, quoted, plain] of given.matchAll(form)) {
    if (value !== undefined && name.trim().toLowerCase() === wanted) {
      // Other backslashes belong to a Windows path, as old browsers sent it.
      return quoted?.replace(/\\(["\\])/g, "$1") ?? plain.trimEnd();
    }
  }
  return undefined;
}
