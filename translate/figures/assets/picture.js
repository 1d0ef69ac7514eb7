"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const [height, width] = data.size;
const [rows, columns] = data.grid;
const canvas = document.getElementById("picture");
canvas.width = width;
canvas.height = height;
const context = canvas.getContext("2d");
const bytes = Uint8Array.from(atob(data.pixels), (character) => character.charCodeAt(0));
const state = document.getElementById("state");

// The weight of a place between the middles of patches, from those around it.
function weightAt(weights, y, x) {
  const at = (size, count, place) => Math.min(Math.max(((place + 0.5) * count) / size - 0.5, 0), count - 1);
  const row = at(height, rows, y);
  const column = at(width, columns, x);
  const [top, left] = [Math.floor(row), Math.floor(column)];
  const [bottom, right] = [Math.min(top + 1, rows - 1), Math.min(left + 1, columns - 1)];
  const [down, over] = [row - top, column - left];
  const read = (r, c) => weights[r * columns + c];
  return (
    (read(top, left) * (1 - over) + read(top, right) * over) * (1 - down) +
    (read(bottom, left) * (1 - over) + read(bottom, right) * over) * down
  );
}

function paint(weights) {
  const greatest = weights === null ? 0 : Math.max(...weights);
  const image = context.createImageData(width, height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const place = 4 * (y * width + x);
      const share = greatest > 0 ? weightAt(weights, y, x) / greatest : weights === null ? 1 : 0;
      const grey = (bytes[3 * (y * width + x)] + bytes[3 * (y * width + x) + 1] + bytes[3 * (y * width + x) + 2]) / 3;
      for (let colour = 0; colour < 3; colour += 1) {
        const pixel = bytes[3 * (y * width + x) + colour];
        const dark = 0.3 * (0.5 * pixel + 0.5 * grey);
        image.data[place + colour] = dark + share * (pixel - dark);
      }
      image.data[place + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
}

function tint(element, weight) {
  element.style.setProperty("background-color", `rgba(255, 110, 0, ${(0.75 * weight).toFixed(3)})`);
}

const sentence = document.getElementById("source");
const target = document.getElementById("target");
const makeWords = (parent, words) =>
  words.map((word) => {
    const element = document.createElement("span");
    element.textContent = word;
    element.tabIndex = 0;
    parent.append(element, " ");
    return element;
  });
const sourceWords = makeWords(sentence, data.source);
const targetWords = makeWords(target, data.target);

function clear() {
  for (const element of [...sourceWords, ...targetWords]) {
    element.classList.remove("chosen");
    tint(element, 0);
  }
  state.textContent = "";
}

function showTarget(index) {
  clear();
  targetWords[index].classList.add("chosen");
  paint(data.picture[index]);
  data.beside[index].forEach((weight, word) => tint(sourceWords[word], weight));
  const share = Math.round(100 * data.picture[index].reduce((sum, weight) => sum + weight, 0));
  state.textContent = data.source.length ? `${data.target[index]}: ${share} % of the attention is on the picture` : "";
}

function showSource(index) {
  clear();
  sourceWords[index].classList.add("chosen");
  targetWords.forEach((element, word) => tint(element, data.beside[word][index]));
}

function showAll() {
  clear();
  paint(null);
}

targetWords.forEach((element, index) => {
  for (const event of ["pointerenter", "focus"]) element.addEventListener(event, () => showTarget(index));
});
sourceWords.forEach((element, index) => {
  for (const event of ["pointerenter", "focus"]) element.addEventListener(event, () => showSource(index));
});
for (const parent of [sentence, target]) parent.addEventListener("pointerleave", showAll);
// One scale for all words and places: a word that hardly looked anywhere does not light up like one that did.
const greatestOfAll = Math.max(...data.picture.flat());
const NAMED = 4; // words in the line below
function showPlace(row, column) {
  clear();
  const weights = data.picture.map((places) => places[row * columns + column]);
  weights.forEach((weight, word) => tint(targetWords[word], greatestOfAll > 0 ? weight / greatestOfAll : 0));
  const named = weights.map((weight, word) => [Math.round(100 * weight), word]).filter(([percent]) => percent > 0);
  named.sort((one, other) => other[0] - one[0]);
  const told = named.slice(0, NAMED).map(([percent, word]) => `${data.target[word]} ${percent} %`);
  state.textContent = `row ${row + 1}, column ${column + 1}: ${told.join(", ") || "no word looked here"}`;
}

canvas.addEventListener("pointermove", (event) => {
  const box = canvas.getBoundingClientRect();
  const row = Math.min(rows - 1, Math.floor(((event.clientY - box.top) / box.height) * rows));
  const column = Math.min(columns - 1, Math.floor(((event.clientX - box.left) / box.width) * columns));
  showPlace(row, column);
});
canvas.addEventListener("pointerleave", clear);
showAll();
