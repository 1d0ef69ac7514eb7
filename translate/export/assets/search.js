// Beam search over the two ONNX graphs, and what they show of a translation that is given.
//
// Shapes: B = 1 sentence, W hypotheses, S source pieces, T target pieces so far, V vocabulary, L layers, H heads.

import { BOS, EOS, PAD } from "./tokenizer.js";

const BUSY = 12; // milliseconds of work, after which the browser may draw and hear keys

export class Graphs {
  /** `ort` is onnxruntime-web; `encoder` and `step` are its sessions. */
  constructor(ort, encoder, step, numMemories) {
    Object.assign(this, { ort, encoder, step, numMemories, rested: performance.now() });
  }

  #integers(values, dims) {
    return new this.ort.Tensor("int64", BigInt64Array.from(values, BigInt), dims);
  }

  /** The source, encoded: the inputs of every step, and the states of one hypothesis. */
  async read(source) {
    const mask = new this.ort.Tensor("bool", new Uint8Array(source.length).fill(1), [1, source.length]);
    const given = { source: this.#integers(source, [1, source.length]), mask };
    const found = await this.encoder.run(only(given, this.encoder.inputNames));
    const [fixed, states] = [{ mask }, []];
    this.encoder.outputNames.forEach((name, index) => {
      if (index < this.numMemories) fixed[name] = found[name];
      else states.push(found[name]);
    });
    return { fixed, states };
  }

  /** Read the last id of each hypothesis: log-probabilities (W, V) of the next, states, and weights (W, L, H, S). */
  async advance(hypotheses, { fixed, states }, signal, wants = []) {
    signal?.throwIfAborted();
    if (performance.now() - this.rested > BUSY) {
      await new Promise((resolve) => setTimeout(resolve));
      this.rested = performance.now();
      signal?.throwIfAborted();
    }
    const given = { ...fixed, ids: this.#integers(hypotheses.flat(), [1, hypotheses.length, hypotheses[0].length]) };
    states.forEach((state, index) => (given[`state_${index}`] = state));
    const names = states.map((_, index) => `next_state_${index}`);
    const found = await this.step.run(only(given, this.step.inputNames), ["log_probabilities", ...names, ...wants]);
    return { logs: found.log_probabilities.data, states: names.map((name) => found[name]), weights: found.weights };
  }

  /** States (1, W, ...) of the hypotheses at `rows`. */
  reorder(states, rows) {
    return states.map(({ type, data, dims }) => {
      const size = data.length / dims[1];
      const kept = new data.constructor(size * rows.length);
      rows.forEach((row, index) => kept.set(data.subarray(row * size, (row + 1) * size), index * size));
      return new this.ort.Tensor(type, kept, [1, rows.length, ...dims.slice(2)]);
    });
  }
}

/** The inputs that a graph has: the exporter drops those that it does not read. */
const only = (given, names) => Object.fromEntries(names.map((name) => [name, given[name]]));

/** Candidates {score, origin, id}, the best `count` of all hypotheses. */
function bestOf(logs, scores, count, isAllowed) {
  const size = logs.length / scores.length;
  const best = [];
  scores.forEach((before, origin) => {
    for (let id = 0; id < size; id++) {
      const score = Math.fround(before + logs[origin * size + id]);
      if (score === -Infinity || (best.length === count && score <= best[count - 1].score) || !isAllowed(id)) continue;
      let place = best.length;
      while (place && best[place - 1].score < score) place--;
      best.splice(place, 0, { score, origin, id });
      best.length = Math.min(best.length, count);
    }
  });
  return best;
}

/**
 * The best translation {ids, score}. It is done when as many hypotheses have ended as the beam is wide.
 *
 * `source` ends in the end of sentence; `longest` counts that of the translation, too; every translation begins with
 * `prefix`.
 */
export async function search(graphs, source, { beam, longest, lengthPenalty, prefix = [] }, signal) {
  const { fixed, states: first } = await graphs.read(source);
  let [hypotheses, scores, states] = [[[BOS]], [0], first];
  const ended = [];
  const limit = Math.max(longest, prefix.length + 1);
  for (let length = 1; length <= limit && ended.length < beam; length++) {
    const found = await graphs.advance(hypotheses, { fixed, states }, signal);
    const isAllowed = (id) => {
      if (length <= prefix.length) return id === prefix[length - 1];
      return length === limit ? id === EOS : id !== PAD && id !== BOS;
    };
    const candidates = bestOf(found.logs, scores, beam === 1 ? 1 : 2 * beam, isAllowed);
    for (const { score, origin, id } of candidates.slice(0, beam))
      if (id === EOS) ended.push({ ids: hypotheses[origin].slice(1), score: score / length ** lengthPenalty });
    const going = candidates.filter(({ id }) => id !== EOS).slice(0, beam);
    if (!going.length) break;
    hypotheses = going.map(({ origin, id }) => [...hypotheses[origin], id]);
    scores = going.map(({ score }) => score);
    states = graphs.reorder(found.states, going.map(({ origin }) => origin));
  }
  if (!ended.length) throw new Error("The model gives no probability for this text; its weights may be damaged.");
  return ended.reduce((best, one) => (one.score > best.score ? one : best));
}

/** A translation that is given: the log-probabilities (V) and the weights (L, H, S) of each step, T + 1 of them. */
export async function read(graphs, source, target, signal) {
  const { fixed, states: first } = await graphs.read(source);
  const steps = [];
  let states = first;
  for (let length = 0; length <= target.length; length++) {
    const found = await graphs.advance([[BOS, ...target.slice(0, length)]], { fixed, states }, signal, ["weights"]);
    const [, , layers, heads, places] = found.weights.dims;
    steps.push({ logs: found.logs, weights: found.weights.data, layers, heads, places });
    states = found.states;
  }
  return steps;
}
