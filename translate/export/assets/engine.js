// The model in the browser: translations with their links, in the form in which a server answers.

import * as ort from "../runtime/ort.wasm.bundle.min.js";
import { EOS, NO_WORD, Tokenizer, UNK } from "./tokenizer.js";
import { Graphs, read, search } from "./search.js";
import { between, probabilities, wordsOf } from "./links.js";
import { sentences } from "./paragraphs.js";

const LONGEST_PIECE = 16; // characters
const OTHERS = 8; // pieces that are tried in place of a word's first one
const MODEL = "../model/";

const addressOf = (name) => new URL(MODEL + name, import.meta.url).href;

async function fetched(name, kind) {
  const response = await fetch(addressOf(name));
  if (!response.ok) throw new Error(`The file model/${name} cannot be loaded (${response.status}).`);
  return response[kind]();
}

const count = (text, end) => [...text.slice(0, end)].length;

export class Engine {
  /** Load the files beside the page. */
  static async load() {
    ort.env.wasm.numThreads = 1; // more need headers that few static hosts send
    const engine = new Engine();
    engine.model = await fetched("model.json", "json");
    const sides = [...new Set(engine.model.tokenizers)];
    const tokenizers = await Promise.all(
      sides.map(async (side) => new Tokenizer(await fetched(`${side}.json`, "json"), await fetched(`${side}.rules`, "arrayBuffer"))),
    );
    [engine.source, engine.target] = engine.model.tokenizers.map((side) => tokenizers[sides.indexOf(side)]);
    const sessions = ["encoder.onnx", "step.onnx"].map(async (name) =>
      ort.InferenceSession.create(new Uint8Array(await fetched(name, "arrayBuffer")), { executionProviders: ["wasm"] }),
    );
    engine.graphs = new Graphs(ort, ...(await Promise.all(sessions)), engine.model.memories);
    return engine;
  }

  /** Pieces and words of a source, cut as a search cuts it. */
  #read(text) {
    const most = this.model.longest_source;
    const { ids, words, owners, further } = this.source.encodeWords([...text].slice(0, most * LONGEST_PIECE).join(""));
    const last = Math.max(NO_WORD, ...owners.slice(0, most), ...further.map(([piece, word]) => (piece < most ? word : NO_WORD)));
    return {
      ids: [...ids.slice(0, most), EOS],
      words: ids.length > most ? words.slice(0, last + 1) : words,
      owners: [...owners.slice(0, most), NO_WORD],
      further: further.filter(([piece]) => piece < most),
    };
  }

  #search(source, prefix, beam, signal) {
    const { length_penalty, max_length_ratio, max_length_extra, max_length, longest_target } = this.model;
    const most = Math.trunc(max_length_ratio * source.ids.length) + max_length_extra;
    const longest = Math.min(most, max_length ?? Infinity, longest_target);
    const options = { beam, longest, lengthPenalty: length_penalty, prefix };
    return search(this.graphs, source.ids, options, signal);
  }

  /** One sentence: its text, score, ids, words of both sides, weights, and what else could stand at a word. */
  async sentence(text, { prefix = "", othersAt } = {}, signal) {
    const source = this.#read(text);
    if (source.ids.length === 1) return { text: "", score: 0, source_words: [], target_words: [], weights: [] };
    const begun = prefix ? this.target.encodeText(prefix) : [];
    if (begun.includes(UNK)) throw new Error(`The model does not know every character of “${prefix}”.`);
    if (begun.length >= this.model.longest_target) throw new Error("The beginning is as long as a translation may be.");
    const { ids, score } = await this.#search(source, begun, this.model.beam_size, signal);
    const target = this.target.decodeWords(ids);
    const steps = await read(this.graphs, source.ids, ids, signal);
    const sure = probabilities(target, steps);
    return {
      text: target.text,
      score,
      source_words: source.words,
      target_words: target.words.map((word, index) => ({ ...word, confidence: sure[index] })),
      weights: between(source, target, steps, this.model.choice),
      ...(othersAt !== undefined && { alternatives: await this.#others(source, target, steps, othersAt, signal) }),
    };
  }

  /** Words that could stand in the place of one: the most probable pieces there, each continued to its word's end. */
  async #others(source, target, steps, index, signal) {
    const place = wordsOf(target).findIndex((words) => words.includes(index));
    if (place < 0) return [];
    const prefix = target.ids.slice(0, place);
    const logs = [...steps[place].logs.entries()].filter(([id]) => id > EOS).sort((a, b) => b[1] - a[1]);
    const best = new Map();
    for (const [id] of logs.slice(0, OTHERS)) {
      const { ids } = await this.#search(source, [...prefix, id], 1, signal);
      const other = this.target.decodeWords(ids);
      // A piece that goes on with the word before it changes that word, not this one.
      if (!wordsOf(other)[place].includes(index)) continue;
      const share = probabilities(other, await read(this.graphs, source.ids, ids, signal))[index];
      best.set(other.words[index].text, Math.max(share, best.get(other.words[index].text) || 0));
    }
    return [...best].map(([text, probability]) => ({ text, probability })).sort((a, b) => b.probability - a.probability);
  }

  /** A text of several sentences, with the white space between them as it was. */
  async text(text, signal) {
    const row = { text: "", score: 0, source_words: [], target_words: [], sentences: [] };
    const found = [];
    for (const [start, end] of sentences(text, this.model.source))
      found.push({ start, end, ...(await this.sentence(text.slice(start, end), {}, signal)) });
    let end = 0;
    for (const one of found) {
      row.text += text.slice(end, one.start);
      end = one.end;
      const [source, target] = [count(text, one.start), count(row.text)];
      row.text += one.text;
      const span = (from, written) => [from, from + count(written)];
      const spans = { source: span(source, text.slice(one.start, end)), target: span(target, one.text) };
      row.sentences.push({ ...spans, score: one.score, weights: one.weights });
      const move = (words, by) => words.map((word) => ({ ...word, start: word.start + by, end: word.end + by }));
      row.source_words.push(...move(one.source_words, source));
      row.target_words.push(...move(one.target_words, target));
      row.score += one.score / found.length;
    }
    row.text += text.slice(end);
    return row;
  }

  /** Weights between the words of a given pair, by a layer and heads. */
  async align(text, translation, { layer, heads }, signal) {
    const source = this.#read(text);
    const target = this.target.encodeWords(translation);
    const steps = await read(this.graphs, source.ids, target.ids, signal);
    return { weights: between(source, target, steps, { layer, heads, shift: this.model.choice.shift }) };
  }
}
