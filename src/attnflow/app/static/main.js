// The page: one state, kept in the address; what the visitor does changes it, and the server computes what follows.

import { steer } from "./camera.js";
import { RAMP, byCluster, byIndex } from "./colours.js";
import { Controls } from "./controls.js";
import { Instruments } from "./instruments.js";
import { density } from "./density.js";
import { leave } from "./leave.js";
import { Socket } from "./socket.js";
import { Stage } from "./stage.js";

const $ = (id) => document.getElementById(id);
const PACE = 1000 / 40; // milliseconds from one picture to the next

const catalogue = await (await fetch("catalogue.json")).json();
const defaults = Object.fromEntries(Object.entries(catalogue.fields).map(([name, field]) => [name, field.default]));

const page = {
  state: { ...defaults }, run: 0, running: null, playing: false, waiting: false, requested: 0, step: 0, longest: 1,
  labels: null, latest: null, seeking: null, states: 0, resume: false,
};
const stage = new Stage($("stage"));
document.body.classList.toggle("soft", stage.soft);
const instruments = new Instruments(catalogue.palette);
const controls = new Controls($("controls"), catalogue, change);
const socket = new Socket({ opened: begin, closed, event, frame });
window.attnflow = { page, stage, instruments, catalogue, socket }; // for the curious, and for tests

// The state in the address

export function fragment() {
  const written = new URLSearchParams();
  const now = { ...page.state, step: page.step, yaw: round(stage.camera.yaw), pitch: round(stage.camera.pitch), zoom: round(stage.camera.zoom) };
  for (const [name, value] of Object.entries(now)) if (value !== null && value !== undefined && value !== defaults[name]) written.set(name, String(value));
  return written.toString();
}

const round = (v) => Math.round(1000 * v) / 1000;

function fromFragment(text) {
  const given = new URLSearchParams(text);
  // The name of a scene alone, as one writes it by hand, is that scene; an address of ours has all that differs.
  const scene = given.size === 1 && catalogue.scenes.find((s) => s.id === given.get("scene"));
  const state = { ...defaults, ...(scene ? scene.state : {}) };
  for (const [name, value] of given) {
    if (catalogue.fields[name]?.word) state[name] = value;
    else { try { state[name] = JSON.parse(value); } catch { say(`${name} = ${value} in the address is not a number, true or false.`); } }
  }
  return state;
}

let lastWritten = 0;
function remember(force) {
  const now = performance.now();
  if (!force && now - lastWritten < 700) return;
  lastWritten = now;
  history.replaceState(null, "", `#${fragment()}`);
}

// Scenes

for (const [i, scene] of catalogue.scenes.entries()) $("scenes").append(new Option(`${i + 1}. ${scene.title}`, scene.id));
$("scenes").append(new Option("your own", ""));
$("scenes").onchange = () => open($("scenes").value);

function open(id) {
  const scene = catalogue.scenes.find((s) => s.id === id);
  if (!scene) return;
  load({ ...defaults, ...scene.state, scene: id });
  play(true);
}

function describe() {
  const scene = catalogue.scenes.find((s) => s.id === page.state.scene);
  $("scenes").value = scene ? scene.id : "";
  $("look").textContent = scene ? scene.look : "Your own experiment. Every control starts the run anew from the same tokens; the address keeps it.";
  $("sources").replaceChildren();
  if (!scene) return;
  const paper = Object.assign(document.createElement("a"), { href: scene.url, rel: "noreferrer", target: "_blank", textContent: `arXiv:${scene.url.split("/").pop()}` });
  const cite = Object.assign(document.createElement("button"), { textContent: "BibTeX", title: "Copy the citation", onclick: () => copied(scene.bibtex, "The citation is copied.") });
  const command = document.createElement("code");
  command.append("attnflow reproduce ", Object.assign(document.createElement("span"), { textContent: scene.experiment }));
  $("sources").append(paper, " ", cite, document.createElement("br"), command);
}

function load(state) {
  page.state = controls.tidy(state);
  page.step = page.state.step;
  Object.assign(stage.camera, { yaw: page.state.yaw, pitch: page.state.pitch, zoom: page.state.zoom });
  stage.trails = page.state.trails;
  page.longest = Math.max(1, page.step);
  controls.show(page.state);
  describe();
  speeds();
  begin();
}

// What the visitor changes: the picture alone, or the run, which then begins anew.

