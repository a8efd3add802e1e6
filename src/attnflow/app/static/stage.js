// The tokens, drawn with WebGL: points, where they come from, and the ball or circle they live on.

import { Camera } from "./camera.js";
import { band } from "./density.js";
import { BALL, LINES, POINTS, disc, link } from "./shaders.js";

// Pixels of the drawing buffer, and segments in all trails together: less where the processor draws.
const MANY = { pixels: 5e6, segments: 24000 };
const FEW = { pixels: 7e5, segments: 4000 };
const DISC = disc();
// The rim of the ball, or the circle: a line, and a wider and fainter one that softens its edges.
const RIMS = [[band(() => 0.9968, () => 1.0032, 180), 0.3], [band(() => 0.9986, () => 1.0014, 180), 0.7]];

function drawnBySoftware() {
  const gl = document.createElement("canvas").getContext("webgl");
  const names = gl?.getExtension("WEBGL_debug_renderer_info");
  const soft = !names || /swiftshader|llvmpipe|software|basic render/i.test(gl.getParameter(names.UNMASKED_RENDERER_WEBGL));
  gl?.getExtension("WEBGL_lose_context")?.loseContext();
  return soft;
}

export class Stage {
  constructor(canvas) {
    this.canvas = canvas;
    this.camera = new Camera();
    this.n = 0;
    this.trails = true;
    this.dark = true;
    this.dirty = true;
    this.frames = 0; // drawn so far
    this.unit = 1;
    this.hover = null; // {token, attends}
    this.started();
    canvas.addEventListener("webglcontextlost", (e) => { e.preventDefault(); this.gl = null; });
    canvas.addEventListener("webglcontextrestored", () => { this.started(); this.layout(this.space, this.d); });
    new ResizeObserver(() => { this.dirty = true; }).observe(canvas);
  }

  started() {
    this.soft ??= drawnBySoftware();
    this.most = this.soft ? FEW : MANY;
    const gl = this.canvas.getContext("webgl", { alpha: false, antialias: !this.soft, depth: false });
    this.gl = gl;
    if (!gl) return;
    this.points = link(gl, POINTS);
    this.lines = link(gl, LINES);
    this.globe = link(gl, BALL);
    this.buffers = {};
    gl.enable(gl.BLEND);
    gl.disable(gl.DEPTH_TEST);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.tail = [];
  }

  // A new run: which space, and how many dimensions.
  layout(space, d) {
    this.space = space;
    this.d = d;
    this.camera.flat = d <= 2;
    this.unit = space === "sphere" ? 1 : 0;
    this.tail = [];
    this.position = null;
    this.curve = null;
    this.grid = this.gl ? this.scenery() : null;
    this.dirty = true;
  }

  // Positions of all tokens, `k` numbers each; `jump` leaves no trail behind.
  place(values, n, k, jump) {
    const p = new Float32Array(3 * n);
    for (let i = 0; i < n; i++) for (let c = 0; c < Math.min(3, k); c++) p[3 * i + c] = values[k * i + c];
    if (n !== this.n) { this.n = n; this.colour = null; this.size = null; this.tail = []; this.position = null; }
    if (this.space !== "sphere") {
      let far = 1e-9;
      for (let i = 0; i < n; i++) far = Math.max(far, Math.hypot(p[3 * i], p[3 * i + 1], p[3 * i + 2]));
      this.unit = this.unit === 0 || jump ? 1.15 * far : Math.max(1.05 * far, 0.97 * this.unit);
      if (this.grid) this.grid = this.scenery();
    }
    if (jump) this.drop();
    else if (this.position && this.gl) this.trail(this.position, p);
    this.position = p;
    this.dirty = true;
  }

  drop() {
    for (const b of this.tail) this.gl?.deleteBuffer(b);
    this.tail = [];
  }

