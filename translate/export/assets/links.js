// From attention between pieces to weights between words, as translate/alignment/pairs.py does it.

/** Divide by the sum; a row of zeros stays so. */
function share(row) {
  const total = row.reduce((sum, one) => sum + one, 0);
  return total > 1.1754944e-38 ? row.map((one) => one / total) : row.fill(0);
}

/** For each piece the words that it lies in: one, several, or none. */
export function wordsOf({ owners, further }) {
  const words = owners.map((word) => (word < 0 ? [] : [word]));
  for (const [piece, word] of further) words[piece].push(word);
  return words;
}

/** For each piece, [word, share] of its words. */
const sharesOf = (pieces) => wordsOf(pieces).map((those) => those.map((word) => [word, 1 / those.length]));

/** The probability of each target word after the words before it: the product over its pieces. */
export function probabilities(target, steps) {
  const sure = target.words.map(() => 1);
  wordsOf(target).forEach((words, piece) => {
    for (const word of words) sure[word] *= Math.exp(steps[piece].logs[target.ids[piece]]);
  });
  return sure;
}

const mean = (rows, width) => share(Array.from({ length: width }, (_, index) => rows.reduce((sum, row) => sum + row[index], 0)));

/**
 * Weights of each target word over the source words.
 *
 * `steps` have the weights of layers, heads and source pieces. The end of sentence belongs to no word, so each head's
 * row is made to sum to 1 without it before heads, and then pieces, are averaged.
 */
export function between(source, target, steps, { layer, heads, shift }) {
  const [sources, targets] = [sharesOf(source), sharesOf(target)];
  const rows = steps.map(({ weights, heads: numHeads, places }) =>
    mean(
      heads.map((head) => {
        const row = Array(source.words.length).fill(0);
        const start = (layer * numHeads + head) * places;
        sources.forEach((those, piece) => those.forEach(([word, part]) => (row[word] += part * Math.abs(weights[start + piece]))));
        return share(row);
      }),
      source.words.length,
    ),
  );
  return target.words.map((_, word) => {
    const row = Array(source.words.length).fill(0);
    targets.forEach((those, piece) =>
      those.forEach(([owner, part]) => {
        if (owner === word) rows[piece + shift].forEach((one, index) => (row[index] += part * one));
      }),
    );
    return share(row);
  });
}
