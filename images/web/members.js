// Writes the names that may follow a dot in the scripts of a page, for the
// editor page, from TypeScript's descriptions of the language and the browser.
// web/src/editor/members/library.ts describes the file.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createRequire } from "node:module";

import * as React from "react";
import ts from "typescript";
import * as Vue from "vue";

const folder = dirname(createRequire(import.meta.url).resolve("typescript"));
// The types of rare parts of browsers, which are more than all others.
const RARE =
  /^(?:WebGL|WEBGL|GPU|SVG(?!Element$|SVGElement$|GraphicsElement$)|RTC|IDB|MediaKey|Credential|PublicKey|Authenticator|XR|EXT_|OES_|ANGLE_|KHR_|OVR_|WebTransport|WebKit|Webkit|Push|Payment|ServiceWorker|Speech|Audio(?!$)|Sourc|Midi|MIDI|Encoded|Video(?:De|En|Co|Fr)|Image(?:De|Tr)|FileSystem|Lock|Cookie|CSS(?!StyleDeclaration$|StyleSheet$|Rule)|.*(?:EventMap|Init|Options|Params|Algorithm|Dict)$)/;
/** The interfaces of the values that have types of their own. */
const SIMPLE = { String: "string", Number: "number", Boolean: "boolean", BigInt: "bigint" };

const types = new Map();
const constructors = new Map();
const variables = new Map();

function read(file, seen = new Set()) {
  if (seen.has(file)) return;
  seen.add(file);
  const options = { languageVersion: ts.ScriptTarget.Latest, jsDocParsingMode: ts.JSDocParsingMode.ParseAll };
  const source = ts.createSourceFile(file, readFileSync(join(folder, file), "utf8"), options, true);
  for (const { fileName } of source.libReferenceDirectives) read(`lib.${fileName}.d.ts`, seen);
  for (const statement of source.statements) declare(statement);
}

function declare(statement) {
  if (ts.isInterfaceDeclaration(statement)) {
    const name = statement.name.text;
    const target = /Constructor$/.test(name) ? constructors : types;
    const known = target.get(name) ?? { parameters: [], above: [], members: [] };
    if (known.parameters.length === 0) known.parameters = (statement.typeParameters ?? []).map((one) => one.name.text);
    for (const clause of statement.heritageClauses ?? []) known.above.push(...clause.types);
    known.members.push(...statement.members);
    target.set(name, known);
  } else if (ts.isVariableStatement(statement)) {
    for (const { name, type } of statement.declarationList.declarations) variables.set(name.text, type);
  } else if (ts.isFunctionDeclaration(statement) && !variables.has(statement.name.text)) {
    variables.set(statement.name.text, statement);
  }
}

/** A type as the file has it; `?` if it depends on a call. */
function text(node, parameters) {
  if (node === undefined) return "";
  if (ts.isParenthesizedTypeNode(node)) return text(node.type, parameters);
  if (ts.isArrayTypeNode(node)) return `Array<${text(node.elementType, parameters) || "?"}>`;
  if (ts.isTypeOperatorNode(node)) return text(node.type, parameters);
  if (ts.isUnionTypeNode(node)) return node.types.map((one) => text(one, parameters)).find((one) => one !== "") ?? "";
  if (ts.isIntersectionTypeNode(node)) return text(node.types[0], parameters);
  if (node.kind === ts.SyntaxKind.StringKeyword) return "string";
  if (node.kind === ts.SyntaxKind.NumberKeyword) return "number";
  if (node.kind === ts.SyntaxKind.BooleanKeyword || ts.isTypePredicateNode(node)) return "boolean";
  if (node.kind === ts.SyntaxKind.BigIntKeyword) return "bigint";
  if (ts.isLiteralTypeNode(node) && ts.isStringLiteral(node.literal)) return "string";
  const name = node.typeName ?? node.expression;
  if (name === undefined || !ts.isIdentifier(name)) return "";
  const known = SIMPLE[name.text] ?? name.text;
  if (!types.has(name.text) && !parameters.includes(name.text)) return aliased(name.text);
  // The elements of a page are those of HTML.
  const own = known === "Element" && !ts.isHeritageClause(node.parent) ? "HTMLElement" : known;
  const parts = (node.typeArguments ?? []).map((one) => text(one, parameters) || "?");
  return parts.length > 0 && types.get(name.text)?.parameters.length > 0 ? `${own}<${parts.join(",")}>` : own;
}

