// The data and the state of the page. All text enters through textContent.

export let page = null; // see `open`
const SCALE = 65535; // weights are little-endian unsigned 16-bit numbers, as fractions of this
export const MEAN = -1; // instead of a head: the mean over the heads of a layer

export const shown = { alternative: 0, view: 0, layer: 0, head: MEAN, gold: true, values: false };
export const active = { hover: null, kept: null, focus: null }; // {side, index} or {side: "cell", index, source}

export const byId = (id) => document.getElementById(id);
export const alternative = () => page.alternatives[shown.alternative];
export const view = () => alternative().views[shown.view];
export const isStack = (one) => one.layers > 0;

export function create(tag, options = {}, ...children) {
  const element = Object.assign(document.createElement(tag), options);
  element.append(...children);
  return element;
}

/** Show other data; `start` in controls.js draws it. */
export function open(data) {
  page = data;
  Object.assign(shown, { alternative: 0, view: 0, layer: 0, head: MEAN });
  Object.assign(active, { hover: null, kept: null, focus: null });
  if (page.chosen) {
    shown.layer = page.chosen.layer;
    shown.head = page.chosen.heads.length === 1 ? page.chosen.heads[0] : MEAN;
  } else if (page.alternatives[0].views.some((one) => one.heads === 1)) shown.head = 0;
}

function decode(one) {
  if (!one.numbers) {
    const bytes = Uint8Array.from(atob(one.data), (character) => character.charCodeAt(0));
    const reader = new DataView(bytes.buffer);
    one.numbers = Float32Array.from({ length: bytes.length / 2 }, (_, i) => reader.getUint16(2 * i, true) / SCALE);
  }
  return one.numbers;
}

/** Weights of one head, (T * S), or their mean over the heads of a layer, rows made to sum to 1 again. */
export function weightsOf(one, layer, head) {
  const numbers = decode(one);
  if (!isStack(one)) return numbers;
  const S = page.source.length;
  const size = alternative().target.length * S;
  const start = layer * one.heads * size;
  if (head !== MEAN) return numbers.subarray(start + head * size, start + (head + 1) * size);
  const mean = new Float32Array(size);
  for (let h = 0; h < one.heads; h++) for (let i = 0; i < size; i++) mean[i] += numbers[start + h * size + i];
  for (let row = 0; row < size; row += S) {
    const total = mean.subarray(row, row + S).reduce((sum, each) => sum + each, 0);
    if (total > 0) for (let i = row; i < row + S; i++) mean[i] /= total;
  }
  return mean;
}

export let weights = new Float32Array(0); // of the view, (T * S)
/** Take the weights of what is shown. */
export function weigh() {
  weights = weightsOf(view(), shown.layer, shown.head);
}

export const weight = (target, source) => weights[target * page.source.length + source];

/** Weights of a word towards every word of the other side. */
export function sharesOf({ side, index }) {
  return side === "source"
    ? alternative().target.map((_, target) => weight(target, index))
    : page.source.map((_, source) => weight(index, source));
}

/** "sure", "possible" or "" of a pair of words, where gold is known and shown. */
export function goldKind(target, source) {
  const { gold } = alternative();
  if (!gold || !shown.gold) return "";
  gold.kinds ??= new Map([
    ...gold.possible.map((link) => [String(link), "possible"]),
    ...gold.sure.map((link) => [String(link), "sure"]),
  ]);
  return gold.kinds.get(`${source},${target}`) || "";
}

export const percent = (share) => (share > 0 && share < 0.005 ? "<1" : String(Math.round(100 * share)));
export const dark = matchMedia("(prefers-color-scheme: dark)");
const isDeep = (share) => share > (dark.matches ? 0.5 : 0.62); // above this share text takes the other colour

export function setShare(element, share) {
  element.style.setProperty("--w", share.toFixed(4));
  element.classList.toggle("deep", isDeep(share));
}

// The fragment makes the state a link: view, alternative, layer, head, and the word that is kept.
export function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  const number = (name, limit, fallback) => {
    const value = given.has(name) ? Number(given.get(name)) : NaN;
    return Number.isInteger(value) && value >= 0 && value < limit ? value : fallback;
  };
  shown.alternative = number("alternative", page.alternatives.length, shown.alternative);
  const named = alternative().views.findIndex((one) => one.name === given.get("view"));
  if (named >= 0) shown.view = named;
  const stack = alternative().views.find(isStack);
  shown.layer = number("layer", stack ? stack.layers : 0, shown.layer);
  shown.head = given.get("head") === "mean" ? MEAN : number("head", stack ? stack.heads : 0, shown.head);
  active.kept = null;
  for (const [side, words] of [["source", page.source], ["target", alternative().target]]) {
    const index = number(side, words.length, -1);
    if (index >= 0) active.kept = { side, index };
  }
}

const NAMES = ["alternative", "view", "layer", "head", "source", "target"];

export function writeAddress() {
  const state = new URLSearchParams(location.hash.slice(1)); // it may hold more than the names above
  for (const name of NAMES) state.delete(name);
  if (shown.alternative) state.set("alternative", shown.alternative);
  if (shown.view || isStack(view())) state.set("view", view().name);
  if (isStack(view())) {
    state.set("layer", shown.layer);
    state.set("head", shown.head === MEAN ? "mean" : shown.head);
  }
  if (active.kept) state.set(active.kept.side, active.kept.index);
  try {
    history.replaceState(null, "", `#${state}`);
  } catch {
    // A page shown inside another may not touch its address; nothing else depends on it.
  }
}
