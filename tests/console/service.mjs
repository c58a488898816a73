// The service as its sources, its partners and its administrator meet it: what a task finds, and what has
// become of it afterwards.
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";

/** The addresses and keys of the running service, and the files of the run. */
export const world = JSON.parse(readFileSync(process.argv[2], "utf8"));

export const consoleAddress = `http://${world.admin}/console`;

/** The longest wait for the service. */
const PATIENCE = 120_000;

/** The connection of the demo workspace with a check of its senders. */
export const SITE = "site-form";

/** Asks an operation of the admin API. Returns its answer. */
export async function admin(method, path, body) {
  const isComponent = body instanceof Uint8Array;
  const answer = await fetch(`http://${world.admin}/admin/v1${path}`, {
    method,
    body: body === undefined || isComponent ? body : JSON.stringify(body),
    headers: { authorization: `Bearer ${world.keys.adminKey}`, ...(!isComponent && body && { "content-type": "application/json" }) },
  });
  const text = await answer.text();
  assert(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
  return text ? JSON.parse(text) : null;
}

export const get = (path) => admin("GET", path);
export const post = (path, body = {}) => admin("POST", path, body);

/** Asks again and again until the answer is as wanted. Returns that answer. */
export async function until(what, ask, isWanted = (answer) => answer) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const answer = await ask();
    if (isWanted(answer)) return answer;
    assert(Date.now() < end, `${what}: still ${JSON.stringify(answer)?.slice(0, 500)}`);
    await new Promise((resume) => setTimeout(resume, 100));
  }
}

/** Declares more of the demo workspace, beside what it has. Returns the report. */
export function apply(declared) {
  return post("/apply", { workspace: { slug: "demo", name: "Demo" }, partners: [{ name: "crm" }], ...declared });
}

/** The id of a connection of the demo workspace. */
export async function connection(name) {
  const { connections } = await get("/connections");
  const found = connections.find((one) => one.name === name);
  assert(found, `there is a connection ${name}`);
  return found;
}

export async function instance(name) {
  const { instances } = await get("/instances");
  return instances.find((one) => one.name === name);
}

/** Sends a request to a connection as a source does. Returns the status, and the id of the delivery. */
export async function send(id, body, headers = {}) {
  const isForm = body instanceof URLSearchParams;
  const answer = await fetch(`http://${world.gateway}/ingest-lead/${id}`, {
    method: "POST",
    body: isForm ? body : JSON.stringify(body),
    headers: { ...(!isForm && { "content-type": "application/json" }), ...headers },
  });
  const answered = await answer.json().catch(() => ({}));
  return { status: answer.status, delivery: answered.deliveryId };
}

/** Sends a lead with the form of the demo workspace. */
export function lead(fields, token = world.token) {
  const body = new URLSearchParams({ unit: "CA-0007", text: "Quero visitar.", ...fields });
  return send(world.keys.connections[SITE], body, { "X-Form-Token": token });
}

/** A name and a phone that no other task and no other run has. */
export function person(number, withScript) {
  const names = ["Rui Sá", "Ana Luz", "Lia Reis", "Caio Pinto", "Nina Alves", "Davi Rocha", "Iara Melo", "Otto Lins", "Rosa Dias", "Téo Campos"];
  const [first, last] = names[number % names.length].split(" ");
  const digits = String(10_000 + number * 2 + (withScript ? 0 : 1)).padStart(8, "6");
  return { first, last, phone: `(21) 9${digits.slice(0, 4)}-${digits.slice(4)}`, e164: `+55219${digits}` };
}

/** The newest delivery of a connection. */
export async function newest(id) {
  const { deliveries } = await get(`/deliveries?connection=${id}&limit=1`);
  return deliveries[0];
}

/** The deal that a delivery made. */
export async function dealOf(delivery) {
  const { items } = await get(`/deliveries/${delivery}`);
  return items[0].dealId;
}

/** Reads a deal as its partner does, or changes it. */
export async function deal(id, change) {
  const answer = await fetch(`http://${world.gateway}/deal/${id}`, {
    method: change ? "PATCH" : "GET",
    body: change && JSON.stringify(change),
    headers: { "x-service-api-key": world.keys.partnerKey, ...(change && { "content-type": "application/json" }) },
  });
  const answered = await answer.json();
  assert(answer.ok, `the deal ${id}: ${answer.status} ${JSON.stringify(answered)}`);
  return answered;
}

/** The contact of the deal that a delivery made. */
export async function contactOf(delivery) {
  const [found] = [await deal(await dealOf(delivery))].flat();
  return found.person;
}

/** The file of a component, as a version of its own: with one more custom section, it is another one. */
export function variant(file, word) {
  const name = Buffer.from("variant");
  const content = Buffer.concat([Buffer.from([name.length]), name, Buffer.from(word)]);
  return Buffer.concat([readFileSync(file), Buffer.from([0, content.length]), content]);
}

/** The converter that fails when its configuration says so, under a name for people. */
export const FAIR_FEED = "fair-feed";

/** The misbehaving guest of the tests, without a check of its senders. */
export function misbehaving() {
  const named = readFileSync(world.components.misbehaving).toString("latin1").replaceAll("misbehave", FAIR_FEED);
  const component = Buffer.from(named, "latin1");
  const begin = `${FAIR_FEED}-variant:`;
  const at = component.indexOf(begin);
  assert(at > 0, "the component has its variant in it");
  component.write(`${begin}1.0.0;;https://leads.example.com/v1/leads;;;;;`.padEnd(160), at);
  return component;
}

export async function rollout(plugin) {
  return get(`/plugins/${plugin}/rollout`);
}

/** The version of a plugin that serves. */
export async function active(plugin) {
  const { plugins } = await get("/plugins");
  return plugins.find((one) => one.name === plugin).digest;
}
