// Keys, the sliders, room for the case, and the line that is worked out meanwhile.
// Without script all but the sliders works.
"use strict";

// Nobody judges a case this fast: a key that comes sooner was meant for the case before.
const TOO_SOON_MS = 200;
const ASK_AGAIN_MS = 2000;
const MOST_COVERED = 0.45;
let sent = false;
// Arrows move the slider for whoever came to it by keys; after the mouse or a finger they answer.
let byPointer = false;

setTimeout(() => { document.body.dataset.listening = "yes"; }, TOO_SOON_MS);

function press(button) {
  if (sent || button.disabled || !button.form.reportValidity()) return;
  sent = true;
  button.form.requestSubmit(button);
}

// An empty answer is told, but its field not entered: there a key would mean another number.
document.addEventListener("invalid", (event) => {
  const field = event.target;
  if (field.value !== "" || field.validity.badInput || field === document.activeElement) return;
  event.preventDefault();
  line.textContent = field.dataset.empty || field.validationMessage;
}, true);

document.addEventListener("pointerdown", () => { byPointer = true; }, true);

document.addEventListener("keydown", (event) => {
  if (event.key === "Tab") byPointer = false;
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  const onSlider = event.target.id === "slider" && !byPointer;
  if (onSlider && event.key.startsWith("Arrow")) return;
  if (event.key === "Enter" && event.target.closest("a, button")) return;
  if (event.key !== "Enter" && event.target.closest(".chance")) return;
  if (stating && (event.target === stating || stateByKey(event))) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const button = document.querySelector(`button[data-key="${CSS.escape(key)}"]`);
  if (!button) return;
  event.preventDefault();
  if (document.body.dataset.listening) press(button);
});

for (const form of document.forms) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
  });
}

// A number from 0 to 100, by slider, keys or typing: the slider shows nothing until one is stated.
const stating = document.getElementById("stating");
const slider = document.getElementById("slider");

function state(value) {
  stating.value = value;
  if (line.textContent === stating.dataset.empty) line.textContent = "";
  showStated();
}

function showStated() {
  const known = stating.value !== "" && stating.checkValidity();
  slider.classList.toggle("unset", !known);
  if (known) slider.value = stating.value;
  slider.setAttribute("aria-valuetext", known ? `${stating.value} of 100` : "not set");
}

// Tells whether a key was meant for the number.
function stateByKey(event) {
  if (!document.body.dataset.listening) return false;
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (/^[0-9]$/.test(event.key)) state(10 * Number(event.key));
  else if (event.key.toLowerCase() === "a") state(100);
  else if (step && stating.value !== "") {
    state(Math.min(100, Math.max(0, Number(stating.value) + step)));
  } else return false;
  event.preventDefault();
  return true;
}

if (stating) {
  slider.addEventListener("input", () => state(slider.value));
  // Where the slider is touched on its very middle it does not move, and that is an answer too.
  slider.addEventListener("pointerup", () => state(slider.value));
  stating.addEventListener("input", showStated);
  showStated(); // of a page that the browser brought back
}

// Up to three classes with their chances: what is left of 100 is told, and nothing rests there.
const chances = document.querySelector(".chances");

function tellLeft() {
  const left = document.getElementById("left");
  const fields = [...chances.querySelectorAll("[type=number]")];
  const named = new Set();
  let total = 0;
  let problem = "";
  for (const field of fields) {
    if (field.value === "") continue;
    const which = field.closest(".chance").querySelector(".which").value;
    if (which === "") problem = "Choose the class of each number.";
    else if (named.has(which)) problem = "A class is named twice.";
    named.add(which);
    total += Number(field.value);
  }
  const rest = 100 - total;
  const others = Number(chances.dataset.classes) - named.size;
  if (!named.size) problem = "Say how likely at least one class is.";
  else if (rest < 0) problem ||= `That is ${total} in all: more than 100.`;
  else if (rest > 0 && !others) problem ||= `That is ${total} in all: ${rest} are missing.`;
  fields[0].setCustomValidity(problem);
  if (!named.size) left.textContent = left.dataset.rule;
  else if (problem) left.textContent = problem;
  else if (!rest) left.textContent = "100 in all.";
  else if (others === 1) left.textContent = `${rest} left, for the other class.`;
  else left.textContent = `${rest} left, shared evenly among ${others} other classes.`;
}

if (chances) {
  const left = document.getElementById("left");
  left.dataset.rule = left.textContent;
  chances.addEventListener("input", tellLeft);
  tellLeft(); // of a page that the browser brought back
}

const chance = document.getElementById("chance");
const put = document.getElementById("put");
const unset = document.getElementById("unset");

function setChance(value) {
  chance.value = value;
  put.textContent = value === "" ? "not set" : `${value} of 100`;
  unset.hidden = value === "";
}

if (unset) {
  slider.addEventListener("input", () => setChance(slider.value));
  unset.addEventListener("click", () => {
    slider.value = 50;
    slider.focus();
    setChance("");
  });
}

const panel = document.querySelector(".answers");
const shown = document.querySelector(".case");
const more = document.getElementById("more");

function tellMore() {
  const covered = shown.getBoundingClientRect().bottom - panel.getBoundingClientRect().top;
  more.hidden = panel.classList.contains("loose") || covered < 1;
}

// A panel that would hide about half of the screen stays below the case instead.
function makeRoom() {
  panel.classList.toggle("loose", panel.offsetHeight > MOST_COVERED * window.innerHeight);
  tellMore();
}

makeRoom();
window.addEventListener("load", makeRoom);
window.addEventListener("resize", makeRoom);
document.addEventListener("scroll", tellMore, { passive: true });

const line = document.getElementById("line");

async function refreshLine() {
  const answer = await fetch(line.dataset.preview).catch(() => null);
  if (!answer || !answer.ok) return;
  const news = await answer.json();
  if (!news.working) line.textContent = news.line;
  else setTimeout(refreshLine, ASK_AGAIN_MS);
}

if (line.dataset.working === "yes") setTimeout(refreshLine, ASK_AGAIN_MS);
