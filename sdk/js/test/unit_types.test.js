import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import * as kith from "../kith.js";

const path = (name) => fileURLToPath(new URL(name, import.meta.url));

test("the type declarations compile strictly, and refuse what is wrong", () => {
  const program = ts.createProgram([path("types.ts")], {
    strict: true, noEmit: true, skipDefaultLibCheck: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, types: [],
    target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext,
  });
  const wrong = ts.getPreEmitDiagnostics(program).map((d) => `${d.file?.fileName}: ${ts.flattenDiagnosticMessageText(d.messageText, "\n")}`);
  assert.deepEqual(wrong, []);
});

test("the declarations declare what there is, and all of it", () => {
  const text = readFileSync(path("../kith.d.ts"), "utf8");
  const exported = [...text.matchAll(/^export (?:class|function) (\w+)/gm)].map(([, name]) => name);
  assert.deepEqual(exported.sort(), Object.keys(kith).sort());
  const body = text.slice(text.indexOf("export class KithClient"));
  const declared = [...body.matchAll(/^  (?:readonly )?(\w+)[(<:]/gm)].map(([, name]) => name);
  const there = Object.getOwnPropertyNames(kith.KithClient.prototype);
  assert.deepEqual(new Set(declared), new Set(there));
});
