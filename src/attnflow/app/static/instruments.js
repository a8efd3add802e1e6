// Charts of what is measured, with the theory drawn over it. Plotly draws them, one after the other, a few times a second.

import { picture } from "./attention.js";
import { plot } from "./plot.js";

const NAMES = ["energy", "clusters", "order", "products"];
const MOST = 600; // points of a curve
const short = (v, digits = 4) => (Number.isFinite(v) ? (Math.abs(v) >= 1e4 || (v !== 0 && Math.abs(v) < 1e-3) ? v.toExponential(2) : v.toPrecision(digits)) : "–");

export class Instruments {
  constructor(palette) {
    this.palette = palette;
    this.turn = 0;
    this.dark = true;
    this.clear({ curves: [], levels: [], wave: 1 });
    setTimeout(() => this.load(), 3000);
    new ResizeObserver(() => this.all()).observe(document.getElementById("instruments"));
    this.next();
  }

  // Plotly is large, and nothing moves while it is read: it comes when the tokens have begun to move.
  load() {
    if (this.loading) return;
    this.loading = document.createElement("script");
    this.loading.src = "plotly.min.js";
    this.loading.onload = () => { this.ready = true; };
    document.head.append(this.loading);
  }

  // After a start each chart is drawn as soon as it can be; then they take turns.
  next() {
    setTimeout(() => { this.refresh(); this.next(); }, this.unseen.size ? 60 : 300);
  }

  clear(theory, facts = {}) {
    this.theory = theory;
    this.facts = facts;
    this.rows = new Map(); // step -> [t, energy, order, wave]
    this.counts = new Map(); // step -> [t, count, plateau]
    this.stale = new Set(NAMES);
    this.unseen = new Set(NAMES);
    this.histogram = null;
    this.now = 0;
    this.frame = null;
  }

  state(frame) {
    frame = { ...frame, t: this.clock(frame.t) };
    this.rows.set(frame.step, [frame.t, frame.energy, frame.order, frame.wave]);
    this.now = frame.t;
    if (this.rows.size > 4) this.load();
    for (const c of ["energy", "order", "clusters"]) this.stale.add(c);
  }

  // Long times come as natural logarithms and are shown as powers of ten.
  clock(t) { return this.facts.long ? t / Math.LN10 : t; }

  // What is known of times that are not shown: where a jump in time came through, or all of a long run.
  series({ rows, counts = [] }) {
    for (const [step, t, ...rest] of rows) this.rows.set(step, [this.clock(t), ...rest.map((v) => v ?? NaN)]);
    for (const [step, t, ...rest] of counts) this.counts.set(step, [this.clock(t), ...rest]);
  }

  measured(frame) {
    this.counts.set(frame.step, [this.clock(frame.t), frame.count, frame.plateau]);
    if (!this.frame) for (const c of ["clusters", "products"]) this.unseen.add(c);
    this.histogram = frame.histogram;
    this.frame = frame;
    for (const c of ["clusters", "products", "energy"]) this.stale.add(c);
    picture(frame, this.facts.ordered ?? "");
  }

  colours() {
    const ink = this.dark ? "#dfe7ef" : "#1d2733", faint = this.dark ? "#8a99a9" : "#5d6b7a", line = this.dark ? "#212b36" : "#e3e8ed";
    return { ink, faint, line, measured: this.dark ? "#56b4e9" : "#0072b2", theory: this.dark ? "#f0a94a" : "#c25a00", second: this.dark ? "#58c9a5" : "#00805d" };
  }

  refresh() {
    if (!this.ready || document.hidden || !this.stale.size) return;
    for (let k = 0; k < NAMES.length; k++) {
      const name = NAMES[this.turn++ % NAMES.length];
      if (this.unseen.size && !this.unseen.has(name)) continue;
      if (!this.stale.delete(name)) continue;
      this.unseen.delete(name);
      this.chart(name);
      return;
    }
    this.unseen.clear();
  }

  all() { this.stale = new Set(NAMES); }

  chart(name) {
    const size = parseFloat(getComputedStyle(document.documentElement).fontSize) * 0.78;
    this.thick = size / 11; // lines grow with the letters
    const c = this.colours();
    const { traces, layout } = this[name](c);
    plot(name, traces, { x: this.facts.long ? "log₁₀ t" : "t", ...layout }, c, size);
  }

  columns(source, pick) {
    const steps = [...source.keys()].sort((a, b) => a - b);
    const every = Math.ceil(steps.length / MOST);
    const kept = steps.filter((_, i) => i % every === 0 || i === steps.length - 1).map((s) => source.get(s));
    if (this.facts.long && kept.length) kept.push(kept.at(-1).with(0, this.last())); // the last stair
    return { x: kept.map((r) => r[0]), y: kept.map((r) => r[pick]) };
  }

  last() { let t = this.first(); for (const r of this.rows.values()) t = Math.max(t, r[0]); return Math.max(this.facts.long ? t + 0.05 * (t - this.first()) : t, this.first() + (this.facts.dt ?? 0.1)); }

  first() { return this.facts.long ? (this.rows.get(0)?.[0] ?? -1) : 0; }

  line(name, points, colour, extra = {}) { return { name, ...points, mode: "lines", type: "scatter", connectgaps: true, line: { color: colour, ...extra.line, width: (extra.line?.width ?? 2) * this.thick }, hoverlabel: { namelength: -1 }, ...extra.trace }; }

