// The live page: the two boxes, translation as one types, and what else a word could be.

import { active, byId, create, open, page, percent } from "./state.js";
import { light, listen, same, start } from "./controls.js";
import { paintActive } from "./sentences.js";
import { alignmentOf, joined, pageOf, sentencesOf, together, warned } from "./answer.js";
import { focusWord, grow, paint, pieces, sayConfidence, wordAt, wordBelow, write } from "./boxes.js";
import { offerConfidence } from "./confidence.js";
import { ask } from "./request.js";
import { hearFiles, nameKinds } from "./files.js";
import { fetchViews } from "./views.js";
import { save } from "./save.js";

const WAIT = 300; // milliseconds without a key before a text is translated
const MOST_IN_ADDRESS = 2000; // characters of a text that the address holds

const now = { models: [], text: "", sentences: [], shown: null, warnings: [], request: null, timer: 0, prefixes: new Map() };
const model = () => now.models[byId("model").selectedIndex];

/** Show a message; one that is seen anyway is only spoken. */
function tell(message, kind = "shown") {
  byId("status").textContent = message;
  byId("status").classList.toggle("wrong", kind === "wrong");
  byId("status").classList.toggle("unseen", kind === "spoken");
}

/** One request at a time: what an earlier one would answer is outdated. */
async function alone(work) {
  now.request?.abort();
  const request = (now.request = new AbortController());
  byId("translation").setAttribute("aria-busy", "true");
  try {
    await work(request.signal);
  } catch (error) {
    if (error.name !== "AbortError") tell(error.message, "wrong");
  }
  if (now.request !== request) return;
  byId("translation").setAttribute("aria-busy", "false");
  if (page && now.sentences.length) paintActive(); // a word that was pointed at meanwhile
}

const wish = (text, more) => ({ text, model: model().name, ...more });

function translateSoon() {
  clearTimeout(now.timer);
  forget();
  now.timer = setTimeout(translate, WAIT);
}

/** The words are no longer those of the text. */
function forget() {
  now.request?.abort();
  now.sentences = [];
  byId("under").replaceChildren();
  byId("others").hidden = true;
  Object.assign(active, { hover: null, kept: null, focus: null });
  if (page) paintActive();
  const state = new URLSearchParams(location.hash.slice(1));
  for (const side of ["source", "target"]) state.delete(side);
  history.replaceState(null, "", `#${state}`);
}

async function translate() {
  const text = byId("text").value;
  if (text !== now.text) now.prefixes.clear();
  Object.assign(now, { text, sentences: [] }); // until the answer comes, no word can be asked about
  if (!text.trim() || !model()) {
    now.warnings = [];
    return draw();
  }
  await alone(async (signal) => {
    const { translations, warnings } = await ask("/v1/translate", wish(text, { split_sentences: true }), signal);
    const sentences = sentencesOf(text, translations[0]);
    now.warnings = warnings || [];
    for (const [number, prefix] of now.prefixes)
      if (sentences[number]) sentences[number] = await continued(sentences[number], prefix, signal);
    now.sentences = sentences;
    draw();
    tell(`Translated: ${now.shown.text}`, "spoken");
  });
}

/** A sentence translated anew from a given beginning. */
async function continued(sentence, prefix, signal) {
  const { translations, warnings } = await ask("/v1/translate", wish(sentence.source, { prefix }), signal);
  const [whole] = sentencesOf(sentence.source, translations[0]);
  now.warnings = [...now.warnings, ...(warnings || [])];
  return { ...whole, start: sentence.start, prefix };
}

/** Draw the translation that is known. */
function draw() {
  const { text, sentences } = now;
  const kept = active.kept;
  now.shown = joined(sentences, sentences.length ? text : "");
  offerConfidence(model()?.confidence);
  byId("warnings").textContent = warned(now.warnings);
  for (const id of ["copy", "save", "more"]) byId(id).disabled = !sentences.length;
  byId("others").hidden = true;
  for (const side of ["source", "target"])
    write(side, side === "source" ? text : now.shown.text, now.shown.words[side], model()?.[side], model()?.confidence);
  if (!sentences.length) {
    byId("details").hidden = true;
    byId("more").setAttribute("aria-expanded", "false");
    byId("reading").replaceChildren();
    return writeAddress();
  }
  const numbers = together(sentences, (one) => one.weights);
  show([alignmentOf(model(), numbers)], kept);
  if (!byId("details").hidden) addViews();
}

