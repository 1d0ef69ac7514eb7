// SentencePiece's encoder and decoder, for models of every kind, and the word of each piece.

import { TOOLKIT_WORD, isSpace, oneLine, splitWords, whitespaceWords } from "./words.js";
import { Normaliser } from "./normaliser.js";

export const [PAD, UNK, BOS, EOS] = [0, 1, 2, 3];
export const NO_WORD = -1;
const [NORMAL, UNKNOWN, CONTROL, BYTE] = [1, 2, 3, 6]; // kinds of pieces
const UNKNOWN_PENALTY = 10; // below the least probable piece
const SPACE_SYMBOL = "▁";

export class Tokenizer {
  /** `model` is what the export wrote of a SentencePiece model, `rules` are those of its normaliser. */
  constructor(model, rules) {
    this.model = model;
    this.normaliser = new Normaliser(rules, model);
    this.ids = new Map();
    this.bytes = new Map();
    this.scores = Float32Array.from(model.scores); // sums are rounded as there, so that equal paths stay equal
    this.longest = 0;
    this.least = Infinity;
    model.pieces.forEach((piece, id) => {
      const kind = model.kinds[id];
      if (kind === BYTE) this.bytes.set(Number(piece.slice(1, -1)), id);
      if (kind === NORMAL) this.least = Math.min(this.least, this.scores[id]);
      if (kind !== NORMAL) return;
      this.ids.set(piece, id);
      this.longest = Math.max(this.longest, piece.length);
    });
  }

  /** Ids of the pieces of a text, and the span of each in it. */
  encode(text) {
    const { text: normal, places } = this.normaliser.normalise(text);
    const cut = { unigram, bpe: merged, word: spaced, char: single }[this.model.kind];
    const [ids, spans] = [[], []];
    let start = 0;
    let afterUnknown = false;
    for (const piece of cut.call(this, normal)) {
      const id = this.ids.get(piece) ?? UNK;
      const span = [places[start], places[start + piece.length]];
      start += piece.length;
      if (id === UNK && this.model.byte_fallback) {
        const bytes = new TextEncoder().encode(piece);
        bytes.forEach((byte, index) => {
          ids.push(this.bytes.get(byte));
          spans.push(index === bytes.length - 1 ? span : [span[0], span[0]]);
        });
      } else if (id === UNK && afterUnknown) spans.at(-1)[1] = span[1];
      else {
        ids.push(id);
        spans.push(span);
      }
      afterUnknown = id === UNK;
    }
    return { ids, spans };
  }

  /** The text of ids on one line, and the span of each in it. */
  decode(ids) {
    let text = "";
    const spans = [];
    for (let at = 0; at < ids.length; ) {
      const run = [];
      while (at + run.length < ids.length && this.model.kinds[ids[at + run.length]] === BYTE) run.push(ids[at + run.length]);
      const surfaces = run.length ? this.#ofBytes(run) : [this.#surface(ids[at], !text)];
      for (const surface of surfaces) {
        spans.push([text.length, text.length + surface.length]);
        text += surface;
      }
      at += surfaces.length;
    }
    return collapsed(text, spans);
  }

  #surface(id, isFirst) {
    const kind = this.model.kinds[id];
    if (kind === CONTROL) return "";
    if (kind === UNKNOWN) return this.model.unknown;
    const strips = isFirst && (this.model.dummy_prefix || this.model.remove_extra_whitespaces);
    const piece = this.model.pieces[id];
    return (strips && piece.startsWith(SPACE_SYMBOL) ? piece.slice(1) : piece).replaceAll(SPACE_SYMBOL, " ");
  }

  /** Each character at the piece of its last byte; a byte that is part of none is a replacement character. */
  #ofBytes(ids) {
    const bytes = Uint8Array.from(ids, (id) => Number(this.model.pieces[id].slice(1, -1)));
    const surfaces = ids.map(() => "");
    for (let at = 0; at < bytes.length; ) {
      const size = 1 + (bytes[at] >= 0xc0) + (bytes[at] >= 0xe0) + (bytes[at] >= 0xf0);
      let length = size;
      let character = "\ufffd";
      try {
        character = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes.subarray(at, at + size));
      } catch {
        length = 1;
      }
      surfaces[at + length - 1] = character;
      at += length;
    }
    return surfaces;
  }

  /** Pieces of a text, its words, and the word of each piece; see `assign`. Places count characters. */
  encodeWords(text) {
    const words = this.#split(text);
    const prepared = this.#apart(words, text);
    const { ids, spans } = this.encode(prepared);
    const places = charactersBefore(prepared);
    const parts = this.model.tokenised ? whitespaceWords(prepared) : words;
    return { ids, words: counted(words, charactersBefore(text)), ...assign(moved(spans, places), counted(parts, places)) };
  }

  /** Ids of a text, of which no words are wanted. */
  encodeText(text) {
    return this.encode(this.#apart(this.#split(text), text)).ids;
  }

  /** The words of a text; of a tokenised corpus, what is a piece or marks such a corpus stays whole. */
  #split(text) {
    if (!this.model.tokenised) return splitWords(text);
    const within = ({ start }, parts) => parts.map((part) => ({ text: part.text, start: start + part.start, end: start + part.end }));
    const isWhole = ({ text: word }) => this.ids.has(SPACE_SYMBOL + word) || TOOLKIT_WORD.test(word);
    return whitespaceWords(text).flatMap((word) => (isWhole(word) ? [word] : within(word, splitWords(word.text))));
  }

  /** As a model reads a text: its words apart, if the corpus was tokenised. */
  #apart(words, text) {
    return this.model.tokenised ? words.map((word) => word.text).join(" ") : text;
  }

  /** The text of ids, its words, and the word of each piece. */
  decodeWords(ids) {
    const { text, spans } = this.decode(ids);
    const places = charactersBefore(text);
    const words = counted(this.model.tokenised ? whitespaceWords(text) : splitWords(text), places);
    return { text, ids, words, ...assign(moved(spans, places), words) };
  }
}

