// The two sentences, the bands between them, and the sentence that describes the active word.

import { active, alternative, byId, create, goldKind, page, percent, setShare, sharesOf, view, weight } from "./state.js";
import { paintMatrixActive } from "./matrix.js";

const LEAST_BAND = 0.03; // thinner bands are left out
const LEAST_SPOKEN = 0.01;
const MOST_SPOKEN = 5;

export function buildSentences() {
  buildSentence("source", page.source, page.rightToLeft.source);
  buildSentence("target", alternative().target, alternative().rightToLeft);
  const most = Math.max(page.source.length, alternative().target.length);
  for (const side of ["source", "target"]) {
    byId(side).classList.toggle("few", most <= 6);
    byId(side).classList.toggle("many", most > 10 && most <= 26);
    byId(side).classList.toggle("crowd", most > 26);
  }
}

function buildSentence(side, words, rightToLeft) {
  const box = byId(side);
  box.replaceChildren();
  box.dir = rightToLeft ? "rtl" : "ltr";
  if (page.languages[side]) box.lang = page.languages[side];
  words.forEach(({ label, full }, index) => {
    const word = create("span", { className: "word", textContent: label, tabIndex: index === 0 ? 0 : -1 });
    if (full) word.title = full;
    word.setAttribute("role", "option");
    word.setAttribute("aria-selected", "false");
    Object.assign(word.dataset, { side, index });
    const reason = side === "target" && alternative().doubtful[index];
    if (reason) {
      word.classList.add("doubtful");
      word.title = [full, reason].filter(Boolean).join(": ");
    }
    box.append(word);
  });
}

export const wordElement = (side, index) => byId(side).children[index];

/** Light a word, what it looks at, and their row or column. */
export function paintActive() {
  const one = active.hover || active.kept || active.focus;
  for (const side of ["source", "target"]) {
    for (const word of byId(side).children) {
      word.className = word.classList.contains("doubtful") ? "word doubtful" : "word";
      word.style.removeProperty("--w");
      word.dataset.share = "";
      word.setAttribute("aria-selected", "false");
    }
  }
  if (one) {
    const side = one.side === "source" ? "source" : "target";
    const other = side === "source" ? "target" : "source";
    sharesOf(one).forEach((share, index) => {
      const word = wordElement(other, index);
      setShare(word, share);
      if (share >= 0.02) word.dataset.share = `${percent(share)}%`;
      const [target, source] = side === "source" ? [index, one.index] : [one.index, index];
      word.classList.toggle("gold-linked", goldKind(target, source) !== "");
    });
    const word = wordElement(side, one.index);
    word.classList.add("active");
    word.setAttribute("aria-selected", "true");
    if (one.side === "cell") wordElement("source", one.source).classList.add("active");
    if (active.kept && one === active.kept) word.classList.add("kept");
  }
  byId("reading").replaceChildren(...reading(one));
  paintMatrixActive(one);
  paintBands(one);
  byId("stage").dispatchEvent(new CustomEvent("painted", { detail: one }));
}

/** What a screen reader says, and the line below the sentences shows. */
export function reading(one) {
  if (!one) return [];
  const strong = (text) => create("strong", {}, create("bdi", { textContent: text }));
  const target = alternative().target;
  if (one.side === "cell") {
    const kind = goldKind(one.index, one.source);
    const share = `: ${percent(weight(one.index, one.source))} %${kind && `, gold: ${kind}`}`;
    return [strong(target[one.index].label), ` ${view().verbs.target} `, strong(page.source[one.source].label), share];
  }
  const isSource = one.side === "source";
  const [own, others] = isSource ? [page.source, target] : [target, page.source];
  const parts = [strong(own[one.index].label), ` ${view().verbs[one.side]} `];
  const ranked = sharesOf(one)
    .map((share, index) => ({ share, index }))
    .filter(({ share }) => share >= LEAST_SPOKEN)
    .sort((a, b) => b.share - a.share || a.index - b.index);
  ranked.slice(0, MOST_SPOKEN).forEach(({ share, index }, place) => {
    parts.push(place ? ", " : "", strong(others[index].label), ` ${percent(share)} %`);
  });
  if (ranked.length === 0) parts.push("nothing");
  if (ranked.length > MOST_SPOKEN) parts.push(` and ${ranked.length - MOST_SPOKEN} more`);
  const linked = others.filter((_, i) => (isSource ? goldKind(i, one.index) : goldKind(one.index, i)));
  if (linked.length) parts.push("; gold: ", linked.map(({ label }) => label).join(", "));
  if (!isSource && alternative().doubtful[one.index]) parts.push(`; ${alternative().doubtful[one.index]}`);
  return parts;
}

/**
 * Bands between the sentences: all of them while each is on one line, else those of the word that is lit.
 * They are measured from the middle, where the sentences stay when the page gets wider, or goes to paper.
 */
function paintBands(one) {
  const origin = byId("ribbons").getBoundingClientRect();
  const boxes = (side) => [...byId(side).children].map((word) => word.getBoundingClientRect());
  const [sources, targets] = [boxes("source"), boxes("target")];
  const oneLine = (all) => all.every((box) => Math.abs(box.top - all[0].top) < 4);
  const open = oneLine(sources) && oneLine(targets);
  byId("stage").style.setProperty("--gap", open ? "6.5rem" : "3.5rem");
  const paths = [];
  targets.forEach((below, target) => {
    sources.forEach((above, source) => {
      const share = weight(target, source);
      const kind = goldKind(target, source);
      const lit = one && (one.side === "source" ? one.index === source : one.index === target);
      if ((!open && !lit) || (share < LEAST_BAND && !kind)) return;
      const [x1, x2] = [above.left + above.width / 2 - origin.left, below.left + below.width / 2 - origin.left];
      const [y1, y2] = [above.bottom - origin.top + 1, below.top - origin.top - 1];
      const middle = (y1 + y2) / 2;
      const faint = one && !lit ? 0.12 : 1;
      const d = [x1, y1, "C", x1, middle, x2, middle, x2, y2].map((n) => (n.toFixed ? n.toFixed(1) : n)).join(" ");
      if (share >= LEAST_BAND) paths.push(path(d, "", 1 + 11 * share, (0.12 + 0.73 * share) * faint));
      if (kind) paths.push(path(d, "gold", 2, faint));
    });
  });
  byId("ribbons").replaceChildren(...paths);
}

function path(d, kind, width, opacity) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", "path");
  element.setAttribute("d", `M ${d}`);
  if (kind) element.setAttribute("class", kind);
  else element.setAttribute("stroke-width", width.toFixed(2));
  element.setAttribute("opacity", opacity.toFixed(3));
  return element;
}