let pending = 0;
function change(what, sliding = false) {
  const next = { ...page.state, ...what };
  const name = Object.keys(what)[0];
  if (["trails", "colour"].includes(name)) {
    page.state = next;
    stage.trails = next.trails;
    stage.dirty = true;
    paint();
    remember(true);
    return;
  }
  if (name === "axes" && page.running) {
    page.state = next;
    page.jump = true;
    socket.send({ do: "view", run: page.run, axes: next.axes });
    remember(true);
    return;
  }
  const sceneState = catalogue.scenes.find((s) => s.id === next.scene)?.state;
  if (sceneState && sceneState.dt !== undefined && name !== "dt" && next.dt === sceneState.dt) next.dt = null; // its step suited its own numbers
  page.state = controls.tidy({ ...next, step: 0 });
  page.step = 0;
  page.longest = 1;
  if (!sliding) controls.show(page.state);
  clearTimeout(pending);
  pending = setTimeout(begin, sliding ? 90 : 0);
}

// Talking to the server

function begin() {
  if (!socket.ready) return;
  page.run += 1;
  page.running = null;
  page.waiting = true;
  page.seeking = null;
  const { yaw, pitch, zoom } = stage.camera;
  socket.send({ do: "start", run: page.run, state: { ...clean(page.state), step: page.step, yaw, pitch, zoom } });
}

export const clean = (state) => Object.fromEntries(Object.entries(state).filter(([, v]) => v !== null && v !== undefined));

function closed(reason) {
  page.running = null;
  page.waiting = false;
  busy(reason || "The server is away; this page connects again by itself.");
}

function event(message) {
  if (message.event === "error") {
    say(message.sentence);
    if (message.run !== page.run) return; // about a run that has been left
    page.waiting = false;
    play(false);
    busy(null);
    return;
  }
  if (message.run !== page.run) return;
  if (message.event === "busy") busy(message.what === "compiling" ? "compiling …" : "preparing …", 250);
  else if (message.event === "started") started(message);
  else if (message.event === "series") instruments.series(message);
  else if (message.event === "token") describeToken(message);
}

function started(message) {
  page.running = message;
  page.labels = null;
  page.jump = true;
  hush();
  const full = message.state.pairs === "full";
  instruments.clear(message.theory, { dt: message.dt, energy: message.energy, long: message.state.long, ordered: message.state.n > 64 ? (full ? "64 groups, by cluster" : "64 groups, in order") : (full ? "tokens by cluster" : "tokens in order") });
  stage.layout(message.sphere ? "sphere" : "euclidean", message.state.d);
  stage.size = message.weights ? Float32Array.from(message.weights, (w) => Math.max(0.45, Math.min(3, Math.sqrt(w * message.weights.length)))) : null;
  busy(null);
  page.weights = stage.size;
}

function frame(f) {
  if (f.run !== page.run || !page.running) return;
  if (f.kind === "instruments") {
    page.labels = f.labels;
    instruments.measured(f);
    paint();
    spoken(f);
    return;
  }
  page.waiting = false;
  page.states += 1;
  unseen += 1;
  const back = f.step < page.step || page.jump || f.step - page.step > 4 * page.state.speed;
  page.jump = false;
  page.step = f.step;
  page.latest = f;
  page.longest = Math.max(page.longest, f.step);
  stage.place(f.points, f.n, f.k, back);
  stage.curve = f.density.length ? density(f.density) : null;
  if (!stage.target || stage.target.length !== 3 * f.n) paint();
  instruments.state(f);
  written(f);
  remember(!page.playing);
  if (page.playing && f.step >= page.running.last) play(false);
  if (page.seeking !== null) { const to = page.seeking; page.seeking = null; seek(to); }
  goOn();
}

// Words beside the tokens, a few times a second while they move: browsers that draw in software pay for each.
let lastWords = 0;
function written(f) {
  const now = performance.now();
  if (page.playing && now - lastWords < 120) return;
  lastWords = now;
  $("scrub").max = page.running.state.long ? page.running.last : page.longest;
  $("scrub").value = f.step;
  $("clock").textContent = `t = ${time(f.t)}`;
  $("scrub").setAttribute("aria-valuetext", $("clock").textContent);
  caption(f);
}

const time = (t) => (page.running?.state.long ? powers(t / Math.LN10) : t >= 1e5 ? t.toExponential(3) : t.toFixed(t < 100 ? 2 : 1));

function powers(log10) {
  if (log10 < 5) return (10 ** log10).toPrecision(4);
  const whole = Math.floor(log10);
  return `${(10 ** (log10 - whole)).toFixed(2)} · 10${superscript(whole)}`;
}

