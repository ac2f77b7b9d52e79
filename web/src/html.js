// Markup: Preact elements from tagged templates.
import { h } from "preact";
import htm from "htm";

export const html = htm.bind(h);

/** Calls fn at most every ms() milliseconds, the last call never lost. */
export function paced(fn, ms) {
  let timer = 0;
  let last = -Infinity;
  const run = () => {
    timer = 0;
    last = performance.now();
    fn();
  };
  return () => {
    timer ||= setTimeout(run, Math.max(0, last + ms() - performance.now()));
  };
}
