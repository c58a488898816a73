// Reads a form of unknown shape by the usual names of fields, as the mapping converter
// does: in the form itself, in the objects in it that are known to hold a lead, and in its
// lists of questions and answers. The place with a phone or an e-mail address comes first.
// What is read is noted, so that all the rest can be kept.

import { find, isAbsent, isObject, jsonText, textOf, wholeNumber } from "./json.js";
import { digits, fold, isEmailName, isFullPhone, isNameQuestion, isOthers, isPhoneName } from "./looks.js";
import { isPhoneNumber, looksLikeEmail, looksLikeName, looksLikePhone } from "./looks.js";
import * as names from "./names.js";
import { isSamePhone, Rest } from "./people.js";
import { noteOnce } from "./plugin.js";
import { free, isContact, questionsIn } from "./questions.js";
import { timeOf } from "./time.js";

/** Real containers are three deep. */
const MAX_DEPTH = 5;
const MAX_PLACES = 16;
/** The host takes no more phones or e-mail addresses of a lead; further ones stay attributes. */
const MAX_CONTACTS = 20;
/** Each code is compared with each phone. */
const MAX_CODES = 20;
/** A longer text is not the name of a source. */
const MAX_SOURCE = 200;
/** What Meta sends as the values of a test lead begins with this. */
const TEST_MARK = "<test lead";

export class Fields {
  #form;
  #places = [];
  /** The keys that were read, of each object and array. */
  #read = new Map();
  /** The contacts of the lead. */
  #phones = [];
  #emails = [];
  /** Whether the name may be an event's, or says nothing without a phone or an e-mail address. */
  #isNameUnsure = false;

  constructor(form) {
    this.#form = form;
    this.#collect(form, "", 0);
    const best = this.#places.findIndex(hasContact);
    if (best > 0) {
      this.#places.unshift(...this.#places.splice(best, 1));
    }
  }

  /** Returns the text at the first of these paths: `take("deal.ref", "phones[0]")`. */
  take(...paths) {
    return this.#take(find(this.#form, paths));
  }

  externalId() {
    const isLead = ({ isPerson, isOfFields }) => !isPerson && !isOfFields;
    return (
      this.#text("IDS", this.#places.filter(({ isAbout }) => !isAbout)) ??
      this.#take(this.#places.map(responseId).find((found) => found !== undefined)) ??
      this.#text("PLAIN_IDS", this.#places.filter(isLead))
    );
  }

  /** Returns whether the lead is a test: a field says so, or a value is Meta's for a test lead. */
  isTest() {
    const said = this.#text("TESTS", this.#places);
    return names.YES.includes(fold(said ?? "")) || this.#places.some(hasTestMark);
  }

  /**
   * Whether what was read is a lead, which the mapping converter asks in the same way: it has a
   * phone or an e-mail address, or an id and a form's answers, or a name with an id, a message or
   * a listing.
   */
  isLead({ externalId, name, phones = [], emails = [], listings = [], message }) {
    const isAnswered = externalId !== undefined && this.#places.some(hasAnswers);
    const isNamed = name !== undefined && !this.#isNameUnsure;
    const isMore = externalId !== undefined || message !== undefined || listings.length > 0;
    return phones.length > 0 || emails.length > 0 || isAnswered || (isNamed && isMore);
  }

