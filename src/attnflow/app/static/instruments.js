// Charts of what is measured, with the theory drawn over it. Plotly draws them, one after the other, a few times a second.

import { along } from "./colours.js";

const MOST = 600; // points of a curve
const short = (v) => (Number.isFinite(v) ? (Math.abs(v) >= 1e4 || (v !== 0 && Math.abs(v) < 1e-3) ? v.toExponential(2) : v.toPrecision(4)) : "–");

export class Instruments {
  constructor(palette) {
    this.palette = palette;
    this.turn = 0;
    this.dark = true;
    this.clear({ curves: [], levels: [], wave: 1 });
    this.loaded = new Promise((resolve) => {
      const script = document.createElement("script");
      script.src = "plotly.min.js";
      script.onload = resolve;
      document.head.append(script);
    });
    this.loaded.then(() => { this.ready = true; });
    setInterval(() => this.refresh(), 300);
  }

  clear(theory, facts = {}) {
    this.theory = theory;
    this.facts = facts;
    this.rows = new Map(); // step -> [t, energy, order, wave]
    this.counts = new Map(); // step -> [t, count, plateau]
    this.stale = new Set(["energy", "clusters", "order", "products"]);
    this.histogram = null;
    this.now = 0;
    this.frame = null;
  }

  state(frame) {
    frame = { ...frame, t: this.clock(frame.t) };
    this.rows.set(frame.step, [frame.t, frame.energy, frame.order, frame.wave]);
    this.now = frame.t;
    for (const c of ["energy", "order", "clusters"]) this.stale.add(c);
  }

  // Long times come as natural logarithms and are shown as powers of ten.
  clock(t) { return this.facts.long ? t / Math.LN10 : t; }

  series(rows) { for (const [step, t, ...rest] of rows) this.rows.set(step, [this.clock(t), ...rest.map((v) => v ?? NaN)]); }

  measured(frame) {
    this.counts.set(frame.step, [this.clock(frame.t), frame.count, frame.plateau]);
    this.histogram = frame.histogram;
    this.frame = frame;
    for (const c of ["clusters", "products", "energy"]) this.stale.add(c);
    this.matrix(frame);
  }

  colours() {
    const ink = this.dark ? "#dfe7ef" : "#1d2733", faint = this.dark ? "#8a99a9" : "#5d6b7a", line = this.dark ? "#212b36" : "#e3e8ed";
    return { ink, faint, line, measured: this.dark ? "#56b4e9" : "#0072b2", theory: this.dark ? "#f0a94a" : "#c25a00", second: this.dark ? "#58c9a5" : "#00805d" };
  }

  refresh() {
    if (!this.ready || document.hidden || !this.stale.size) return;
    const order = ["energy", "clusters", "order", "products"];
    for (let k = 0; k < 4; k++) {
      const name = order[this.turn++ % 4];
      if (this.stale.delete(name)) { this.chart(name); return; }
    }
  }

  all() { this.stale = new Set(["energy", "clusters", "order", "products"]); }

  chart(name) {
    const c = this.colours();
    const element = document.getElementById(`chart-${name}`);
    const { traces, layout = {} } = this[name](c);
    const size = parseFloat(getComputedStyle(document.documentElement).fontSize) * 0.78;
    const axis = { color: c.faint, gridcolor: c.line, zeroline: false, linecolor: c.line, tickfont: { size }, nticks: 5, automargin: true };
    const legend = traces.length > 1;
    window.Plotly.react(element, traces, {
      margin: { l: 3.4 * size, r: 0.8 * size, t: (legend ? 1.9 : 0.5) * size, b: 2.6 * size }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "system-ui, sans-serif", color: c.ink, size }, showlegend: legend,
      legend: { orientation: "h", x: 0, y: 1.0, xanchor: "left", yanchor: "bottom", bgcolor: "rgba(0,0,0,0)", font: { size: 0.92 * size, color: c.faint }, itemwidth: 30 },
      hovermode: "closest",
      xaxis: { ...axis, title: { text: layout.x ?? (this.facts.long ? "log₁₀ t" : "t"), standoff: 2, font: { size } }, range: layout.range, ...layout.xaxis }, yaxis: { ...axis, ...layout.yaxis },
      shapes: layout.shapes ?? [],
    }, { displayModeBar: false, responsive: true });
  }

  columns(source, pick) {
    const steps = [...source.keys()].sort((a, b) => a - b);
    const every = Math.ceil(steps.length / MOST);
    const kept = steps.filter((_, i) => i % every === 0 || i === steps.length - 1).map((s) => source.get(s));
    return { x: kept.map((r) => r[0]), y: kept.map((r) => r[pick]) };
  }

  last() { let t = this.first(); for (const r of this.rows.values()) t = Math.max(t, r[0]); return Math.max(t, this.first() + (this.facts.dt ?? 0.1)); }

  first() { return this.facts.long ? (this.rows.get(0)?.[0] ?? -1) : 0; }

  line(name, points, colour, extra = {}) { return { name, ...points, mode: "lines", type: "scatter", connectgaps: true, line: { color: colour, width: 2, ...extra.line }, hoverlabel: { namelength: -1 }, ...extra.trace }; }

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
    document.getElementById("energy-now").textContent = this.facts.energy ? short(this.at(1)) : "none declared by this model";
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
    document.getElementById("clusters-now").textContent = count === undefined ? "" : String(count);
    return { traces: [this.line("clusters", data, c.measured, { line: { shape: "hv" } }), ...this.expected("clusters", c.theory, until)],
      layout: { range: [this.first(), until], shapes: this.cursor(c), yaxis: { type: "log", tickvals: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000], range: [-0.08, 0.1 + Math.log10(Math.max(3, ...data.y))] } } };
  }

  order(c) {
    const until = this.last();
    document.getElementById("order-now").textContent = `|Σ wᵢxᵢ| = ${short(this.at(2))}`;
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
      for (const t of this.expected("products", c.theory)) traces.push({ ...t, y: t.y.map((v) => Math.min(v, Math.max(2, 1.3 * top))) });
      layout.yaxis.range = [0, Math.max(1, 1.08 * top)];
    }
    const product = this.theory.curves.find((k) => k.chart === "product");
    if (product) {
      const i = Math.max(1, product.x.findIndex((x) => x > this.now));
      const s = (this.now - product.x[i - 1]) / (product.x[i] - product.x[i - 1]);
      const g = product.y[i - 1] + s * (product.y[i] - product.y[i - 1]);
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

  matrix({ side, attention }) {
    document.getElementById("attention").hidden = !side;
    if (!side) return;
    const canvas = document.getElementById("matrix");
    canvas.width = canvas.height = side;
    const pen = canvas.getContext("2d");
    const image = pen.createImageData(side, side);
    let top = 1e-12;
    for (const v of attention) top = Math.max(top, Math.abs(v));
    for (let i = 0; i < attention.length; i++) {
      // Square roots: faint attention is seen, too.
      const rgb = along(Math.sqrt(Math.abs(attention[i]) / top));
      image.data.set([255 * rgb[0], 255 * rgb[1], 255 * rgb[2], 255], 4 * i);
    }
    pen.putImageData(image, 0, 0);
    document.getElementById("ramp-high").textContent = top.toPrecision(2);
    document.getElementById("attention-order").textContent = this.facts.ordered ?? "";
  }
}
