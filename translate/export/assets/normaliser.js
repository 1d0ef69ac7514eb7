// The normalisation of SentencePiece: longest matches in the rules that its model holds, then white space.

const SPACE_SYMBOL = "▁";

/** The rules of a model: a trie in an array (darts-clone), which finds replacements of the beginning of a text. */
class Rules {
  constructor(buffer) {
    const size = new DataView(buffer).getUint32(0, true);
    this.units = new Uint32Array(buffer, 4, size / 4);
    this.texts = new Uint8Array(buffer, 4 + size);
  }

  /** The longest rule that UTF-8 bytes begin with at `start`: its length and replacement, or null. */
  find(bytes, start) {
    const offset = (unit) => (unit >>> 10) << ((unit & 0x200) >>> 6);
    let node = offset(this.units[0]);
    let found = null;
    for (let end = start; end < bytes.length; end++) {
      node ^= bytes[end];
      const unit = this.units[node];
      if ((unit & 0x800000ff) !== bytes[end]) break;
      node ^= offset(unit);
      if (unit & 0x100) found = { length: end + 1 - start, at: this.units[node] & 0x7fffffff };
    }
    return found && { length: found.length, text: this.#text(found.at) };
  }

  #text(start) {
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(this.texts.subarray(start, this.texts.indexOf(0, start)));
  }
}

/** Texts as the pieces of a model are spelt. */
export class Normaliser {
  constructor(rules, { dummy_prefix, remove_extra_whitespaces }) {
    this.rules = rules.byteLength ? new Rules(rules) : null;
    this.beginsWithSpace = dummy_prefix;
    this.removesSpaces = remove_extra_whitespaces;
  }

  /** The parts of a text with their replacements, and their places in UTF-16 units. */
  *#parts(text) {
    const bytes = new TextEncoder().encode(text);
    for (let at = 0, place = 0; at < bytes.length; ) {
      const rule = this.rules?.find(bytes, at);
      const size = rule ? rule.length : 1 + (bytes[at] >= 0xc0) + (bytes[at] >= 0xe0) + (bytes[at] >= 0xf0);
      // A character of four bytes takes two units; the bytes 10...... only continue one.
      let units = 0;
      for (const byte of bytes.subarray(at, at + size)) units += (byte & 0xc0) === 0x80 ? 0 : byte >= 0xf0 ? 2 : 1;
      yield { place, end: place + units, text: rule ? rule.text : text.slice(place, place + units) };
      at += size;
      place += units;
    }
  }

  /** The normalised text, and for each of its units, and its end, the place in `text` that it comes from. */
  normalise(text) {
    const parts = [...this.#parts(text)];
    if (this.removesSpaces) while (parts[0]?.text === " ") parts.shift();
    if (!parts.length) return { text: "", places: [text.length] };
    let written = "";
    const places = [];
    const write = (more, place) => {
      written += more;
      for (let unit = 0; unit < more.length; unit++) places.push(place);
    };
    if (this.beginsWithSpace) write(SPACE_SYMBOL, parts[0].place);
    let afterSpace = this.removesSpaces;
    for (const part of parts) {
      const kept = afterSpace ? part.text.replace(/^ +/, "") : part.text;
      write(kept.replaceAll(" ", SPACE_SYMBOL), part.place);
      if (kept) afterSpace = kept.endsWith(" ");
      if (!this.removesSpaces) afterSpace = false;
    }
    let end = parts.at(-1).end;
    if (this.removesSpaces)
      while (written.endsWith(SPACE_SYMBOL)) {
        written = written.slice(0, -1);
        end = places[written.length];
        places.length = written.length;
      }
    return { text: written, places: [...places, end] };
  }
}
