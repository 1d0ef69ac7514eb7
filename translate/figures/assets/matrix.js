// The weights as a table: target words down, source words across.

import { alternative, byId, create, goldKind, page, percent, setShare, shown, weight } from "./state.js";

const MOST_CELLS = 40000; // a larger table would block the browser

export const table = document.querySelector("#matrix table");
const rows = () => table.tBodies[0].rows;

export function buildMatrix() {
  const target = alternative().target;
  const fits = page.source.length * target.length <= MOST_CELLS;
  byId("matrix").hidden = !fits;
  table.replaceChildren();
  if (!fits) return;
  table.dir = page.rightToLeft.source ? "rtl" : "ltr";
  table.style.setProperty("--columns", page.source.length);
  const heading = (scope, { label, full }, attributes) => {
    const text = create("span", { textContent: label, title: full || "" });
    for (const [name, value] of Object.entries(attributes)) if (value) text.setAttribute(name, value);
    return create("th", { scope }, text);
  };
  const source = { lang: page.languages.source, dir: page.rightToLeft.source ? "rtl" : "ltr" };
  const own = { lang: page.languages.target, dir: alternative().rightToLeft ? "rtl" : "ltr" };
  const top = create("tr", {}, create("td"), ...page.source.map((word) => heading("col", word, source)));
  const body = create("tbody");
  target.forEach((word) => {
    const row = create("tr", {}, heading("row", word, own));
    page.source.forEach(() => row.append(create("td", {}, create("span", { className: "value" }))));
    body.append(row);
  });
  const caption = create("caption", { className: "unseen" });
  caption.textContent = "Weight of each source word (columns) for each target word (rows), in percent";
  table.append(caption, create("thead", {}, top), body);
}

export function paintMatrix() {
  if (byId("matrix").hidden) return;
  table.classList.toggle("values", shown.values);
  table.classList.toggle("gold", Boolean(alternative().gold && shown.gold));
  [...rows()].forEach((row, target) => {
    for (let source = 0; source < page.source.length; source++) {
      const cell = row.cells[source + 1];
      const share = weight(target, source);
      const kind = goldKind(target, source);
      setShare(cell, share);
      cell.firstChild.textContent = percent(share) + (kind && !shown.values ? `, gold ${kind}` : "");
      cell.classList.toggle("sure", kind === "sure");
      cell.classList.toggle("possible", kind === "possible");
    }
  });
  sizeMatrix();
}

/** As large as the page is wide, within what is comfortable to read; headings lie down where they fit. */
export function sizeMatrix() {
  if (byId("matrix").hidden) return;
  const S = page.source.length;
  const heads = [...table.tHead.rows[0].cells].slice(1).map((cell) => cell.firstChild);
  const room = byId("matrix").clientWidth - 16;
  const labels = Math.max(...[...rows()].map((row) => row.cells[0].firstChild.getBoundingClientRect().width));
  const largest = Math.max(16, 56 - 1.1 * Math.max(S, rows().length));
  const cell = Math.max(shown.values ? 30 : 15, Math.min(largest, (room - labels) / S - 1));
  table.style.setProperty("--screen-cell", `${cell.toFixed(2)}px`);
  heads.forEach((head) => head.classList.remove("upright"));
  const upright = heads.some((head) => head.getBoundingClientRect().width > cell + 1);
  heads.forEach((head) => head.classList.toggle("upright", upright));
}

export function paintMatrixActive(one) {
  if (byId("matrix").hidden) return;
  table.classList.toggle("lit", Boolean(one));
  table.querySelectorAll(".lit").forEach((element) => element.classList.remove("lit"));
  if (!one) return;
  const source = one.side === "source" ? one.index : one.side === "cell" ? one.source : -1;
  if (one.side !== "source") rows()[one.index].classList.add("lit");
  if (source < 0) return;
  table.tHead.rows[0].cells[source + 1].classList.add("lit");
  if (one.side === "source") for (const row of rows()) row.cells[source + 1].classList.add("lit");
}
