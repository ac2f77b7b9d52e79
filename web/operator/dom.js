// Small helpers for the page's elements.

const svgTags = new Set(["svg", "path", "line", "text", "g", "circle", "rect"]);

/** Makes an element: attributes, then children. Text only, never markup. */
export function h(tag, attributes = {}, ...children) {
  const e = svgTags.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    e.setAttribute(name, value === true ? "" : value);
  }
  e.append(...children.flat().filter((c) => c !== null && c !== undefined));
  return e;
}

export const $ = (id) => document.getElementById(id);

/** Sets the text of an element, if it is another. */
export function say(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

/**
 * Makes the children of a parent what items say, keeping the elements of those
 * that stay: so that focus and selection stay too. make(item) makes an element,
 * fill(element, item) brings it up to date.
 */
export function keep(parent, items, key, make, fill) {
  const old = new Map([...parent.children].map((e) => [e.dataset.key, e]));
  let at = parent.firstElementChild;
  for (const item of items) {
    const k = key(item);
    let e = old.get(k);
    if (e) {
      old.delete(k);
    } else {
      e = make(item);
      e.dataset.key = k;
    }
    fill(e, item);
    if (e === at) {
      at = at.nextElementSibling;
    } else {
      parent.insertBefore(e, at);
    }
  }
  for (const e of old.values()) e.remove();
}

/** Fills a table's body with rows of cells. A cell is text or an element. */
export function table(body, items, key, cells, empty) {
  const columns = body.parentElement.tHead.rows[0].cells;
  if (items.length === 0) {
    keep(body, [0], () => "none", () => h("tr", {}, h("td", { colspan: columns.length, class: "muted" }, empty)), () => {});
    return;
  }
  keep(
    body,
    items,
    key,
    (item) => h("tr", {}, cells(item).map((_, n) => h(n === 0 ? "th" : "td", n === 0 ? { scope: "row" } : { class: columns[n].className || null }))),
    (row, item) => {
      cells(item).forEach((value, n) => {
        const cell = row.cells[n];
        if (typeof value === "string") say(cell, value);
        else if (value.update) value.update(cell);
        else if (!cell.firstChild) cell.append(value);
      });
    },
  );
}