  expected(chart, colour, until = Infinity) {
    const curves = this.theory.curves.filter((k) => k.chart === chart);
    const clocked = this.facts.long && chart !== "products" ? curves.map((k) => ({ ...k, x: k.x.slice(1).map(Math.log10), y: k.y.slice(1) })) : curves;
    const lines = clocked.map((k) => {
      const end = k.x.findIndex((x) => x > until);
      const upto = end < 0 ? k.x.length : end + 1;
      return this.line(k.name, { x: k.x.slice(0, upto), y: k.y.slice(0, upto) }, colour, { line: { dash: "dash", width: 1.8 } });
    });
    const levels = this.theory.levels.filter((k) => k.chart === chart).map((k) => this.line(k.name, { x: [this.first(), until], y: [k.y, k.y] }, colour, { line: { dash: "dot", width: 1.5 } }));
    return [...lines, ...levels];
  }

  cursor(c) { return [{ type: "line", x0: this.now, x1: this.now, y0: 0, y1: 1, yref: "paper", line: { color: c.faint, width: 1 } }]; }

  energy(c) {
    const until = this.last();
    const data = this.columns(this.rows, 1);
    const drawable = !this.rows.size || data.y.some(Number.isFinite);
    document.getElementById("energy-now").textContent = !this.facts.energy ? "none declared by this model" : drawable ? short(this.at(1)) : "too large to draw";
    document.getElementById("chart-energy").hidden = !this.facts.energy || !drawable;
    const traces = [];
    if (this.facts.energy) {
      const plateau = this.columns(this.counts, 2);
      const few = plateau.x.map((_, i) => i).filter((i) => [...this.counts.values()].length && plateau.y[i] > 0.02);
      traces.push(this.line("run", data, c.measured), ...this.expected("energy", c.theory, until));
      if (this.facts.energy === "Ehat" && few.length > 1) traces.splice(1, 0, this.line("plateau ΣWₖ²", { x: few.map((i) => plateau.x[i]), y: few.map((i) => plateau.y[i]) }, c.second, { line: { shape: "hv", width: 1.3 } }));
    }
    return { traces, layout: { range: [this.first(), until], shapes: this.cursor(c), yaxis: { rangemode: "tozero" } } };
  }

  clusters(c) {
    const until = this.last();
    const data = this.columns(this.counts, 1);
    const count = this.frame?.count;
    document.getElementById("clusters-now").textContent = count === undefined ? "" : `${count}, linked within ${short(this.frame.eps, 3)}`;
    return { traces: [this.line("clusters", data, c.measured, { line: { shape: "hv" } }), ...this.expected("clusters", c.theory, until)],
      layout: { range: [this.first(), until], shapes: this.cursor(c), yaxis: { type: "log", range: [-0.08, 0.1 + Math.log10(Math.max(3, ...data.y))] } } };
  }

  order(c) {
    const until = this.last();
    document.getElementById("order-now").textContent = `|Σ wᵢxᵢ| = ${short(this.at(2), 3)}`;
    const traces = [this.line("|Σ wᵢxᵢ|", this.columns(this.rows, 2), c.measured)];
    const wave = this.columns(this.rows, 3);
    if (this.theory.wave > 1 && wave.y.some(Number.isFinite)) traces.push(this.line(`wave k = ${this.theory.wave}`, wave, c.second));
    traces.push(...this.expected("order", c.theory, until));
    return { traces, layout: { range: [this.first(), until], shapes: this.cursor(c), yaxis: { rangemode: "tozero" } } };
  }

  products(c) {
    const h = this.histogram;
    const traces = [];
    const layout = { x: "⟨xᵢ, xⱼ⟩", range: [-1.02, 1.02], yaxis: { rangemode: "tozero" }, shapes: [] };
    if (h) {
      const width = 2 / h.length;
      traces.push({ name: "run", type: "bar", x: Array.from(h, (_, i) => -1 + (i + 0.5) * width), y: Array.from(h), width: 0.94 * width, marker: { color: c.measured, line: { width: 0 } } });
      const top = Math.max(...h);
      for (const t of this.expected("products", c.theory)) traces.push({ ...t, line: { ...t.line, dash: "dot" }, y: t.y.map((v) => Math.min(v, Math.max(2, 1.3 * top))) });
      layout.yaxis.range = [0, Math.max(1, 1.08 * top)];
    }
    const product = this.theory.curves.find((k) => k.chart === "product");
    if (product && this.frame) {
      const g = between(product, this.facts.long ? Math.exp(this.frame.t) : this.frame.t); // when the pairs were counted
      layout.shapes = [{ type: "line", x0: g, x1: g, y0: 0, y1: 1, yref: "paper", line: { color: c.theory, width: 1.8, dash: "dash" } }];
      traces.push(this.line(product.name, { x: [null], y: [null] }, c.theory, { line: { dash: "dash" } }));
    }
    return { traces, layout };
  }

  at(column) {
    let best = NaN, gap = Infinity;
    for (const r of this.rows.values()) if (Number.isFinite(r[column]) && Math.abs(r[0] - this.now) < gap) { gap = Math.abs(r[0] - this.now); best = r[column]; }
    return best;
  }
}

// A curve at a time, between its points; its last value after them.
function between({ x, y }, t) {
  const i = x.findIndex((v) => v > t);
  if (i < 1) return i ? y.at(-1) : y[0];
  return y[i - 1] + (t - x[i - 1]) / (x[i] - x[i - 1]) * (y[i] - y[i - 1]);
}
