// The controls of the view, and the pointer and keys.

import {
  MEAN, active, alternative, byId, create, dark, isStack, page, readAddress, sharesOf, shown, view, weigh, weightsOf,
  writeAddress,
} from "./state.js";
import { buildMatrix, paintMatrix, sizeMatrix, table } from "./matrix.js";
import { buildSentences, paintActive, wordElement } from "./sentences.js";

function choice(name, value, checked, content, onChoose) {
  const input = create("input", { type: "radio", name, value, checked });
  input.addEventListener("change", () => onChoose(value));
  return create("label", {}, input, content);
}

function buildControls() {
  const methods = alternative().views.map((one, index) => {
    const text = create("span", { className: "choice", textContent: one.name, title: one.hint || "" });
    return choice("method", index, index === shown.view, text, (value) => show({ view: value }));
  });
  document.querySelector("#methods .choices").replaceChildren(...methods);
  byId("methods").hidden = methods.length < 2;
  const texts = page.alternatives.map((one, index) => {
    const text = create("span", { className: "choice" });
    if (one.score !== null) text.append(create("span", { className: "score", textContent: `score ${one.score.toFixed(3)}` }));
    text.append(create("bdi", { textContent: one.text }));
    return choice("alternative", index, index === shown.alternative, text, (value) => show({ alternative: value }));
  });
  document.querySelector("#alternatives .choices").replaceChildren(...texts);
  byId("alternatives").hidden = texts.length < 2;
  byId("show-gold").checked = shown.gold;
  byId("show-values").checked = shown.values;
}

/** The picker: a small picture of every head, a row a layer; a dot marks those that calibration chose. */
export function buildHeads() {
  const one = view();
  byId("heads").hidden = !isStack(one) || one.layers * one.heads < 2;
  const grid = document.querySelector("#heads .grid");
  grid.replaceChildren();
  if (byId("heads").hidden) return;
  const columns = [...Array(one.heads).keys(), ...(one.heads > 1 ? [MEAN] : [])];
  grid.style.setProperty("--columns", columns.length);
  grid.style.setProperty("--shape", String(page.source.length / alternative().target.length));
  grid.append(create("span"), ...columns.map((head) => create("span", { textContent: head === MEAN ? "mean" : head })));
  for (let layer = 0; layer < one.layers; layer++) {
    grid.append(create("span", { textContent: `layer ${layer}` }));
    for (const head of columns) {
      const checked = layer === shown.layer && head === shown.head;
      const picture = create("canvas", { width: page.source.length, height: alternative().target.length });
      paintPicture(picture, weightsOf(one, layer, head));
      const label = choice("head", `${layer} ${head}`, checked, picture, () => show({ layer, head }));
      const chosen = page.chosen && page.chosen.layer === layer && page.chosen.heads.includes(head);
      label.classList.toggle("chosen", Boolean(chosen));
      const name = `layer ${layer}, ${head === MEAN ? "mean of heads" : `head ${head}`}${chosen ? ", chosen by calibration" : ""}`;
      label.title = name;
      label.firstChild.setAttribute("aria-label", name);
      grid.append(label);
    }
  }
}

function paintPicture(canvas, numbers) {
  const drawing = canvas.getContext("2d");
  drawing.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--strong");
  drawing.fillRect(0, 0, 1, 1);
  const [red, green, blue] = drawing.getImageData(0, 0, 1, 1).data;
  const picture = drawing.createImageData(canvas.width, canvas.height);
  numbers.forEach((share, place) => {
    const column = place % canvas.width;
    const shown = page.rightToLeft.source ? place - column + canvas.width - 1 - column : place;
    picture.data.set([red, green, blue, Math.round(255 * share)], 4 * shown);
  });
  drawing.putImageData(picture, 0, 0);
}