function caption(f) {
  const { d, space } = page.running.state;
  const where = space === "sphere" ? (d === 2 ? "the circle S¹" : `the sphere S${superscript(d - 1)}`) : d === 2 ? "the plane" : `R${superscript(d)}`;
  const share = `${Math.round(100 * f.share)} % of the second moment`;
  const along = { pca: "three principal axes", mean: "the mean and across it" }[page.state.axes] ?? `coordinates ${page.state.axes}`;
  const through = d <= 3 ? "" : `, seen along ${along} (${share})`;
  $("view").textContent = `${f.n} tokens on ${where}${through}${stage.curve ? "; the curve is their kernel density" : ""}`.replace("on the plane", "in the plane").replace("on R", "in R");
}

const superscript = (k) => String(k).replace(/\d/g, (c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]);

function paint() {
  if (!page.latest) return;
  const n = page.latest.n, dark = stage.dark;
  const labels = page.labels?.length === n ? page.labels : Uint16Array.from({ length: n }, (_, i) => i);
  stage.paint(page.state.colour === "index" ? byIndex(n, dark) : byCluster(labels, catalogue.palette, dark), page.weights);
}

let spokenAt = 0;
function spoken(f) {
  const now = performance.now();
  if (page.playing && now - spokenAt < 8000) return;
  spokenAt = now;
  $("spoken").textContent = `t = ${time(f.t)}, ${f.count} cluster${f.count === 1 ? "" : "s"}`;
}

// Time

function play(on) {
  page.playing = on;
  $("play").setAttribute("aria-label", on ? "Pause" : "Play");
  $("play-shape").setAttribute("d", on ? "M5 3h3.6v14H5zM11.4 3H15v14h-3.6z" : "M5 3v14l12-7z");
  goOn();
  if (on || !page.running || !page.latest) return;
  written(page.latest);
  remember(true);
}

function forward(steps) {
  if (!page.running || page.waiting) return;
  page.waiting = true;
  page.requested = performance.now();
  socket.send({ do: "advance", run: page.run, steps });
}

function seek(step) {
  step = Math.max(0, step);
  if (!page.running) return;
  if (page.waiting) { page.seeking = step; return; }
  page.waiting = true;
  page.jump = true;
  socket.send({ do: "seek", run: page.run, step });
}

function speeds() {
  const options = [...new Set([1, 2, 4, 8, 16, 32, 64, page.state.speed])].sort((a, b) => a - b);
  $("speed").replaceChildren(...options.map((v) => new Option(`×${v}`, v, false, v === page.state.speed)));
}

// The next state is requested when the last has arrived and the pace allows: the server computes it while that one is
// drawn. No state is requested that would not be drawn.
let goingOn = 0;
let unseen = 0; // states since the last picture
function goOn() {
  clearTimeout(goingOn);
  goingOn = 0;
  if (!page.playing || !page.running || page.waiting || unseen > 1 || document.hidden) return;
  const early = PACE - (performance.now() - page.requested);
  if (early > 1) goingOn = setTimeout(goOn, early);
  else forward(page.state.speed);
}

document.addEventListener("visibilitychange", goOn);

function tick() {
  requestAnimationFrame(tick);
  stage.draw(page.playing);
  unseen = 0;
  if (!goingOn) goOn();
}

// Words to the visitor

let hushing = 0;
export function say(sentence, kind = "error") {
  $("sentence").textContent = sentence;
  $("sentence").hidden = false;
  $("sentence").dataset.kind = kind;
  clearTimeout(hushing);
  hushing = setTimeout(hush, kind === "error" ? 12000 : 2500);
}
function hush() { $("sentence").hidden = true; }

let busyTimer = 0;
export function busy(text, after = 0) {
  clearTimeout(busyTimer);
  if (!text) { $("busy").hidden = true; return; }
  busyTimer = setTimeout(() => { $("busy").textContent = text; $("busy").hidden = false; }, after);
}

export async function copied(text, sentence) {
  try { await navigator.clipboard.writeText(text); say(sentence, "note"); } catch { say(text, "note"); }
}

// The token under the pointer

let lastTokenRequest = 0;
function look(token, x, y) {
  if (token < 0) { $("tip").hidden = true; stage.hover = null; stage.dirty = true; return; }
  if (stage.hover?.token !== token) stage.hover = { token, attends: [] };
  const now = performance.now();
  if (now - lastTokenRequest > 120) { lastTokenRequest = now; socket.send({ do: "token", run: page.run, index: token }); }
  $("tip").hidden = false;
  const box = $("frame").getBoundingClientRect();
  $("tip").style.left = `${Math.min(x + 14, box.width - 190)}px`;
  $("tip").style.top = `${y > box.height - 120 ? y - 110 : y + 14}px`;
  if (!stage.hover.attends.length) $("tip").textContent = `token ${token}`;
}

