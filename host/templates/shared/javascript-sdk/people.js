// Other people in a lead's body: objects with a phone or an e-mail address of their own. As an
// attribute of the lead, an erasure of theirs would not find them.

import { isAbsent, isObject, MAX_DEPTH, parseJson, textOf } from "./json.js";
import { digits, fold, isBusiness, looksLikeEmail, looksLikePhone } from "./looks.js";
import * as names from "./names.js";
import { isQuestion, meaningOf } from "./questions.js";

/** Objects in a person that hold a part of it. */
const MAX_PERSON_DEPTH = 8;
/** Places that are noted, and the length of a path there. */
const MAX_REPORTED = 20;
const MAX_PATH = 200;

const CONTAINERS = new Set(names.CONTAINERS);
/** What an object that is a phone or an e-mail address has it under. */
const VALUES = new Set([...names.NUMBERS, "address"]);

/** What was not read of a form, without other people. */
export class Rest {
  #read;
  #phones;
  #emails;
  /** The places of other people. */
  leftOut = [];

  /** `read` has the keys that were read, of each object and array; the contacts are the lead's. */
  constructor(read, phones, emails) {
    this.#read = read;
    this.#phones = phones;
    this.#emails = emails.map((email) => email.toLowerCase());
  }

  /** Returns the members of an object that is the lead. */
  ofForm(form) {
    const keys = Object.keys(form).filter((key) => !this.#read.get(form)?.has(key));
    const rests = keys.map((key) => [key, this.#of(form[key], { name: key, path: key })]);
    return rests.filter(([, rest]) => !isAbsent(rest));
  }

  /** Returns the rest of a value; the value itself if that is all of it. */
  #of(value, at) {
    if (typeof value === "string") {
      return this.#ofText(value, at);
    }
    const isList = Array.isArray(value);
    if (!isList && !isObject(value)) {
      return value;
    }
    const { name, path, inBusiness = false, isItem = false, depth = 1 } = at;
    if (depth > MAX_DEPTH) {
      // Only in a text is anything as deep. It is not read, so there may be people in it.
      return this.#leaveOut(path);
    }
    const isPublic = isList ? inBusiness : isBusiness(fold(name), inBusiness);
    if (!isList && (isItem || !isPublic) && this.#isOtherPerson(name, value)) {
      return this.#leaveOut(path);
    }
    const read = this.#read.get(value);
    const left = Object.keys(value).map((key) => {
      if (read?.has(isList ? Number(key) : key)) {
        return [key, undefined];
      }
      const inside = { inBusiness: isPublic, isItem: isList, depth: depth + 1 };
      const own = isList ? { name, path } : { name: key, path: below(path, key) };
      return [key, this.#of(value[key], { ...inside, ...own })];
    });
    if (left.every(([key, rest]) => rest === value[key])) {
      return value;
    }
    const given = left.filter(([, rest]) => !isAbsent(rest));
    return isList ? given.map(([, rest]) => rest) : Object.fromEntries(given);
  }

  /** Returns a text, or nothing if it is JSON with other people in it. */
  #ofText(text, at) {
    const inner = /^\s*[{[]/.test(text) ? parseJson(text) : undefined;
    if (inner === undefined) {
      return text;
    }
    const told = this.leftOut.length;
    if (this.#of(inner, { ...at, isItem: false }) === inner) {
      return text;
    }
    this.leftOut.length = told;
    return this.#leaveOut(at.path);
  }

  #isOtherPerson(name, value) {
    const phones = [];
    const emails = [];
    addContacts(value, phones, emails);
    const { isPhone, isEmail } = meaningOf(name);
    const [hasPhone, hasEmail] = [phones.length > 0, emails.length > 0];
    // The phones of one person are objects with a phone as well.
    const isPerson = isPhone || isEmail ? hasPhone && hasEmail : hasPhone || hasEmail;
    if (!isPerson || isQuestion(value) || this.#hasRead(value)) {
      return false;
    }
    const isOwn = phones.every((phone) => this.#phones.some((own) => isSamePhone(own, phone)));
    return !isOwn || !emails.every((email) => this.#emails.includes(email));
  }

  #hasRead(value) {
    const isGroup = Array.isArray(value) || isObject(value);
    return isGroup && (this.#read.has(value) || Object.values(value).some((inner) => this.#hasRead(inner)));
  }

  #leaveOut(path) {
    if (this.leftOut.length < MAX_REPORTED && !this.leftOut.includes(path)) {
      this.leftOut.push(path);
    }
    return undefined;
  }
}

/** One number may come whole and in parts. */
export function isSamePhone(one, other) {
  const [short, long] = [digits(one), digits(other)].sort((a, b) => a.length - b.length);
  return one === other || (short.length >= 8 && long.endsWith(short));
}

/**
 * Adds the phones and the e-mail addresses of an object, and of those in it that hold a part of a
 * person.
 */
function addContacts(value, phones, emails, depth = 0) {
  for (const [key, inner] of Object.entries(value)) {
    const { isPhone, isEmail } = meaningOf(key);
    const isContact = isPhone || isEmail;
    if (!isContact && !CONTAINERS.has(fold(key))) {
      continue;
    }
    for (const node of isContact && Array.isArray(inner) ? inner : [inner]) {
      let texts = [node];
      if (isObject(node)) {
        texts = Object.keys(node).filter((key) => VALUES.has(fold(key))).map((key) => node[key]);
        if (depth < MAX_PERSON_DEPTH) {
          addContacts(node, phones, emails, depth + 1);
        }
      }
      for (const text of texts.map(textOf).filter((text) => text !== undefined)) {
        if (isPhone && looksLikePhone(text)) {
          phones.push(text);
        } else if (isEmail && looksLikeEmail(text)) {
          emails.push(text.toLowerCase());
        }
      }
    }
  }
}

/** Returns the path of a member; a hostile one is cut. */
function below(path, name) {
  const whole = path !== "" && name !== "" ? `${path}.${name}` : path + name;
  return whole.length <= MAX_PATH ? whole : path;
}