/** Change what is shown and draw anew what that touches. */
export function show(change) {
  Object.assign(shown, change);
  if ("alternative" in change) {
    Object.assign(active, { hover: null, kept: null, focus: null });
    buildSentences();
    buildMatrix();
  }
  if ("alternative" in change || "view" in change) buildHeads();
  weigh();
  byId("method-hint").textContent = view().hint;
  byId("show-gold").parentElement.hidden = !alternative().gold;
  document.querySelector(".gold-legend").hidden = !(alternative().gold && shown.gold);
  paintMatrix();
  paintActive();
  writeAddress();
}

export function light(kind, one) {
  active[kind] = one;
  paintActive();
  if (kind === "kept") writeAddress();
}

export const same = (a, b) => a && b && a.side === b.side && a.index === b.index;
const wordOf = (event) => {
  const word = event.target.closest(".word");
  return word && { side: word.dataset.side, index: Number(word.dataset.index) };
};

function onKey(event) {
  const at = wordOf(event);
  if (!at || event.ctrlKey || event.metaKey || event.altKey) return;
  const box = byId(at.side);
  const forward = box.dir === "rtl" ? "ArrowLeft" : "ArrowRight";
  const backward = box.dir === "rtl" ? "ArrowRight" : "ArrowLeft";
  const last = box.children.length - 1;
  const places = { [forward]: Math.min(at.index + 1, last), [backward]: Math.max(at.index - 1, 0), Home: 0, End: last };
  if (event.key in places) moveFocus(at.side, places[event.key]);
  else if ((event.key === "ArrowDown" && at.side === "source") || (event.key === "ArrowUp" && at.side === "target")) {
    const shares = sharesOf(at);
    moveFocus(at.side === "source" ? "target" : "source", shares.indexOf(Math.max(...shares)));
  } else if (event.key === "Enter" || event.key === " ") light("kept", same(active.kept, at) ? null : at);
  else return;
  event.preventDefault();
}

function moveFocus(side, index) {
  for (const word of byId(side).children) word.tabIndex = -1;
  const word = wordElement(side, index);
  word.tabIndex = 0;
  if (active.kept) light("kept", null);
  word.focus();
}

export function listen() {
  const stage = byId("stage");
  stage.addEventListener("mouseover", (event) => light("hover", wordOf(event)));
  stage.addEventListener("mouseleave", () => light("hover", null));
  stage.addEventListener("click", (event) => {
    const at = wordOf(event);
    if (at) light("kept", same(active.kept, at) ? null : at);
  });
  stage.addEventListener("focusin", (event) => light("focus", wordOf(event)));
  stage.addEventListener("focusout", () => light("focus", null));
  stage.addEventListener("keydown", onKey);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") Object.assign(active, { hover: null, focus: null }), light("kept", null);
  });
  table.addEventListener("mouseover", (event) => {
    const cell = event.target.closest("th, td");
    const [row, column] = [cell ? cell.parentElement.sectionRowIndex : 0, cell ? cell.cellIndex - 1 : -1];
    const inBody = cell && cell.closest("tbody");
    if (inBody && column >= 0) light("hover", { side: "cell", index: row, source: column });
    else if (inBody) light("hover", { side: "target", index: row });
    else light("hover", column >= 0 ? { side: "source", index: column } : null);
  });
  table.addEventListener("mouseleave", () => light("hover", null));
  byId("show-gold").addEventListener("change", (event) => show({ gold: event.target.checked }));
  byId("show-values").addEventListener("change", (event) => show({ values: event.target.checked }));
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  addEventListener("resize", () => (sizeMatrix(), paintActive()));
  dark.addEventListener("change", () => show({ view: shown.view }));
  matchMedia("print").addEventListener("change", () => paintActive());
  document.fonts.ready.then(() => (sizeMatrix(), paintActive()));
}

/** Draw the page that is open. */
export function start() {
  nameLanguages();
  readAddress();
  buildControls();
  const kept = active.kept;
  show({ alternative: shown.alternative });
  if (kept) light("kept", kept);
}

function nameLanguages() {
  for (const side of ["source", "target"]) {
    const code = page.languages[side];
    try {
      byId(`${side}-language`).textContent = new Intl.DisplayNames(["en"], { type: "language" }).of(code);
    } catch {
      if (code) byId(`${side}-language`).textContent = code;
    }
  }
}
