// One websocket to the server that brought the page; it is opened again whenever it closes.

const KIND = { 1: "state", 2: "instruments" };

export class Socket {
  constructor({ opened, closed, event, frame }) {
    Object.assign(this, { opened, closed, event, frame });
    this.wait = 300;
    this.open();
  }

  open() {
    const url = new URL("live", document.baseURI);
    url.protocol = url.protocol.replace("http", "ws");
    url.hash = "";
    this.socket = new WebSocket(url);
    this.socket.binaryType = "arraybuffer";
    this.socket.onopen = () => { this.wait = 300; this.opened(); };
    this.socket.onmessage = ({ data }) => (typeof data === "string" ? this.event(JSON.parse(data)) : this.frame(parse(data)));
    this.socket.onclose = (e) => {
      this.closed(e.reason);
      setTimeout(() => this.open(), this.wait);
      this.wait = Math.min(5000, 1.7 * this.wait);
    };
  }

  get ready() { return this.socket.readyState === WebSocket.OPEN; }

  send(request) {
    if (this.ready) this.socket.send(JSON.stringify(request));
    return this.ready;
  }
}

// See app/frames.py for the layout.
export function parse(buffer) {
  const view = new DataView(buffer);
  const u = (at) => view.getUint32(at, true);
  const f = (at) => view.getFloat32(at, true);
  const frame = { kind: KIND[u(4)], run: u(8), step: u(12), n: u(16), t: view.getFloat64(24, true) };
  if (frame.kind === "state") {
    const k = u(20), points = new Float32Array(buffer, 48, frame.n * k), density = new Float32Array(buffer, 48 + points.byteLength);
    return { ...frame, k, energy: f(32), order: f(36), share: f(40), wave: f(44), points, density };
  }
  const labels = new Uint16Array(buffer, 48, frame.n);
  let at = 48 + 4 * Math.ceil(frame.n / 2);
  const bins = u(20), side = u(44);
  const histogram = new Float32Array(buffer, at, bins);
  at += 4 * bins;
  return { ...frame, eps: f(32), plateau: f(36), count: u(40), labels, histogram, side, attention: new Float32Array(buffer, at, side * side) };
}
