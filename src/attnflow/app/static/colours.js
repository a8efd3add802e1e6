// The colour of a token. A cluster is identified by the least index in it: it survives mergers, and it depends on
// the state alone, so that the same address shows the same colours.

const hex = (text) => [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16) / 255);
const mix = (a, b, s) => a.map((v, c) => v + s * (b[c] - v));

export const RAMP = ["#440154", "#414487", "#2a788e", "#22a884", "#7ad151", "#fde725"];
const VIRIDIS = RAMP.map(hex);

const bright = ([r, g, b]) => 0.3 * r + 0.6 * g + 0.1 * b > 0.7; // too light for a light ground

export function along(s) {
  const x = Math.max(0, Math.min(0.999, s)) * (VIRIDIS.length - 1);
  return mix(VIRIDIS[Math.floor(x)], VIRIDIS[Math.floor(x) + 1], x % 1);
}

export function byIndex(n, dark) {
  const colour = new Float32Array(3 * n);
  for (let i = 0; i < n; i++) colour.set(along((dark ? 0.22 : 0) + (dark ? 0.78 : 0.88) * i / Math.max(1, n - 1)), 3 * i);
  return colour;
}

export function byCluster(labels, palette, dark) {
  const n = labels.length;
  const alone = dark ? [0.62, 0.72, 0.82] : [0.36, 0.45, 0.55];
  const colours = palette.map(hex).map((c) => (dark ? mix(c, [1, 1, 1], 0.12) : mix(c, [0, 0, 0], bright(c) ? 0.2 : 0.06)));
  const size = new Map(), first = new Map();
  for (let i = 0; i < n; i++) {
    size.set(labels[i], (size.get(labels[i]) ?? 0) + 1);
    if (!first.has(labels[i])) first.set(labels[i], i);
  }
  // The largest clusters choose first; a colour that is taken goes to the next one.
  const groups = [...size.keys()].filter((k) => size.get(k) > 1).sort((a, b) => size.get(b) - size.get(a) || first.get(a) - first.get(b));
  const chosen = new Map();
  let taken = new Set();
  for (const k of groups) {
    if (taken.size === colours.length) taken = new Set();
    let c = first.get(k) % colours.length;
    while (taken.has(c)) c = (c + 1) % colours.length;
    taken.add(c);
    // Small ones keep some of the grey of single tokens.
    chosen.set(k, mix(alone, colours[c], Math.min(1, 0.35 + 10 * size.get(k) / n)));
  }
  const colour = new Float32Array(3 * n);
  for (let i = 0; i < n; i++) colour.set(chosen.get(labels[i]) ?? alone, 3 * i);
  return colour;
}
