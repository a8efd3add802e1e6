// The controls, made from the catalogue: what the registry has is here, with nothing written by hand for any entry.

const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name in element && name !== "list") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
};

export class Controls {
  constructor(form, catalogue, changed) {
    Object.assign(this, { form, catalogue, changed });
    form.addEventListener("submit", (e) => e.preventDefault());
  }

  entry(kind, name) { return this.catalogue.entries[kind].find((e) => e.name === name); }

  // The entries that decide which parameters there are: model, attention map if it takes one, law.
  chosen(state) {
    const model = this.entry("model", state.model);
    const parts = [model, model.takes.includes("attention") && this.entry("attention", state.attention), this.entry("law", state.init)];
    return parts.filter(Boolean);
  }

  // What is kept of a state when something changes: parameters of what is no longer chosen would be refused.
  tidy(state) {
    const next = { ...state };
    const fits = (kind, name) => this.entry(kind, name).spaces.includes(next.space);
    const choose = (key, kind) => { if (!fits(kind, next[key])) next[key] = this.catalogue.entries[kind].find((e) => e.spaces.includes(next.space)).name; };
    choose("model", "model"); choose("init", "law"); choose("attention", "attention");
    const model = this.entry("model", next.model);
    for (const name of ["attention", "pairs"]) if (!model.takes.includes(name)) next[name] = this.catalogue.fields[name].default;
    const map = this.entry("attention", next.attention);
    for (const name of this.catalogue.matrices) if (!model.takes.includes("attention") || !map.takes.includes(name)) next[name] = null;
    if (this.catalogue.sloped.includes(next.pairs)) next.slope ??= 0.1; else next.slope = null;
    const own = new Set(this.chosen(next).flatMap((e) => Object.keys(e.params)));
    for (const kind of Object.values(this.catalogue.entries)) for (const e of kind) for (const name of Object.keys(e.params)) if (!own.has(name)) delete next[name];
    if (next.init === "orthonormal" && next.n > next.d) next.d = next.n;
    if (next.d !== state.d || !validAxes(next.axes, next.d)) next.axes = validAxes(next.axes, next.d) ? next.axes : "pca";
    return next;
  }

  show(state) {
    this.state = state;
    const focused = document.activeElement?.name;
    const chosen = this.chosen(state);
    const [model] = chosen;
    const names = (kind) => this.catalogue.entries[kind].filter((e) => e.spaces.includes(state.space)).map((e) => [e.name, e.name, e.summary]);
    const groups = [];
    groups.push(this.group("Dynamics", [
      this.select("space", "space", this.catalogue.spaces.map((s) => [s, s])),
      this.select("model", "model", this.catalogue.entries.model.map((e) => [e.name, e.name, e.summary])),
      model.takes.includes("attention") && this.select("attention", "attention", names("attention")),
      ...chosen.filter((e) => !this.catalogue.entries.law.includes(e)).flatMap((e) => this.params(e)),
      model.takes.includes("pairs") && this.select("pairs", "pairs", this.catalogue.pairs.map((p) => [p, p === "alibi" ? "ALiBi" : p])),
      this.catalogue.sloped.includes(state.pairs) && this.slider("slope", "slope", state.slope ?? 0.1, { low: 0.001, high: 10, log: true, help: "how fast the past fades" }),
    ]));
    const law = this.entry("law", state.init);
    groups.push(this.group("Tokens", [
      this.slider("n", "tokens n", state.n, { low: 2, high: 2000, log: true, whole: true, help: "number of tokens" }),
      this.slider("d", "dim. d", state.d, { low: 2, high: 256, log: true, whole: true, help: "dimension" }),
      this.select("init", "initial law", names("law")),
      ...this.params(law),
      this.select("weights", "weights", this.catalogue.weights.map((w) => [w, w])),
      law.takes.includes("key") && this.seed(),
    ]));
    const map = model.takes.includes("attention") && this.entry("attention", state.attention);
    const matrices = map ? this.catalogue.matrices.filter((name) => map.takes.includes(name)) : [];
    if (matrices.length) groups.push(this.group("Matrices", matrices.flatMap((name) => this.matrix(name))));
    groups.push(this.group("Picture", [
      this.select("colour", "colour", this.catalogue.fields.colour.among.map((c) => [c, `by ${c}`])),
      this.check("trails", "trails"),
      state.d > 3 && this.axes(),
    ]));
    groups.push(this.group("Time", [
      this.check("long", "long times", state.long, this.catalogue.fields.long.help),
      !state.long && this.number("dt", "step dt", state.dt, "auto"),
      this.select("dtype", "precision", [["float64", "float64"], ["float32", "float32"]]),
    ]));
    this.form.replaceChildren(...groups);
    if (focused) this.form.elements[focused]?.focus?.();
  }

