// One chart, drawn by Plotly as large as its place, and above it what its lines are.

const CLEAR = "rgba(0,0,0,0)";
const COUNTS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000];

export function plot(name, traces, { x, range, yaxis = {}, shapes = [] }, colours, size) {
  const element = document.getElementById(`chart-${name}`);
  key(document.getElementById(`key-${name}`), traces); // may take a line from the chart: its size is read after it
  const [width, height] = [element.clientWidth, element.clientHeight];
  if (!width || !height) return; // hidden
  const margin = { l: 3.4 * size, r: 0.9 * size, t: 0.6 * size, b: 2.9 * size };
  const room = height - margin.t - margin.b; // pixels of the vertical axis
  const axis = { color: colours.faint, gridcolor: colours.line, zeroline: false, linecolor: colours.line, tickfont: { size }, nticks: 6, fixedrange: true };
  const upright = { ...axis, nticks: Math.max(3, Math.min(6, Math.round(room / (1.8 * size)))), automargin: true, ...yaxis };
  if (yaxis.type === "log") upright.tickvals = room / (yaxis.range[1] - yaxis.range[0]) < 3.9 * size ? COUNTS.filter((v) => Number.isInteger(Math.log10(v))) : COUNTS;
  window.Plotly.react(element, traces, {
    width, height, margin, shapes, paper_bgcolor: CLEAR, plot_bgcolor: CLEAR, showlegend: false, hovermode: "closest",
    font: { family: "system-ui, sans-serif", color: colours.ink, size },
    xaxis: { ...axis, range, title: { text: x, standoff: 0, font: { size } } }, yaxis: upright,
  }, { displayModeBar: false });
}

// Written when it changes: a chart with one line needs none.
const written = new Map();
function key(element, traces) {
  const content = JSON.stringify(traces.map((t) => [t.name, t.line ?? t.marker]));
  if (written.get(element) === content) return;
  written.set(element, content);
  element.replaceChildren(...(traces.length < 2 ? [] : traces).map((t) => {
    const [word, stroke] = [document.createElement("span"), document.createElement("i")];
    const style = { dash: "dashed", dot: "dotted" }[t.line?.dash] ?? "solid";
    stroke.style.borderTop = t.line ? `max(2px, .17em) ${style} ${t.line.color}` : `.6em solid ${t.marker.color}`;
    if (!t.line) stroke.style.width = ".6em";
    word.append(stroke, t.name);
    return word;
  }));
}