function describeToken(message) {
  if (stage.hover?.token !== message.token) return;
  stage.hover.attends = message.attends;
  stage.dirty = true;
  const more = message.dimension > message.position.length ? ", …" : "";
  const title = document.createElement("b");
  title.textContent = `token ${message.token}`;
  const cluster = page.labels ? `, cluster ${page.labels[message.token] + 1}` : "";
  const weight = message.weight === null ? "" : `, weight ${message.weight.toPrecision(3)}`;
  const place = document.createElement("div");
  place.textContent = `(${message.position.join(", ")}${more})`;
  const whom = document.createElement("div");
  const shares = message.attends.filter(([, a], k) => !k || a >= 0.001); // the first, and the others that matter
  whom.textContent = shares.length ? `attends to ${shares.map(([j, a]) => `${j} (${(100 * a).toPrecision(2)} %)`).join(", ")}` : "";
  $("tip").replaceChildren(title, cluster + weight, place, whom);
}

$("stage").addEventListener("pointermove", (e) => {
  if (e.buttons) return look(-1);
  const box = $("stage").getBoundingClientRect();
  look(stage.pick(e.clientX - box.left, e.clientY - box.top), e.clientX - box.left, e.clientY - box.top);
});
$("stage").addEventListener("pointerleave", () => look(-1));

// Keys and buttons

function theme(dark, keep) {
  stage.dark = instruments.dark = dark;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  document.documentElement.style.setProperty("--ramp", RAMP.join(", "));
  stage.adopt(getComputedStyle(document.documentElement));
  if (keep) localStorage.setItem("attnflow-theme", dark ? "dark" : "light");
  stage.dirty = true;
  stage.colour = null;
  instruments.all();
  paint();
}
const system = matchMedia("(prefers-color-scheme: dark)");
system.addEventListener("change", () => { if (!localStorage.getItem("attnflow-theme")) theme(system.matches); });

$("play").onclick = () => play(!page.playing);
// In long-time mode a step is a jump to the next merger.
const merger = (after) => (page.running?.merges ?? []).filter((k) => (after ? k > page.step : k < page.step));
$("step").onclick = () => { play(false); page.running?.state.long ? seek(merger(true)[0] ?? page.running.last) : forward(page.state.speed); };
$("back").onclick = () => { play(false); seek(page.running?.state.long ? merger(false).pop() ?? 0 : page.step - page.state.speed); };
$("reset").onclick = () => seek(0);
$("scrub").oninput = () => { const to = Number($("scrub").value); play(false); seek(to); }; // a pause writes the step shown
$("speed").onchange = () => { page.state.speed = Number($("speed").value); remember(true); };
$("theme").onclick = () => theme(!stage.dark, true);
$("help").onclick = () => $("keys").showModal();
leave({ page, stage, fragment, clean, say, busy, copied, remember });

addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || $("keys").open) return;
  const inField = e.target.closest?.("input:not([type=range]):not([type=checkbox]), select, textarea");
  if (inField || (e.key === " " && e.target.closest?.("button, input"))) return;
  const act = {
    " ": () => play(!page.playing), ".": () => $("step").click(), ",": () => $("back").click(), r: () => seek(0),
    t: () => { change({ trails: !page.state.trails }); controls.show(page.state); }, d: () => theme(!stage.dark, true),
    n: () => change({ seed: page.state.seed + 1 }), l: () => $("link").click(), c: () => $("python").click(), "?": () => $("keys").showModal(),
    "[": () => nextToken(-1), "]": () => nextToken(1),
  }[e.key.toLowerCase()];
  if (act) { e.preventDefault(); act(); }
  else if (/^[1-9]$/.test(e.key) && catalogue.scenes[e.key - 1]) open(catalogue.scenes[e.key - 1].id);
});

function nextToken(by) {
  if (!page.latest) return;
  const token = ((stage.hover?.token ?? -by) + by + page.latest.n) % page.latest.n;
  lastTokenRequest = 0;
  look(token, ...stage.where(token));
}

steer($("stage"), stage.camera, () => { stage.dirty = true; remember(); });
addEventListener("hashchange", () => { if (location.hash.slice(1) !== fragment()) { play(false); load(fromFragment(location.hash.slice(1))); } });

theme((localStorage.getItem("attnflow-theme") ?? (system.matches ? "dark" : "light")) === "dark");
if (location.hash.length > 1) {
  const state = fromFragment(location.hash.slice(1));
  play(state.step === 0 && !matchMedia("(prefers-reduced-motion: reduce)").matches);
  load(state);
} else {
  play(!matchMedia("(prefers-reduced-motion: reduce)").matches);
  load({ ...defaults, ...catalogue.scenes[0].state, scene: catalogue.scenes[0].id });
}
requestAnimationFrame(tick);