/** Give the shared parts something to draw. */
function show(views, kept) {
  const isFirst = !page;
  open(pageOf(now.shown.words, now.text, now.shown.text, model(), views));
  writeAddress(); // of a word that is kept, `start` reads it
  start();
  if (isFirst) listen(); // the shared parts hear of words, of which there are some now
  const last = kept && pieces(kept.side).length - 1;
  if (kept && kept.index <= last) light("kept", kept);
}

/** What else a word could be, at the place of a kept target word. */
async function listOthers(index, moveFocus) {
  const word = now.shown.words.target[index];
  const sentence = now.sentences[word.number];
  byId("others-title").replaceChildren("Instead of ", create("bdi", { textContent: word.text }));
  byId("others").hidden = false;
  const list = byId("others").querySelector("ul");
  list.replaceChildren(create("li", { textContent: "…" }));
  await alone(async (signal) => {
    const more = { alternatives_at: word.index, ...(sentence.prefix && { prefix: sentence.prefix }) };
    const { translations } = await ask("/v1/translate", wish(sentence.source, more), signal);
    const items = translations[0].alternatives.map(({ text, probability }) => {
      const share = create("span", { className: "hint", textContent: `${percent(probability)} %` });
      const button = create("button", { type: "button" }, create("bdi", { textContent: text }), share);
      if (text === word.text) button.setAttribute("aria-current", "true");
      button.addEventListener("click", () => choose(word, text));
      return create("li", {}, button);
    });
    list.replaceChildren(...(items.length ? items : [create("li", { textContent: "nothing else" })]));
    tell(`${items.length} word${items.length === 1 ? "" : "s"} could stand there`, "spoken");
    if (moveFocus) list.querySelector("button")?.focus();
    if (!byId("details").hidden && page.alternatives[0].views.length === 1) addViews(); // which this interrupted
  });
}

async function choose(word, text) {
  const sentence = now.sentences[word.number];
  const prefix = sentence.target.slice(0, word.start - targetStart(word.number)) + text;
  await alone(async (signal) => {
    now.sentences[word.number] = await continued(sentence, prefix, signal);
    now.prefixes.set(word.number, prefix);
    draw();
    tell(`Translated anew: ${now.shown.text}`, "spoken");
    const index = Math.min(now.shown.words.target.length - 1, now.shown.words.target.findIndex((one) => one.number === word.number) + word.index);
    focusWord(Math.max(0, index));
    light("kept", { side: "target", index: Math.max(0, index) });
  });
}

const targetStart = (number) => {
  const first = now.shown.words.target.find((one) => one.number === number);
  return first.start - now.sentences[number].targetWords[0].start;
};

async function addViews() {
  await alone(async (signal) => {
    tell("Fetching methods and heads …");
    const views = await fetchViews(model(), now.sentences, signal);
    show([alignmentOf(model(), together(now.sentences, (one) => one.weights)), ...views], active.kept);
    tell("");
  });
}

/** The fragment of the address: text, languages, and beginnings that were chosen; the rest is the shared parts'. */
function writeAddress() {
  const state = new URLSearchParams(location.hash.slice(1));
  for (const name of ["text", "model", "start"]) state.delete(name);
  if (now.text && now.text.length <= MOST_IN_ADDRESS) state.set("text", now.text);
  if (model()) state.set("model", model().name);
  for (const [number, prefix] of now.prefixes) state.append("start", `${number} ${prefix}`);
  history.replaceState(null, "", `#${state}`);
}

function readAddress() {
  const state = new URLSearchParams(location.hash.slice(1));
  const index = now.models.findIndex(({ name }) => name === state.get("model"));
  if (index >= 0) byId("model").selectedIndex = index;
  const text = state.get("text") || "";
  byId("text").value = text;
  now.text = text;
  now.prefixes.clear();
  for (const given of state.getAll("start")) {
    const [, number, prefix] = given.match(/^(\d{1,4}) ([^]+)$/) || [];
    if (prefix) now.prefixes.set(Number(number), prefix);
  }
  const kept = ["source", "target"].flatMap((side) => (state.has(side) ? [{ side, index: Number(state.get(side)) }] : []))[0];
  active.kept = kept && Number.isInteger(kept.index) && kept.index >= 0 ? kept : null;
  grow();
  translate();
}

