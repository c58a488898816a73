// Lists of questions and answers, and objects of them by a key, as form builders send them:
// each question is read as the name of a field, and its answer as the field's value.

import { isAbsent, isObject, textOf } from "./json.js";
import { fold, isEmailName, isNameQuestion, isOthers, isPhoneName } from "./looks.js";
import { looksLikeEmail, looksLikePhone } from "./looks.js";
import * as names from "./names.js";

/** A longer list is no form: the host takes as many attributes of a lead. */
const MAX_QUESTIONS = 200;
/** Objects and lists around one answer. */
const MAX_WRAPPED = 5;

const CONTACTS = new Set([...names.PHONES, ...names.EMAILS]);
const { FULL_NAMES, FIRST_NAMES, LAST_NAMES, NAMES, MESSAGES } = names;
const USUAL = new Set([FULL_NAMES, FIRST_NAMES, LAST_NAMES, NAMES, MESSAGES].flat());

/**
 * Returns the answers by their questions of a list or an object with this folded name, or
 * `undefined` if it is something else: a question with its answer is all that each of its
 * elements has, and its own name is a usual one, or one of the answers is a phone or an e-mail
 * address. The key of an object's member is its question, if it has none itself.
 */
export function questionsIn(name, value, beside) {
  const isForm = names.QUESTION_LISTS.includes(name);
  const isList = Array.isArray(value);
  const keys = isList || isObject(value) ? Object.keys(value) : [];
  const isCounted = keys.length >= 1 && keys.length <= MAX_QUESTIONS;
  if (!isCounted || CONTACTS.has(name) || (isOthers(name) && !isForm)) {
    return undefined;
  }
  const titles = titlesIn(beside);
  // Without a prototype, every name is free.
  const out = Object.create(null);
  for (const key of isList ? keys : keys.sort()) {
    const item = value[key];
    const pair = isAbsent(item) ? [] : pairOf(item, isList ? undefined : key, titles);
    if (pair === undefined) {
      return undefined;
    }
    if (pair.length > 0) {
      out[free(pair[0], out)] = pair[1];
    }
  }
  const pairs = Object.entries(out);
  return pairs.length > 0 && (isForm || pairs.some((pair) => isContact(...pair))) ? out : undefined;
}

/** Returns a name, with a number if another question has it already: `Phone 2`. */
export function free(name, taken) {
  let [out, number] = [name, 2];
  while (Object.hasOwn(taken, out)) {
    out = `${name} ${number++}`;
  }
  return out;
}

/** Whether a question asks for a phone or an e-mail address, and the answer is one. */
export function isContact(question, answer) {
  const [{ isPhone, isEmail }, text] = [meaningOf(question), textOf(answer)];
  return text !== undefined && ((isPhone && looksLikePhone(text)) || (isEmail && looksLikeEmail(text)));
}

/** Whether a value is a question with its answer. */
export function isQuestion(item) {
  return (pairOf(item, undefined, new Map()) ?? []).length > 0;
}

/** What the questions so far ask for; a longer body has few others. */
const MEANINGS = new Map();
const MAX_MEANINGS = 10_000;

/** Returns what a question asks for. */
export function meaningOf(question) {
  const known = MEANINGS.get(question);
  if (known !== undefined) {
    return known;
  }
  const name = fold(question);
  const meaning = {
    isPhone: names.PHONES.includes(name) || isPhoneName(name),
    isEmail: names.EMAILS.includes(name) || isEmailName(name),
    isUsual: USUAL.has(name) || isNameQuestion(name),
    isOther: isOthers(name),
  };
  if (MEANINGS.size < MAX_MEANINGS) {
    MEANINGS.set(question, meaning);
  }
  return meaning;
}

/** Returns a question with its answer, `[]` if it has no answer, `undefined` if it is neither. */
function pairOf(item, key, titles) {
  if (!isObject(item)) {
    return undefined;
  }
  const fields = new Map();
  for (const key of Object.keys(item).sort().reverse()) {
    fields.set(fold(key), item[key]);
  }
  // Some answers are under the name of their type.
  const kind = fold(textOf(fields.get("type")) ?? "");
  const own = names.QUESTION_NAMES.includes(kind) ? [] : [kind];
  // A person is no question.
  if ([...fields.keys()].some((name) => CONTACTS.has(name) && !own.includes(name))) {
    return undefined;
  }
  const answers = [...names.ANSWERS, ...own].filter((name) => fields.has(name));
  const at = answers.find((name) => !isAbsent(fields.get(name)));
  const answer = unwrapped(fields.get(at));
  if (isAbsent(answer)) {
    return answers.length > 0 ? [] : undefined;
  }
  const question = questionOf(fields, key, at, answer, titles);
  return question === undefined || isRecord(question, answer) ? undefined : [question, answer];
}

/**
 * Returns the name that says most: one that asks for a contact and has it, or has it by its
 * type, then one that asks for a name or a message, then the most readable one.
 */
function questionOf(fields, key, at, answer, titles) {
  const isGiven = (name) => name !== undefined;
  const keys = names.QUESTION_NAMES.filter((name) => name !== at);
  // A key takes the place of the question's id, after all names that say more.
  const own = keys.map((name) => nameIn(name === "questionid" && key ? key : fields.get(name)));
  const asked = [titles.get(idIn(fields)), ...own].filter(isGiven);
  const isOther = asked.some((name) => meaningOf(name).isOther);
  const kinds = (isOther ? [] : names.KINDS).map((name) => textOf(fields.get(name))).filter(isGiven);
  const all = [...asked, ...kinds];
  const contact = all.find((name) => isContact(name, answer));
  return contact ?? asked.find((name) => meaningOf(name).isUsual) ?? all[0];
}

/** Returns the text of a question, or of an object that describes it. */
function nameIn(value) {
  if (!isObject(value)) {
    return textOf(value);
  }
  const inside = ["title", "label", "name", "ref", "id"].map((key) => textOf(value[key]));
  return inside.find((text) => text !== undefined);
}

function idIn(fields) {
  const field = fields.get("field");
  const inside = isObject(field) ? textOf(field.id) : undefined;
  return inside ?? textOf(fields.get("questionid")) ?? textOf(fields.get("id"));
}

/** Returns the titles of questions, by their ids, that a source sends beside the answers. */
function titlesIn(beside) {
  const listed = isObject(beside.definition) ? beside.definition.fields : beside.questions;
  const known = (Array.isArray(listed) ? listed : []).slice(0, MAX_QUESTIONS).filter(isObject);
  const titles = known.reverse().map(({ id, title }) => [textOf(id), textOf(title)]);
  return new Map(titles.filter(([id, title]) => id !== undefined && title !== undefined));
}

/** Returns what is in objects and lists that have nothing else, or the label of a choice. */
function unwrapped(value) {
  let out = value;
  for (let depth = 0; depth < MAX_WRAPPED && typeof out === "object" && !isAbsent(out); depth++) {
    const label = isObject(out) && ["label", "labels", "other"].find((key) => Object.hasOwn(out, key));
    const keys = label ? [label] : Array.isArray(out) || isObject(out) ? Object.keys(out) : [];
    if (keys.length !== 1) {
      break;
    }
    out = out[keys[0]];
  }
  return out;
}

/** Whether an answer has a person or more answers in it, so that the list is one of leads. */
function isRecord(question, answer) {
  const { isPhone, isEmail } = meaningOf(question);
  if (isPhone || isEmail) {
    return false;
  }
  if (Array.isArray(answer)) {
    return answer.some(isObject);
  }
  return isObject(answer) && Object.keys(answer).some((key) => CONTACTS.has(fold(key)));
}
