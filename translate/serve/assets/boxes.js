// The words in the two boxes: those of the text lie below the field in which it is written.

import { active, byId, create, setShare, sharesOf } from "./state.js";
import { same } from "./controls.js";
import { isRightToLeft } from "./answer.js";
import { saidOf, shareOf } from "./confidence.js";

const LEAST_LIT = 0.02; // a thinner line cannot be seen

export const pieces = (side) => byId(side === "source" ? "under" : "translation").querySelectorAll(".piece");

/** Write a text into its box, with its words to point at; `counted` is how often words are right, if that is known. */
export function write(side, text, words, language, counted) {
  const box = byId(side === "source" ? "under" : "translation");
  const parts = [];
  let end = 0;
  words.forEach((word, index) => {
    const piece = create("span", { className: "piece", textContent: text.slice(word.start, word.end) });
    Object.assign(piece.dataset, { side, index });
    if (side === "target") {
      Object.assign(piece, { role: "option", tabIndex: index ? -1 : 0 });
      piece.setAttribute("aria-selected", "false");
      const share = shareOf(counted, word.confidence);
      piece.style.setProperty("--sure", share ?? 0);
      piece.dataset.sure = saidOf(word, share);
    }
    parts.push(text.slice(end, word.start), piece);
    end = word.end;
  });
  box.replaceChildren(...parts, text.slice(end));
  const field = side === "source" ? byId("text") : box;
  field.dir = box.dir = isRightToLeft(text) ? "rtl" : "ltr";
  if (language) field.lang = language;
  sayConfidence();
}

/** Light the words of both boxes as the shared parts light theirs. */
export function paint({ detail: one }) {
  for (const side of ["source", "target"])
    for (const piece of pieces(side)) {
      piece.classList.remove("active", "kept");
      setShare(piece, 0);
      if (side === "target") piece.setAttribute("aria-selected", "false");
    }
  if (!one || byId("translation").getAttribute("aria-busy") === "true") return;
  const side = one.side === "source" ? "source" : "target";
  const own = pieces(side)[one.index];
  if (!own) return;
  const others = pieces(side === "source" ? "target" : "source");
  sharesOf(one).forEach((share, index) => setShare(others[index], share < LEAST_LIT ? 0 : share));
  own.classList.add("active");
  own.classList.toggle("kept", same(one, active.kept) === true);
  if (side === "target") own.setAttribute("aria-selected", "true");
}

export function focusWord(index) {
  pieces("target").forEach((piece, place) => (piece.tabIndex = place === index ? 0 : -1));
  pieces("target")[index]?.focus();
}

/** Make the field as high as its text. */
export function grow() {
  byId("text").style.height = "auto";
  byId("text").style.height = `${byId("text").scrollHeight}px`;
}

export function sayConfidence() {
  const isOn = byId("show-confidence").checked;
  byId("confidence-note").hidden = !isOn;
  byId("translation").classList.toggle("confident", isOn);
  for (const piece of pieces("target")) {
    if (isOn && piece.dataset.sure) piece.setAttribute("aria-description", piece.dataset.sure);
    else piece.removeAttribute("aria-description");
    piece.title = isOn ? piece.dataset.sure || "" : "";
  }
}

export const wordAt = (event) => {
  const piece = event.target.closest?.(".piece");
  return piece && { side: piece.dataset.side, index: Number(piece.dataset.index) };
};

/** The word of the text below the pointer: the text lies above its words. */
export function wordBelow({ clientX: x, clientY: y }) {
  const inside = (box) => x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
  const index = [...pieces("source")].findIndex((piece) => [...piece.getClientRects()].some(inside));
  return index < 0 ? null : { side: "source", index };
}