/** The most probable pieces: the best path to each place (Viterbi). */
function unigram(text) {
  const unknown = Math.fround(this.least - UNKNOWN_PENALTY);
  const best = Array(text.length + 1).fill(null);
  best[0] = { score: 0, start: -1 };
  for (let start = 0; start < text.length; ) {
    const size = text.codePointAt(start) > 0xffff ? 2 : 1;
    const reach = (end, more) => {
      const score = Math.fround(best[start].score + more);
      if (!best[end] || score > best[end].score) best[end] = { score, start };
    };
    let isKnown = false;
    for (let end = start + size; end <= Math.min(text.length, start + this.longest); end++) {
      const id = this.ids.get(text.slice(start, end));
      if (id === undefined) continue;
      reach(end, this.scores[id]);
      isKnown ||= end === start + size;
    }
    if (!isKnown) reach(start + size, unknown);
    start += size;
  }
  const pieces = [];
  for (let end = text.length; end > 0; end = best[end].start) pieces.push(text.slice(best[end].start, end));
  return pieces.reverse();
}

/** Byte pair encoding: the best two neighbours become one, the first of equals, until none are a piece. */
function merged(text) {
  const pieces = [...text];
  const scoreOf = (at) => this.scores[this.ids.get(pieces[at] + pieces[at + 1])] ?? -Infinity;
  const scores = pieces.slice(1).map((_, at) => scoreOf(at));
  for (;;) {
    let at = -1;
    scores.forEach((score, index) => (at = score > (scores[at] ?? -Infinity) ? index : at));
    if (at < 0) return pieces;
    pieces.splice(at, 2, pieces[at] + pieces[at + 1]);
    scores.splice(at, 1);
    if (at < scores.length) scores[at] = scoreOf(at);
    if (at > 0) scores[at - 1] = scoreOf(at - 1);
  }
}

const spaced = (text) => text.match(/▁?[^▁]+|▁/g) || [];
const single = (text) => [...text];

/** A text on one line, and the spans of its pieces there. */
function collapsed(text, spans) {
  const line = oneLine(text);
  if (line === text) return { text, spans };
  const places = [];
  let length = 0;
  for (let place = 0; place < text.length; place++) {
    places.push(Math.min(length, line.length));
    const isLeading = length === 0 || isSpace(text[place - 1]);
    length += !(isSpace(text[place]) && isLeading);
  }
  places.push(line.length);
  return { text: line, spans: moved(spans, places) };
}

/** For each place in UTF-16 units, the number of characters before it. */
function charactersBefore(text) {
  const found = [];
  let count = 0;
  for (const character of text) {
    for (let unit = 0; unit < character.length; unit++) found.push(count);
    count++;
  }
  return [...found, count];
}

const moved = (spans, places) => spans.map(([start, end]) => [places[start], places[end]]);
const counted = (words, places) => words.map(({ text, start, end }) => ({ text, start: places[start], end: places[end] }));

/** The word that each piece overlaps most (`owners`), and [piece, word] for others that it overlaps (`further`). */
function assign(spans, words) {
  const [owners, further] = [[], []];
  let first = 0;
  spans.forEach(([start, end], piece) => {
    while (first < words.length && words[first].end <= start) first++;
    let [best, most] = [NO_WORD, 0];
    const overlapped = [];
    for (let index = first; index < words.length && words[index].start < end; index++) {
      overlapped.push(index);
      const overlap = Math.min(end, words[index].end) - Math.max(start, words[index].start);
      if (overlap > most) [best, most] = [index, overlap];
    }
    if (best === NO_WORD && words.length) best = Math.min(first, words.length - 1);
    owners.push(best);
    if (overlapped.length > 1) for (const word of overlapped) if (word !== best) further.push([piece, word]);
  });
  return { owners, further };
}
