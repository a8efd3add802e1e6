// Points with a soft edge and a glow, lines that fade behind the ball.

const TURN = `
uniform mat3 turn; uniform vec2 extent; uniform float unit; uniform float flat_;
vec3 seen(vec3 p) { return turn * (p / unit); }
`;

export const POINTS = [`
attribute vec3 position; attribute vec3 colour; attribute float size;
uniform float pixels;
${TURN}
varying vec3 tint; varying float depth;
void main() {
  vec3 v = seen(position);
  gl_Position = vec4(v.xy * extent, 0.0, 1.0);
  depth = flat_ > 0.5 ? 1.0 : v.z;
  float near = flat_ > 0.5 ? 1.0 : 0.84 + 0.16 * clamp(v.z, -1.0, 1.0);
  gl_PointSize = pixels * size * near;
  tint = colour;
}`, `
precision mediump float;
uniform float glow; uniform float side;
varying vec3 tint; varying float depth;
void main() {
  if (side * depth < 0.0) discard;
  float r = 2.0 * length(gl_PointCoord - 0.5);
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
  gl_Position = vec4(v.xy * extent, 0.0, 1.0);
  depth = flat_ > 0.5 ? 1.0 : v.z;
  tint = colour;
}`, `
precision mediump float;
uniform float alpha; uniform float side;
varying vec3 tint; varying float depth;
void main() {
  if (side * depth < 0.0) discard;
  float a = alpha * (depth < 0.0 ? 0.35 : 1.0);
  gl_FragColor = vec4(tint * a, a);
}`];

// The ball: lit from the upper left, with a thin rim.
export const BALL = [`
attribute vec2 corner;
uniform vec2 extent;
varying vec2 at;
void main() { at = corner * 1.01; gl_Position = vec4(at * extent, 0.0, 1.0); }`, `
precision mediump float;
uniform vec3 light; uniform vec3 middle; uniform vec3 dark; uniform vec3 rim; uniform float pixel;
varying vec2 at;
void main() {
  float r = length(at);
  if (r > 1.0) discard;
  float s = length(at - vec2(-0.28, 0.4)) / 1.7;
  vec3 shade = s < 0.55 ? mix(light, middle, s / 0.55) : mix(middle, dark, (s - 0.55) / 0.45);
  float edge = smoothstep(1.0 - 2.0 * pixel, 1.0 - pixel, r);
  gl_FragColor = vec4(mix(shade, rim, edge), 1.0);
}`];

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
  const found = { program };
  for (let i = 0; i < gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS); i++) {
    const { name } = gl.getActiveUniform(program, i);
    found[name] = gl.getUniformLocation(program, name);
  }
  for (let i = 0; i < gl.getProgramParameter(program, gl.ACTIVE_ATTRIBUTES); i++) {
    const { name } = gl.getActiveAttrib(program, i);
    found[name] = gl.getAttribLocation(program, name);
  }
  return found;
}