  trail(from, to) {
    const gl = this.gl;
    const segments = new Float32Array(6 * this.n);
    for (let i = 0; i < this.n; i++) for (let c = 0; c < 3; c++) {
      segments[6 * i + c] = from[3 * i + c];
      segments[6 * i + 3 + c] = to[3 * i + c];
    }
    const longest = Math.max(2, Math.min(48, Math.floor(this.most.segments / this.n)));
    const buffer = this.tail.length >= longest ? this.tail.shift() : gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, segments, gl.DYNAMIC_DRAW);
    this.tail.push(buffer);
  }

  // Colours that the tokens drift towards, three numbers each; sizes relative to the usual one.
  paint(target, size) { this.target = target; this.size = size; this.dirty = true; }

  drift() {
    if (!this.target || this.target.length !== 3 * this.n) return false;
    if (!this.colour) { this.colour = this.target.slice(); this.fresh = true; return true; }
    let moved = false;
    for (let i = 0; i < this.colour.length; i++) {
      const gap = this.target[i] - this.colour[i];
      if (Math.abs(gap) > 0.004) { this.colour[i] += 0.18 * gap; moved = true; }
    }
    this.fresh ||= moved;
    return moved;
  }

  scenery() {
    const vertices = [];
    const u = this.unit || 1;
    const arc = (at, from, to, steps) => {
      for (let s = 0; s < steps; s++) vertices.push(...at(from + (to - from) * s / steps), ...at(from + (to - from) * (s + 1) / steps));
    };
    if (this.space === "sphere" && this.d === 2) { /* the rim is the circle */ }
    else if (this.space === "sphere" && this.d === 3) {
      for (let k = -2; k <= 2; k++) arc((a) => [Math.cos(k * Math.PI / 6) * Math.cos(a), Math.cos(k * Math.PI / 6) * Math.sin(a), Math.sin(k * Math.PI / 6)], 0, 2 * Math.PI, 72);
      for (let k = 0; k < 12; k++) arc((a) => [Math.cos(a) * Math.cos(k * Math.PI / 6), Math.cos(a) * Math.sin(k * Math.PI / 6), Math.sin(a)], -Math.PI / 2, Math.PI / 2, 36);
    } else {
      const axes = this.d <= 2 ? [[1, 0, 0], [0, 1, 0]] : [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
      for (const a of axes) vertices.push(...a.map((c) => -u * c), ...a.map((c) => u * c));
    }
    const gl = this.gl;
    const data = new Float32Array(vertices);
    const buffer = this.grid?.buffer ?? gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
    return { buffer, count: data.length / 3 };
  }

  // How many canvas units the unit ball takes: half the shorter side, with some air.
  geometry() {
    const box = this.canvas.getBoundingClientRect();
    const radius = 0.46 * Math.min(box.width, box.height) * this.camera.zoom;
    return { width: box.width, height: box.height, radius };
  }

  // While states follow each other, colours drift with them: a picture in between would only delay the next.
  draw(following = false) {
    if (following && this.soft && !this.dirty) return;
    const moved = this.drift();
    if (!this.dirty && !moved) return;
    this.dirty = false;
    const gl = this.gl;
    if (!gl || !this.position) return;
    const { width, height, radius } = this.geometry();
    if (!width || !height) return;
    const ratio = Math.min(window.devicePixelRatio || 1, Math.sqrt(this.most.pixels / (width * height)));
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.canvas.width !== w || this.canvas.height !== h) { this.canvas.width = w; this.canvas.height = h; }
    gl.viewport(0, 0, w, h);
    gl.clearColor(...this.shades.ground, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (this.space === "sphere" && this.d > 2) this.drawBall(2 * radius / width, 2 * radius / height);
    const common = (p) => {
      gl.useProgram(p.program);
      const [a, b, c, d, e, f, g, i, j] = this.camera.rows();
      gl.uniformMatrix3fv(p.turn, false, [a, d, g, b, e, i, c, f, j]);
      gl.uniform2f(p.extent, 2 * radius / width, 2 * radius / height);
      gl.uniform1f(p.unit, this.unit || 1);
      gl.uniform1f(p.flat_, this.camera.flat ? 1 : 0);
    };
    this.facing(common);
    const sides = this.camera.flat || this.space !== "sphere" ? [0] : [-1, 1];
    this.upload();
    for (const side of sides) {
      common(this.lines);
      gl.uniform1f(this.lines.side, side);
      this.ruled(this.grid.buffer, this.grid.count, this.dark ? [0.45, 0.58, 0.70] : [0.36, 0.46, 0.56], 0.20);
      // Trails fade behind the ball by themselves: once is enough.
      if (side !== sides.at(-1)) gl.uniform1f(this.lines.side, 0);
      if (this.trails && side === sides[0]) this.tail.forEach((buffer, k) => this.trailed(buffer, 0.62 * ((k + 1) / this.tail.length) ** 1.6));
      common(this.points);
      gl.uniform1f(this.points.side, side);
      gl.uniform1f(this.points.glow, this.dark ? 0.42 : 0.16);
      // A halo takes three quarters of a sprite: where the processor draws many tokens they go without.
      const reach = this.soft && this.n > 800 ? 1.02 : 2;
      gl.uniform1f(this.points.reach, reach);
      gl.uniform1f(this.points.pixels, this.pixels(radius) * ratio * reach / 2);
      this.attribute(this.points.position, this.buffers.position, 3);
      this.attribute(this.points.colour, this.buffers.colour, 3);
      this.attribute(this.points.size, this.buffers.size, 1);
      gl.drawArrays(gl.POINTS, 0, this.n);
    }
    if (this.hover) this.spokes(common);
    this.frames += 1;
  }

  // The colours of the style sheet, for the ground and the ball.
  adopt(style) {
    const rgb = (name) => { const text = style.getPropertyValue(name).trim(); return [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16) / 255); };
    this.shades = { ground: rgb("--ground"), light: rgb("--ball-1"), middle: rgb("--ball-2"), dark: rgb("--ball-3"), rim: rgb("--rim") };
    this.dirty = true;
  }

  drawBall(x, y) {
    const gl = this.gl, p = this.globe;
    gl.useProgram(p.program);
    if (!this.buffers.disc) {
      this.buffers.disc = gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.disc);
      gl.bufferData(gl.ARRAY_BUFFER, DISC, gl.STATIC_DRAW);
    }
    for (const name of ["light", "middle", "dark"]) gl.uniform3f(p[name], ...this.shades[name]);
    gl.uniform2f(p.extent, x, y);
    gl.disable(gl.BLEND);
    this.attribute(p.corner, this.buffers.disc, 2);
    gl.drawArrays(gl.TRIANGLES, 0, DISC.length / 2);
    gl.enable(gl.BLEND);
  }

  // What faces the eye, however the ball is turned: its rim; on the circle, the density.
  facing(common) {
    if (this.space !== "sphere") return;
    const gl = this.gl;
    common(this.lines);
    gl.uniformMatrix3fv(this.lines.turn, false, [1, 0, 0, 0, 1, 0, 0, 0, 1]);
    gl.uniform1f(this.lines.flat_, 1);
    gl.uniform1f(this.lines.side, 0);
    if (this.curve) {
      const blue = this.dark ? [0.34, 0.71, 0.91] : [0, 0.45, 0.7];
      this.drawn("area", this.curve.area, gl.TRIANGLE_STRIP, blue, 0.1);
      this.drawn("curve", this.curve.line, gl.TRIANGLE_STRIP, blue, 0.9);
    }
    RIMS.forEach(([corners, alpha], k) => {
      if (!this.buffers[`rim${k}`]) this.drawn(`rim${k}`, corners, gl.TRIANGLE_STRIP, this.shades.rim, alpha);
      else this.ruled(this.buffers[`rim${k}`], corners.length / 3, this.shades.rim, alpha, gl.TRIANGLE_STRIP);
    });
  }

  pixels(radius) {
    // The more tokens the smaller; the sprite is twice as wide as the disc in it.
    return 2 * Math.max(3.6, Math.min(15, 0.115 * radius / this.n ** 0.28)) * (this.d === 2 ? 1.15 : 1);
  }

  upload() {
    const gl = this.gl;
    const fill = (name, data) => {
      this.buffers[name] ??= gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
      gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
    };
    fill("position", this.position);
    const colour = this.colour ?? new Float32Array(3 * this.n).fill(0.5);
    if (this.fresh || !this.buffers.colour || this.filled !== this.n) {
      const twice = new Float32Array(6 * this.n);
      for (let i = 0; i < this.n; i++) for (let c = 0; c < 3; c++) twice[6 * i + c] = twice[6 * i + 3 + c] = colour[3 * i + c];
      fill("colour", colour);
      fill("twice", twice);
      this.fresh = false;
    }
    if (this.filled !== this.n || this.sized !== this.size) fill("size", this.size ?? new Float32Array(this.n).fill(1));
    this.filled = this.n;
    this.sized = this.size;
  }

  attribute(where, buffer, width) {
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.enableVertexAttribArray(where);
    gl.vertexAttribPointer(where, width, gl.FLOAT, false, 0, 0);
  }

  drawn(name, vertices, mode, colour, alpha) {
    const gl = this.gl;
    this.buffers[name] ??= gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
    gl.bufferData(gl.ARRAY_BUFFER, vertices, gl.DYNAMIC_DRAW);
    this.ruled(this.buffers[name], vertices.length / 3, colour, alpha, mode);
  }

  ruled(buffer, count, colour, alpha, mode = this.gl.LINES) {
    const gl = this.gl;
    this.attribute(this.lines.position, buffer, 3);
    gl.disableVertexAttribArray(this.lines.colour);
    gl.vertexAttrib3f(this.lines.colour, ...colour);
    gl.uniform1f(this.lines.alpha, alpha);
    gl.drawArrays(mode, 0, count);
  }

  trailed(buffer, alpha) {
    const gl = this.gl;
    this.attribute(this.lines.position, buffer, 3);
    this.attribute(this.lines.colour, this.buffers.twice, 3);
    gl.uniform1f(this.lines.alpha, alpha);
    gl.drawArrays(gl.LINES, 0, 2 * this.n);
  }

  // From the token under the pointer to those it attends to.
  spokes(common) {
    const { token, attends } = this.hover;
    if (token >= this.n || !attends?.length) return;
    common(this.lines);
    const gl = this.gl;
    gl.uniform1f(this.lines.side, 0);
    const at = (i) => this.position.slice(3 * i, 3 * i + 3);
    for (const [j, weight] of attends) {
      this.drawn("spokes", new Float32Array([...at(token), ...at(j)]), gl.LINES, this.dark ? [1, 1, 1] : [0.1, 0.15, 0.2], 0.25 + 0.75 * Math.min(1, weight / attends[0][1]));
    }
  }

  // The token nearest to a place on the canvas, those in front first; -1 if none is near.
  pick(x, y, reach = 14) {
    if (!this.position) return -1;
    const { width, height, radius } = this.geometry();
    const r = this.camera.rows();
    let best = -1, least = reach;
    for (let i = 0; i < this.n; i++) {
      const [px, py, pz] = [this.position[3 * i] / this.unit, this.position[3 * i + 1] / this.unit, this.position[3 * i + 2] / this.unit];
      const sx = width / 2 + radius * (r[0] * px + r[1] * py + r[2] * pz);
      const sy = height / 2 - radius * (r[3] * px + r[4] * py + r[5] * pz);
      const behind = !this.camera.flat && r[6] * px + r[7] * py + r[8] * pz < 0;
      const gap = Math.hypot(sx - x, sy - y) + (behind ? 8 : 0);
      if (gap < least) { least = gap; best = i; }
    }
    return best;
  }

  // Where a token is on the canvas.
  where(i) {
    const { width, height, radius } = this.geometry();
    const r = this.camera.rows();
    const p = [0, 1, 2].map((c) => this.position[3 * i + c] / this.unit);
    return [width / 2 + radius * (r[0] * p[0] + r[1] * p[1] + r[2] * p[2]), height / 2 - radius * (r[3] * p[0] + r[4] * p[1] + r[5] * p[2])];
  }
}