  params(entry) {
    return Object.entries(entry.params).map(([name, p]) => {
      const value = this.state[name] ?? p.default;
      const label = p.symbol && p.symbol !== name ? `${name} ${p.symbol}` : name.replaceAll("_", " ");
      if (p.type === "bool") return this.check(name, label, value, p.help);
      const [least, most] = p.bounds ?? [p.default - 10, p.default + 10];
      if (p.type === "int") return this.slider(name, label, value, { low: least, high: Math.min(most, this.catalogue.limits.integer), whole: true, help: p.help });
      if (p.scale === "log") return this.slider(name, label, value, { low: Math.max(least, p.default / 100), high: Math.min(most, 1000 * p.default), log: true, help: p.help });
      return this.slider(name, label, value, { low: Math.max(least, -10), high: Math.min(most, 10), help: p.help });
    });
  }

  group(title, fields) { return make("fieldset", {}, make("legend", {}, title), ...fields.filter(Boolean)); }

  field(label, ...inputs) { return make("label", { className: "field" }, make("span", {}, label), ...inputs); }

  select(name, label, options) {
    const element = make("select", { name, onchange: () => this.changed({ [name]: element.value }) });
    for (const [value, text, title = ""] of options) element.append(make("option", { value, title, selected: value === this.state[name] }, text));
    return this.field(label, element);
  }

  check(name, label, value = this.state[name], help = "") {
    const element = make("input", { type: "checkbox", name, checked: value, onchange: () => this.changed({ [name]: element.checked }) });
    const field = this.field(label, element);
    field.title = help;
    return field;
  }

  number(name, label, value, placeholder) {
    const element = make("input", { type: "number", name, value: value ?? "", placeholder, step: "any", min: 0 });
    element.onchange = () => this.changed({ [name]: element.value === "" ? null : Number(element.value) });
    return this.field(label, element);
  }

  // A range beside a number: the range for the hand, the number for the exact value.
  slider(name, label, value, { low, high, log = false, whole = false, help = "" }) {
    const to = (v) => (log ? Math.log(Math.max(v, low)) : v);
    const from = (v) => tidyNumber(log ? Math.exp(v) : v, whole);
    const step = whole && !log ? 1 : (to(high) - to(low)) / 400;
    const range = make("input", { type: "range", min: to(low), max: to(high), step, "aria-label": `${label}, slider` });
    range.value = to(value);
    const exact = make("input", { type: "number", name, value, step: whole ? 1 : "any", "aria-label": label });
    const described = () => range.setAttribute("aria-valuetext", exact.value);
    described();
    range.oninput = () => { exact.value = from(Number(range.value)); described(); this.changed({ [name]: Number(exact.value) }, true); };
    exact.onchange = () => { range.value = to(Number(exact.value)); described(); this.changed({ [name]: Number(exact.value) }); };
    const field = make("label", { className: "field slider", title: help }, make("span", {}, label), range, exact);
    return field;
  }

  seed() {
    const element = make("input", { type: "number", name: "seed", value: this.state.seed, min: 0, step: 1, onchange: () => this.changed({ seed: Number(element.value) }) });
    const dice = make("button", { type: "button", title: "New random tokens (N)", onclick: () => this.changed({ seed: this.state.seed + 1 }) }, "new");
    return this.field("seed", make("span", { className: "pair" }, element, dice));
  }

  matrix(name) {
    const value = this.state[name] ?? "identity";
    const known = this.catalogue.presets.includes(value);
    const select = make("select", { name, "aria-label": `${name} matrix` });
    for (const p of [...this.catalogue.presets, "typed"]) select.append(make("option", { value: p, selected: p === (known ? value : "typed") }, p.replace("-", " ")));
    select.onchange = () => this.changed({ [name]: select.value === "typed" ? unit(this.state.d) : select.value === "identity" ? null : select.value });
    const fields = [this.field(name, select)];
    if (!known) {
      const text = make("textarea", { rows: Math.min(6, this.state.d), spellcheck: false, value: value.replace(/;\s*/g, "\n"), "aria-label": `${name} by rows` });
      text.onchange = () => this.changed({ [name]: text.value.trim().replace(/\s*\n\s*/g, "; ") });
      fields.push(make("div", { className: "field wide" }, text));
    }
    return fields;
  }

  axes() {
    const text = make("input", { type: "text", name: "axes", value: this.state.axes, placeholder: "pca, mean or 1,2,3" });
    text.onchange = () => this.changed({ axes: text.value.trim() || "pca" });
    const field = this.field("axes", text);
    field.title = "pca (principal axes), mean (upwards the mean), or three coordinates as 1,2,3";
    return field;
  }
}

const unit = (d) => Array.from({ length: Math.min(d, 32) }, (_, i) => Array.from({ length: Math.min(d, 32) }, (_, j) => (i === j ? 1 : 0)).join(" ")).join("; ");

function tidyNumber(v, whole) {
  if (whole) return Math.round(v);
  return Number(v.toPrecision(3));
}

function validAxes(text, d) {
  if (text === "pca" || text === "mean") return true;
  const parts = text.split(",").map(Number);
  return parts.length === 3 && parts.every((k) => k >= 1 && k <= Math.max(d, 3));
}
