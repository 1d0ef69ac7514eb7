// Answers of the server as what a page shows.

const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/gu;
const UNSEEN = /[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;
const LONGEST = 32; // characters of a label
const VERBS = { target: "looks at", source: "is looked at by" };
const DEPENDS = { target: "depends on", source: "matters to" };
const HINTS = {
  attention: "where each head of each layer looked",
  gradient: "how much the word's probability reacts to a small change of a source word (gradient times input)",
  erasure: "how much less probable the word is when a source word is removed (the drop of its log-probability)",
  norm: "attention times the size of what it fetches: the norm of the values that the word takes from a source word",
};

export const isRightToLeft = (text) =>
  (text.match(RIGHT_TO_LEFT) || []).length > (text.match(/\p{L}/gu) || []).length / 2;

/** For each character's place as the server counts, code points, its place in the string. */
function places(text) {
  const found = [];
  let place = 0;
  for (const character of text) {
    found.push(place);
    place += character.length;
  }
  return [...found, place];
}

/**
 * The sentences of a translated text: source and target with their places, words, weights (T rows of S).
 * Links between words of different sentences are none, so each sentence has its weights, and can be translated anew alone.
 */
export function sentencesOf(text, row) {
  const [before, after] = [places(text), places(row.text)];
  const moved = (words, by) => words.map((word) => ({ ...word, start: by[word.start], end: by[word.end] }));
  const [sources, targets] = [moved(row.source_words, before), moved(row.target_words, after)];
  const whole = [{ source: [0, before.length - 1], target: [0, after.length - 1], weights: row.weights }];
  return (row.sentences || whole).map(({ source, target, weights }) => {
    const [start, end] = source.map((place) => before[place]);
    const [first, last] = target.map((place) => after[place]);
    const within = (words, low, high) =>
      words.flatMap((word, index) => (word.start >= low && word.end <= high && word.end > low ? [index] : []));
    const [rows, columns] = [within(targets, first, last), within(sources, start, end)];
    const shift = (word, by) => ({ ...word, start: word.start - by, end: word.end - by });
    return {
      start,
      first,
      source: text.slice(start, end),
      target: row.text.slice(first, last),
      sourceWords: columns.map((index) => shift(sources[index], start)),
      targetWords: rows.map((index) => shift(targets[index], first)),
      weights,
    };
  });
}

/** The translation: each sentence, after what stood between it and the one before. */
export function joined(sentences, text) {
  let end = 0;
  let written = "";
  const words = { source: [], target: [] };
  sentences.forEach((sentence, number) => {
    written += text.slice(end, sentence.start);
    end = sentence.start + sentence.source.length;
    const at = written.length;
    const add = (side, list, by) =>
      list.forEach((word, index) => words[side].push({ ...word, start: word.start + by, end: word.end + by, number, index }));
    add("source", sentence.sourceWords, sentence.start);
    add("target", sentence.targetWords, at);
    written += sentence.target;
  });
  return { text: written + text.slice(end), words };
}

function shownWord({ text }) {
  const plain = text.replace(UNSEEN, (character) => `\\u${character.codePointAt(0).toString(16).padStart(4, "0")}`);
  const label = plain.length > LONGEST ? `${plain.slice(0, 16)}…${plain.slice(-15)}` : plain;
  return label === text ? { label } : { label, full: plain.slice(0, 500) };
}

/** Weights of all sentences as one matrix, (T * S). */
export function together(sentences, weightsOf) {
  const S = sentences.reduce((sum, one) => sum + one.sourceWords.length, 0);
  const T = sentences.reduce((sum, one) => sum + one.targetWords.length, 0);
  const numbers = new Float32Array(T * S);
  let [top, left] = [0, 0];
  sentences.forEach((one, number) => {
    weightsOf(one, number).forEach((row, target) => numbers.set(row.map((share) => Math.min(1, share)), (top + target) * S + left));
    top += one.targetWords.length;
    left += one.sourceWords.length;
  });
  return numbers;
}

export function viewOf(name, numbers, layers = 0, heads = 0) {
  const verbs = name === "gradient" || name === "erasure" ? DEPENDS : VERBS;
  return { name, hint: HINTS[name] || "", verbs, layers, heads, numbers };
}

/** The view of the attention that calibration chose. */
export function alignmentOf({ choice }, numbers) {
  const shift = choice.shift ? "reads the word back, one step later" : "predicts the word";
  const heads = `${choice.heads.length > 1 ? "heads" : "head"} ${choice.heads.join(", ")}`;
  const hint = `the attention that calibration chose: layer ${choice.layer}, ${heads}, at the step that ${shift} (shift ${choice.shift})`;
  return { ...viewOf("alignment", numbers), hint };
}

/** What is to be said of warnings, each once. */
export const warned = (warnings) =>
  [...new Map(warnings.map((one) => [one.message, one])).values()]
    .map(({ message, sentences }) => (sentences > 1 ? `${message} (in ${sentences} sentences)` : message))
    .join("; ");

/** What the shared parts of a page draw. */
export function pageOf(words, text, translation, { source, target, choice }, views) {
  return {
    source: words.source.map(shownWord),
    languages: { source, target },
    rightToLeft: { source: isRightToLeft(text) },
    chosen: choice,
    alternatives: [
      { target: words.target.map(shownWord), rightToLeft: isRightToLeft(translation), score: null, gold: null, doubtful: {}, views },
    ],
  };
}
