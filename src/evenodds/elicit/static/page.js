// Keys, the slider, and the line that is worked out meanwhile. Without script all but the slider works.
"use strict";

// Nobody judges a case this fast: a key that comes sooner was meant for the case before.
const TOO_SOON_MS = 200;
const ASK_AGAIN_MS = 2000;
let sent = false;

setTimeout(() => { document.body.dataset.listening = "yes"; }, TOO_SOON_MS);

function press(button) {
  if (sent || button.disabled) return;
  sent = true;
  button.form.requestSubmit(button);
}

document.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  const onSlider = event.target.id === "slider";
  if (onSlider && event.key.startsWith("Arrow")) return;
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

const slider = document.getElementById("slider");
slider.addEventListener("input", () => {
  document.getElementById("chance").value = slider.value;
  document.getElementById("put").textContent = `${slider.value} of 100`;
});

const line = document.getElementById("line");

async function refreshLine() {
  const answer = await fetch(line.dataset.outlook).catch(() => null);
  if (!answer || !answer.ok) return;
  const news = await answer.json();
  if (!news.working) line.textContent = news.line;
  else setTimeout(refreshLine, ASK_AGAIN_MS);
}

if (line.dataset.working === "yes") setTimeout(refreshLine, ASK_AGAIN_MS);