const aliased = (name) => ({ DOMHighResTimeStamp: "number", ReadonlyArray: "Array<?>" })[name] ?? "";

function items(members, parameters) {
  const found = new Map();
  for (const member of members) {
    const name = member.name !== undefined && (ts.isIdentifier(member.name) || ts.isStringLiteral(member.name)) ? member.name.text : "";
    if (!/^[\w$]+$/.test(name) || name === "prototype" || isDeprecated(member)) continue;
    const isCall = ts.isMethodSignature(member) || (member.type !== undefined && ts.isFunctionTypeNode(member.type));
    const own = (member.typeParameters ?? []).map((one) => one.name.text);
    const type = text(ts.isMethodSignature(member) ? member.type : isCall ? member.type.type : member.type, parameters) || defaultOf(member, own);
    // Of several forms of a method, the first of which the result is known.
    if (found.get(name) === undefined || found.get(name).endsWith("()")) {
      found.set(name, `${name}${isCall ? "()" : ""}${type === "" ? "" : `:${type}`}`);
    }
  }
  return [...found.values()].sort();
}

/** `E` of `querySelector<E extends Element = Element>(): E | null`. */
function defaultOf({ type, typeParameters = [] }, own) {
  const names = (type !== undefined && ts.isUnionTypeNode(type) ? type.types : [type]).map((one) => one?.typeName?.text);
  const name = names.find((one) => own.includes(one));
  const parameter = typeParameters.find((one) => one.name.text === name);
  return parameter === undefined ? "" : text(parameter.default ?? (ts.isTypeReferenceNode(parameter.constraint ?? parameter) ? parameter.constraint : undefined), []);
}

const isDeprecated = (node) => ts.getJSDocDeprecatedTag(node) !== undefined;

read("lib.esnext.d.ts");
read("lib.dom.d.ts");
read("lib.dom.iterable.d.ts");

const listed = {};
for (const [name, { parameters, above, members }] of types) {
  if (RARE.test(name)) continue;
  const key = `${SIMPLE[name] ?? name}${parameters.length > 0 ? `<${parameters.join(",")}>` : ""}`;
  const is = above.map((one) => text(one, parameters)).filter((one) => one !== "" && !RARE.test(one));
  const entry = { is: [...new Set(is)], has: items(members, parameters).join(" ") };
  const type = variables.get(name);
  const own = type !== undefined && ts.isTypeLiteralNode(type) ? type.members : (constructors.get(`${name}Constructor`)?.members ?? []);
  listed[key] = { ...entry, own: items(own, []).join(" ") };
}
for (const name of ["Array<T>", "Set<T>", "HTMLCollectionOf<T>"]) listed[name].each = "T";
listed["NodeListOf<TNode>"].each = "TNode";
listed["string"].each = "string";
listed["T[]"] = { is: ["Array<T>"] };

const globals = [];
for (const [name, type] of variables) {
  if (RARE.test(name) || SIMPLE[name] !== undefined || /^[a-z]/.test(name) === false && types.has(name) && name !== "Math" && name !== "JSON") continue;
  if (ts.isFunctionDeclaration(type)) globals.push(`${name}()${text(type.type, []) === "" ? "" : `:${text(type.type, [])}`}`);
  else if (text(type, []) !== "") globals.push(`${name}:${text(type, [])}`);
}
for (const [name, type] of Object.entries(SIMPLE)) globals.push(`${name}=${type}`);
for (const [name, entry] of Object.entries(listed)) {
  listed[name] = Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== undefined && value.length > 0));
}

const names = (module) =>
  Object.entries(module)
    .filter(([name]) => /^[a-zA-Z]\w*$/.test(name) && name !== "default")
    .map(([name, value]) => `${name}${typeof value === "function" ? "()" : ""}`)
    .sort()
    .join(" ");
console.log(JSON.stringify({ globals: globals.sort().join(" "), modules: { react: names(React), vue: names(Vue) }, types: listed }));