function lightCaret() {
  const place = byId("text").selectionStart;
  const index = document.activeElement === byId("text") && now.shown && pieces("source").length
    ? now.shown.words.source.findIndex(({ start, end }) => start <= place && place <= end)
    : -1;
  if (page && now.sentences.length) light("focus", index < 0 ? null : { side: "source", index });
}

function onKey(event) {
  const at = wordAt(event);
  if (!at || event.ctrlKey || event.metaKey || event.altKey) return;
  const last = pieces("target").length - 1;
  const step = byId("translation").dir === "rtl" ? -1 : 1;
  const moves = { ArrowRight: at.index + step, ArrowLeft: at.index - step, Home: 0, End: last };
  if (event.key in moves) focusWord(Math.max(0, Math.min(last, moves[event.key])));
  else if (event.key === "Enter" || event.key === " ") keep(at, true);
  else return;
  event.preventDefault();
}

function keep(at, moveFocus) {
  if (!now.sentences.length) return;
  if (same(active.kept, at)) {
    byId("others").hidden = true;
    return light("kept", null);
  }
  light("kept", at);
  return listOthers(at.index, moveFocus);
}

function hearBoxes() {
  const [text, translation] = [byId("text"), byId("translation")];
  text.addEventListener("input", () => (grow(), translateSoon()));
  text.addEventListener("mousemove", (event) => now.sentences.length && light("hover", wordBelow(event)));
  text.addEventListener("mouseleave", () => now.sentences.length && light("hover", null));
  document.addEventListener("selectionchange", lightCaret);
  translation.addEventListener("mouseover", (event) => now.sentences.length && light("hover", wordAt(event) || null));
  translation.addEventListener("mouseleave", () => now.sentences.length && light("hover", null));
  translation.addEventListener("focusin", (event) => now.sentences.length && light("focus", wordAt(event) || null));
  translation.addEventListener("focusout", () => now.sentences.length && light("focus", null));
  translation.addEventListener("click", (event) => wordAt(event) && keep(wordAt(event), false));
  translation.addEventListener("keydown", onKey);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const inList = byId("others").contains(document.activeElement);
    byId("others").hidden = true;
    if (inList && active.kept) focusWord(active.kept.index);
    if (page && now.sentences.length) light("kept", null);
  });
}

function hearButtons() {
  byId("bar").addEventListener("submit", (event) => event.preventDefault());
  byId("model").addEventListener("change", () => (now.prefixes.clear(), forget(), translate()));
  byId("key").addEventListener("change", begin);
  byId("show-confidence").addEventListener("change", sayConfidence);
  byId("copy").addEventListener("click", async () => {
    await navigator.clipboard.writeText(now.shown.text);
    tell("Copied");
  });
  byId("save").addEventListener("click", () => {
    if (now.sentences.length)
      save(page, [now.text, now.shown.text]).catch(() => tell("The page could not be saved.", "wrong"));
  });
  byId("more").addEventListener("click", () => {
    const isHidden = (byId("details").hidden = !byId("details").hidden);
    byId("more").setAttribute("aria-expanded", String(!isHidden));
    byId("more").textContent = isHidden ? "Show links, heads and methods" : "Hide links, heads and methods";
    if (!isHidden && now.sentences.length) addViews();
  });
  byId("stage").addEventListener("painted", paint);
  addEventListener("hashchange", readAddress);
}

function nameLanguage(code) {
  try {
    return new Intl.DisplayNames(["en"], { type: "language" }).of(code);
  } catch {
    return code;
  }
}

/** Ask which models there are, and go where the address leads. */
async function begin() {
  try {
    now.models = (await ask("/v1/models")).models;
  } catch (error) {
    return tell(error.message, "wrong");
  }
  const names = now.models.map(({ source, target }) => `${nameLanguage(source)} → ${nameLanguage(target)}`);
  const options = now.models.map(({ name }, index) => {
    const isShared = names.filter((each) => each === names[index]).length > 1;
    return create("option", { textContent: isShared ? `${names[index]} (${name})` : names[index] });
  });
  byId("model").replaceChildren(...options);
  tell("");
  readAddress();
  await nameKinds();
}

hearBoxes();
hearButtons();
hearFiles(model, tell);
begin();
