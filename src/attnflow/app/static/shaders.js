// Points with a soft edge and a glow, lines that fade behind the ball.

const TURN = `
uniform mat3 turn; uniform vec2 extent; uniform float unit; uniform float flat_; uniform float side;
vec3 seen(vec3 p) { return turn * (p / unit); }
// What is on the other side of the ball is put out of the picture here, where it costs no pixels.
vec4 placed(vec3 v, float depth) { return vec4(v.xy * extent, side * depth < 0.0 ? 2.0 : 0.0, 1.0); }
`;

export const POINTS = [`
attribute vec3 position; attribute vec3 colour; attribute float size;
uniform float pixels;
${TURN}
varying vec3 tint; varying float depth;
void main() {
  vec3 v = seen(position);
  depth = flat_ > 0.5 ? 1.0 : v.z;
  gl_Position = placed(v, depth);
  float near = flat_ > 0.5 ? 1.0 : 0.84 + 0.16 * clamp(v.z, -1.0, 1.0);
  gl_PointSize = pixels * size * near;
  tint = colour;
}`, `
precision mediump float;
uniform float glow; uniform float reach;
varying vec3 tint; varying float depth;
void main() {
  float r = reach * length(gl_PointCoord - 0.5);
  if (r > 1.0) discard;
  float core = 1.0 - smoothstep(0.40, 0.50, r);
  float halo = glow * (1.0 - r) * (1.0 - r);
  float dim = depth < 0.0 ? 0.30 : 1.0;
  vec3 lit = mix(tint, vec3(1.0), core * glow * 0.35 * (1.0 - smoothstep(0.0, 0.4, r)));
  float a = max(core, halo) * dim;
  gl_FragColor = vec4(lit * a, a);
}`];

export const LINES = [`
attribute vec3 position; attribute vec3 colour;
${TURN}
varying vec3 tint; varying float depth;
void main() {
  vec3 v = seen(position);
  depth = flat_ > 0.5 ? 1.0 : v.z;
  gl_Position = placed(v, depth);
  tint = colour;
}`, `
precision mediump float;
uniform float alpha;
varying vec3 tint; varying float depth;
void main() {
  float a = alpha * (depth < 0.0 ? 0.35 : 1.0);
  gl_FragColor = vec4(tint * a, a);
}`];

// The ball: a disc of triangles lit from the upper left, coloured at its corners, so that a pixel costs next to nothing.
export const BALL = [`
attribute vec2 corner;
uniform vec2 extent; uniform vec3 light; uniform vec3 middle; uniform vec3 dark;
varying vec3 shade;
void main() {
  float s = length(corner - vec2(-0.28, 0.4)) / 1.7;
  shade = s < 0.55 ? mix(light, middle, s / 0.55) : mix(middle, dark, (s - 0.55) / 0.45);
  gl_Position = vec4(corner * extent, 0.0, 1.0);
}`, `
precision mediump float;
varying vec3 shade;
void main() { gl_FragColor = vec4(shade, 1.0); }`];

// Its corners: rings of triangles from the centre to the rim.
export function disc(rings = 5, sides = 96) {
  const corners = [];
  const at = (ring, k) => { const a = 2 * Math.PI * k / sides; return [ring / rings * Math.cos(a), ring / rings * Math.sin(a)]; };
  for (let ring = 0; ring < rings; ring++) for (let k = 0; k < sides; k++) {
    corners.push(...at(ring, k), ...at(ring + 1, k), ...at(ring + 1, k + 1));
    if (ring) corners.push(...at(ring, k), ...at(ring + 1, k + 1), ...at(ring, k + 1));
  }
  return new Float32Array(corners);
}

export function link(gl, [vertex, fragment]) {
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  const linked = { program };
  for (let i = 0; i < gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS); i++) {
    const { name } = gl.getActiveUniform(program, i);
    linked[name] = gl.getUniformLocation(program, name);
  }
  for (let i = 0; i < gl.getProgramParameter(program, gl.ACTIVE_ATTRIBUTES); i++) {
    const { name } = gl.getActiveAttrib(program, i);
    linked[name] = gl.getAttribLocation(program, name);
  }
  return linked;
}
