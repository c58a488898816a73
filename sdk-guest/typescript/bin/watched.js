// For the build: the rounds of the author's loops and the depth of the author's calls are counted (src/watch.js).
// So the log names what does not end: a host ends a call without asking JavaScript.

import { parse } from "acorn";

const LOOPS = ["ForStatement", "ForInStatement", "ForOfStatement", "WhileStatement", "DoWhileStatement"];
const FUNCTIONS = ["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"];

const ENTER = "watch.enter();try{";
const LEAVE = "}finally{watch.leave();}";
const ROUND = "watch.round();";

/** Returns a bundle that counts, with the same lines. `isOwn`: whether a line of the bundle is the author's. */
export function watched(bundle, isOwn) {
  const added = [];
  const add = (at, text) => added.push([at, text]);
  const visit = (node) => {
    if (!node || typeof node.type !== "string") {
      return;
    }
    const { type, body } = node;
    const isCounted = isOwn(node.loc.start.line);
    if (isCounted && LOOPS.includes(type)) {
      within(body, ROUND, "");
    } else if (isCounted && FUNCTIONS.includes(type) && body.type === "BlockStatement") {
      within(body, ENTER, LEAVE);
    } else if (isCounted && FUNCTIONS.includes(type)) {
      // Parentheses around an object are not of the expression.
      add(bundle.lastIndexOf("=>", body.start) + 2, `{${ENTER}return`);
      add(node.end, `${LEAVE}}`);
    }
    Object.values(node).flat().forEach(visit);
  };
  const within = ({ type, start, end }, before, after) => {
    const isBlock = type === "BlockStatement";
    add(isBlock ? start + 1 : start, isBlock ? before : `{${before}`);
    add(isBlock ? end - 1 : end, isBlock ? after : `${after}}`);
  };
  visit(parse(bundle, { ecmaVersion: 2023, sourceType: "module", locations: true }));
  // What begins further in is added after what ends there.
  const texts = added.map((one, order) => [...one, order]).sort((one, other) => one[0] - other[0] || one[2] - other[2]);
  let [counted, from] = ["", 0];
  for (const [at, text] of texts) {
    counted += bundle.slice(from, at) + text;
    from = at;
  }
  return counted + bundle.slice(from);
}