  /** Returns the name, joined if it came in two parts. */
  name() {
    const [best] = this.#places;
    // Beside a contact's object, or the answers of a form, `name` may be that of a form.
    const isOther = best.hasQuestions || !best.isPerson;
    const isApart = hasContact(best) && best.of !== this.#form && isOther;
    for (const place of this.#places) {
      const isPlain = !isApart || place === best || place.isPerson || place.hasQuestions;
      const name = this.#nameIn(place, isPlain);
      if (name !== undefined) {
        this.#isNameUnsure = place.of === this.#form && place.shape.kinds.EVENTS !== undefined;
        return name;
      }
    }
    this.#isNameUnsure = true;
    for (const place of this.#places) {
      const full = this.#take(nameOfLead(place, WHOLE_OF_LEAD));
      const words = full === undefined ? PARTS_OF_LEAD : [];
      const parts = words.map((part) => this.#take(nameOfLead(place, part)));
      const name = full ?? parts.filter((part) => part !== undefined).join(" ");
      if (name !== "") {
        return name;
      }
    }
    return undefined;
  }

  /** Returns all phones, likeliest first, with the area code that is beside them. */
  phones() {
    const out = [];
    this.#places.forEach((place) => this.#phonesIn(place, named(place, "PHONES"), isPhoneNumber, out));
    if (out.length === 0) {
      for (const place of this.#places) {
        this.#phonesIn(place, likely(place, isPhoneName), looksLikePhone, out);
        if (firstIn([place], "BARE_AREA_CODES") !== undefined) {
          this.#phonesIn(place, named(place, "BARE_NUMBERS"), looksLikePhone, out);
        }
      }
    }
    if (out.length === 0) {
      const asked = this.#places.filter(({ hasQuestions }) => hasQuestions);
      asked.forEach((place) => this.#phonesIn(place, likely(place, isOwn), isFullPhone, out));
    }
    this.#phones = out;
    return out;
  }

  emails() {
    const out = [];
    this.#places.forEach((place) => this.#emailsIn(named(place, "EMAILS"), out));
    if (out.length === 0) {
      this.#places.forEach((place) => this.#emailsIn(likely(place, isEmailName), out));
    }
    if (out.length === 0) {
      const asked = this.#places.filter(({ hasQuestions }) => hasQuestions);
      asked.forEach((place) => this.#emailsIn(likely(place, isOwn), out));
    }
    this.#emails = out;
    return out;
  }

  message() {
    return this.#text("MESSAGES", this.#places);
  }

  /** Returns the client's own references of listings first, then the portal's. */
  listings() {
    const client = [];
    const portal = [];
    for (const place of this.#places) {
      this.#push(client, named(place, "CLIENT_LISTINGS"));
      this.#push(portal, named(place, "PORTAL_LISTINGS"));
      for (const { value } of named(place, "LISTING_OBJECTS")) {
        if (isObject(value)) {
          const listing = placeOf(value);
          this.#push(client, named(listing, "LISTING_REFERENCES").slice(0, 1));
          this.#push(portal, named(listing, "LISTING_IDS").slice(0, 1));
        }
      }
    }
    const others = portal.filter((reference) => !client.includes(reference));
    return [
      ...client.map((reference) => ({ kind: "client", reference })),
      ...others.map((reference) => ({ kind: "portal", reference })),
    ];
  }

  /** Returns the time of the lead: of one field, or of a date and a time of day. */
  occurredAt() {
    for (const place of this.#places) {
      const day = firstIn([place], "DATES");
      const hour = firstIn([place], "HOURS");
      const time = hour?.text.includes(":") ? timeOf(`${day?.text} ${hour.text}`) : undefined;
      if (time !== undefined) {
        this.#take(day);
        this.#take(hour);
        return time;
      }
      for (const found of named(place, "TIMES").map(scalar)) {
        const time = found && timeOf(found.text);
        if (time !== undefined) {
          this.#take(found);
          return time;
        }
      }
    }
    return undefined;
  }

  /** Returns where the lead came from. */
  source() {
    const found = firstIn(this.#places, "SOURCES");
    return found && [...found.text].length <= MAX_SOURCE ? this.#take(found) : undefined;
  }

  /** Returns the fields of the campaign, by the names that the host knows. */
  campaign() {
    const fields = Object.keys(names.CAMPAIGN).map((name) => [name, this.#text(name, this.#places)]);
    return fields.filter(([, text]) => text !== undefined);
  }

  /**
   * Returns what was not read so far, as attributes: call it last. Other people are left out, and
   * a note says where they are: an erasure would not find them in an attribute.
   */
  rest() {
    const left = new Rest(this.#read, this.#phones, this.#emails);
    const rest = Object.assign(Object.create(null), Object.fromEntries(left.ofForm(this.#form)));
    for (const { of } of this.#places.filter(isAsked)) {
      for (const [question, answer] of left.ofForm(of)) {
        rest[free(question, rest)] = answer;
      }
    }
    for (const path of left.leftOut.sort()) {
      noteOnce(`the people under \`${path}\` are not kept with the lead; the raw delivery has them`);
    }
    return Object.keys(rest).sort().map((key) => [key, jsonText(rest[key])]);
  }

  #collect(object, name, depth) {
    if (!isObject(object) || depth > MAX_DEPTH || this.#places.length >= MAX_PLACES) {
      return;
    }
    const { of, shape } = placeOf(object);
    this.#places.push({
      of,
      shape,
      isPerson: names.PERSONS.includes(name),
      isOfFields: names.FIELD_GROUPS.includes(name),
      // It describes where the lead comes from.
      isAbout: name === "summary",
      hasQuestions: shape.hasQuestionMark || names.QUESTION_GROUPS.includes(name),
    });
    for (const key of shape.keys) {
      const isGroup = Array.isArray(of[key]) || isObject(of[key]);
      const asked = isGroup ? questionsIn(fold(key), of[key], of) : undefined;
      if (asked !== undefined && this.#places.length < MAX_PLACES) {
        this.#places.push({ ...placeOf(asked), isPerson: true, isAsked: true, hasQuestions: true });
        // The answers take the place of the list or the object.
        this.#take({ of, key });
      } else if (shape.containers.includes(key)) {
        this.#collect(only(of[key]), fold(key), depth + 1);
      }
    }
  }

  #take(found) {
    if (found === undefined) {
      return undefined;
    }
    if (!this.#read.has(found.of)) {
      this.#read.set(found.of, new Set());
    }
    this.#read.get(found.of).add(found.key);
    return found.text;
  }

  #push(out, fields) {
    for (const field of fields) {
      const found = out.length < MAX_CONTACTS ? scalar(field) : undefined;
      if (found !== undefined && !out.includes(this.#take(found))) {
        out.push(found.text);
      }
    }
  }

  #text(kind, places) {
    return this.#take(firstIn(places, kind));
  }

  #nameIn(place, isPlain) {
    const full = firstIn([place], "FULL_NAMES");
    if (full !== undefined) {
      return this.#take(full);
    }
    const first = firstIn([place], "FIRST_NAMES");
    const last = firstIn([place], "LAST_NAMES");
    if (first !== undefined && last !== undefined) {
      const isWhole = first.text.toLowerCase().endsWith(last.text.toLowerCase());
      return [this.#take(first), this.#take(last)].slice(0, isWhole ? 1 : 2).join(" ");
    }
    if (!isPlain) {
      return undefined;
    }
    for (const field of named(place, "NAMES")) {
      const inner = only(field.value);
      const isParts = isObject(inner) && !place.shape.containers.includes(field.key);
      const name = isParts ? this.#nameIn(placeOf(inner), true) : undefined;
      const found = scalar(field);
      if (name !== undefined || (found !== undefined && looksLikeName(found.text))) {
        return name ?? this.#take(found);
      }
    }
    const asked = place.hasQuestions ? likely(place, isNameQuestion).map(scalar) : [];
    const whole = asked.find((found) => found !== undefined && looksLikeName(found.text));
    return this.#take(whole ?? first ?? last);
  }

  #phonesIn(place, fields, fits, out) {
    for (const [name, node] of fields.flatMap((field) => nodes(field).map((node) => [fold(field.key), node]))) {
      const inner = isObject(node.value) ? placeOf(node.value) : undefined;
      const written = inner === undefined ? scalar(node) : firstIn([inner], "NUMBERS");
      const number = written && (wholeNumber(written.of[written.key]) || written.text);
      const found = written && { ...written, text: number };
      if (found !== undefined && fits(found.text) && out.length < MAX_CONTACTS) {
        const phone = this.#withCodes(this.#take(found), inner, place, name);
        if (!out.some((known) => isSamePhone(known, phone))) {
          out.push(phone);
        }
      }
    }
  }

  /** Adds the codes that are in or beside a phone, if it has none itself. */
  #withCodes(phone, inner, place, name) {
    const number = digits(phone);
    if (phone.startsWith("+") || number.length > 11) {
      return phone;
    }
    const code = (kind) => (inner && firstIn([inner], kind)) ?? codeOf(place, name, kind);
    const area = (inner && isPhoneOnly(inner) && firstIn([inner], "PHONE_AREAS")) || code("AREA_CODES");
    const country = code("COUNTRY_CODES");
    const areaCode = codeIn(area).replace(/^0+/, "");
    const countryCode = codeIn(country);
    let out = phone;
    if (number.length < 10 && areaCode.length >= 1 && areaCode.length <= 4) {
      this.#take(area);
      out = `(${areaCode}) ${out}`;
    }
    if (countryCode.length >= 1 && countryCode.length <= 3) {
      this.#take(country);
      // A number of North America may have its country code already.
      const hasCode = countryCode === "1" && /^1[0-9]{10}$/.test(number);
      out = hasCode ? `+${out}` : `+${countryCode} ${out}`;
    }
    return out;
  }

  #emailsIn(fields, out) {
    for (const node of fields.flatMap(nodes)) {
      const found = isObject(node.value) ? emailIn(placeOf(node.value)) : scalar(node);
      const isEmail = found !== undefined && looksLikeEmail(found.text) && out.length < MAX_CONTACTS;
      if (isEmail && !out.includes(this.#take(found))) {
        out.push(found.text);
      }
    }
  }
}

/** The rank of a folded name in each list that it is in. */
const RANKS = new Map();
const { CAMPAIGN, ...LISTS } = names;
for (const [kind, list] of Object.entries({ ...LISTS, ...CAMPAIGN })) {
  list.forEach((name, rank) => RANKS.set(name, { ...RANKS.get(name), [kind]: rank }));
}

/** By the keys of an object; the forms of a list share one. */
const SHAPES = new Map();

/** Returns an object, its folded names, and its keys by the lists that these are in. */
function placeOf(of) {
  const keys = Object.keys(of);
  const id = JSON.stringify(keys);
  if (!SHAPES.has(id)) {
    SHAPES.set(id, shapeOf(keys));
  }
  return { of, shape: SHAPES.get(id) };
}

function shapeOf(keys) {
  const kinds = {};
  const containers = [];
  // The codes of phones, by what is left of their names without the code's own word.
  const codes = { AREA_CODES: [], COUNTRY_CODES: [] };
  for (const key of keys.sort()) {
    const ranks = RANKS.get(fold(key)) ?? {};
    for (const kind in ranks) {
      (kinds[kind] ??= []).push(key);
    }
    if (ranks.CONTAINERS !== undefined) {
      containers.push(key);
    }
  }
  for (const kind in kinds) {
    if (kinds[kind].length > 1) {
      const rank = (key) => RANKS.get(fold(key))[kind];
      kinds[kind].sort((a, b) => rank(a) - rank(b));
    }
  }
  for (const kind in codes) {
    const of = names[kind].flatMap((word) => keys.map((key) => [without(fold(key), word), key]));
    codes[kind] = of.filter(([rest]) => rest !== undefined).slice(0, MAX_CODES);
  }
  return { keys, kinds, containers, codes, hasQuestionMark: keys.some((key) => key.includes("?")) };
}

/** Returns the fields that have a value under a name of this list, likeliest first. */
function named({ of, shape }, kind) {
  const keys = shape.kinds[kind];
  return keys === undefined ? [] : keys.map((key) => ({ of, key, value: of[key] })).filter(isGiven);
}

function likely({ of, shape }, isName) {
  const keys = shape.keys.filter((key) => isName(fold(key)));
  return keys.map((key) => ({ of, key, value: of[key] })).filter(isGiven);
}

function isGiven({ value }) {
  return !isAbsent(value);
}

function hasContact(place) {
  const hasAnswer = place.isAsked && Object.entries(place.of).some((pair) => isContact(...pair));
  const hasEmail = () => likely(place, isOwn).map(scalar).some((found) => found && looksLikeEmail(found.text));
  const isFound = hasAnswer || named(place, "PHONES").length > 0 || named(place, "EMAILS").length > 0;
  return isFound || (place.hasQuestions && hasEmail());
}

function hasAnswers({ of, isAsked }) {
  return isAsked && Object.values(of).some((answer) => !isObject(answer));
}

function hasTestMark({ of, shape }) {
  return shape.keys.some((key) => {
    const value = only(of[key]);
    const text = isObject(value) ? value.value : value;
    return typeof text === "string" && text.trimStart().startsWith(TEST_MARK);
  });
}

/** Returns Typeform's own id of a response. */
function responseId(place) {
  const token = firstIn([place], "TOKENS");
  const has = (word) => likely(place, (name) => name === word).length > 0;
  return token !== undefined && has("formid") && has("answers") ? token : undefined;
}

function isAsked(place) {
  return place.isAsked === true;
}

function isOwn(name) {
  return !isOthers(name);
}

/** The names that a word of a name and one for the lead make: `buyername`, `nomedocomprador`. */
function namesOfLead(words) {
  const links = ["", "do", "da", "de", "del"];
  const around = (word, lead) => [lead + word, ...links.map((link) => word + link + lead)];
  return new Set(words.flatMap((word) => names.LEAD_WORDS.flatMap((lead) => around(word, lead))));
}

// Made when the component is built, so that they cost a call nothing.
const WHOLE_OF_LEAD = namesOfLead(names.NAME_WORDS);
const PARTS_OF_LEAD = [namesOfLead(names.FIRST_NAME_WORDS), namesOfLead(names.LAST_NAME_WORDS)];

function nameOfLead(place, usual) {
  const found = likely(place, (name) => usual.has(name)).map(scalar);
  return found.find((one) => one !== undefined && looksLikeName(one.text));
}

/** Returns the only element of a list, and all else as it is. */
function only(value) {
  return Array.isArray(value) && value.length === 1 ? value[0] : value;
}

function nodes(field) {
  const { value } = field;
  return Array.isArray(value) ? value.map((node, key) => ({ of: value, key, value: node })) : [field];
}

/** Returns the text of a field, also of a list of one and of `{ value: "…" }`. JSON is no text. */
function scalar(field) {
  let { of, key, value } = field;
  if (Array.isArray(value) && value.length === 1) {
    [of, key, value] = [value, 0, value[0]];
  }
  if (isObject(value)) {
    [of, key, value] = [value, "value", value.value];
  }
  const text = textOf(value);
  return text === undefined || /^[{[].*[}\]]$/s.test(text) ? undefined : { of, key, text };
}

/** Returns the first text under a name of this list in these places. */
function firstIn(places, kind) {
  for (const { of, shape } of places) {
    for (const key of shape.kinds[kind] ?? []) {
      const found = scalar({ of, key, value: of[key] });
      if (found !== undefined) {
        return found;
      }
    }
  }
  return undefined;
}

/**
 * Returns the code of the phone under a name: `ddd_celular` of `celular`, `ddd2` of `telefone2`,
 * then `contactDDD` of `contactPhone`, then one without the name of a phone.
 */
function codeOf(place, phone, kind) {
  const { of, shape } = place;
  const found = shape.codes[kind].map(([rest, key]) => [rest, scalar({ of, key, value: of[key] })]);
  const codes = found.filter(([, code]) => /^[0-9]{1,4}$/.test(codeIn(code)));
  const isOwn = ([rest]) => stem(rest) === stem(phone) || (/^[0-9]+$/.test(rest) && phone.endsWith(rest));
  const own = codes.find(isOwn) ?? codes.find(([rest]) => isOfOwner(stem(phone), rest));
  return own === undefined ? firstIn([place], kind) : own[1];
}

/** Returns what is left of a name without a word at its begin or end, if it has more. */
function without(name, word) {
  if (name === word) {
    return undefined;
  }
  if (name.startsWith(word)) {
    return name.slice(word.length);
  }
  return name.endsWith(word) ? name.slice(0, -word.length) : undefined;
}

/** Returns the name of a phone without the words around it, as its code has it. */
function stem(name) {
  return name.replace(/^(numero(de|do)?|number)/, "").replace(/(numero|number)$/, "");
}

/** Whether a phone's name is that of its owner with a usual name of a phone. */
function isOfOwner(phone, owner) {
  const rest = without(phone, owner);
  return rest !== undefined && names.PHONES.includes(stem(rest));
}

/** Returns the address in an object that is an e-mail address. */
function emailIn({ of, shape }) {
  const keys = [...(shape.kinds.EMAILS ?? []), "value", "address"];
  return keys.map((key) => scalar({ of, key, value: of[key] })).find((found) => found !== undefined);
}

/** Whether an object has nothing but the parts of a phone. */
function isPhoneOnly({ shape }) {
  return shape.keys.every((key) => PHONE_PARTS.some((kind) => shape.kinds[kind]?.includes(key)));
}

const PHONE_PARTS = ["PHONES", "NUMBERS", "AREA_CODES", "PHONE_AREAS", "COUNTRY_CODES", "PHONE_DETAILS"];

function codeIn(found) {
  return found !== undefined && /^[0-9+() ]+$/.test(found.text) ? digits(found.text) : "";
}
