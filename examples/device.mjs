// A whole device without Python or packages: Node 20 or later. The order of all arithmetic is that of docs/reference/wire.md.
//
//   node device.mjs --check wire_vectors.json            holds this device to the published vectors; exit 1 on a difference
//   node device.mjs --url URL --ticket TICKET            runs one episode, reports it once
//                   [--plant FILE]                       {A, B, x1, disturbance} of the simulated plant; default: toy
//                   [--record FILE]                      writes the episode and its report in the form of the vectors

import { randomBytes } from "node:crypto";
import { readFileSync, realpathSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const SCALE_BITS = 30;
const UNITS = 2 ** SCALE_BITS;
const SLACK = 1 - 2 ** -34; // every bound is kept this much inside itself
const TOY = { A: [[0.45, 0.2], [0, 0.4]], B: [[0.1], [0.25]], x1: [0.6, 0.8], disturbance: 0.1 };
const PATIENCE = 60_000; // milliseconds that a report is tried for

// --- arithmetic: float64, every sum from left to right ---------------------------------------------------------------

export function dot(a, b) {
  let total = 0;
  for (let j = 0; j < a.length; j++) total += a[j] * b[j];
  return total;
}

const times = (M, v) => M.map((row) => dot(row, v));
const square = (v) => dot(v, v);

/** The control of one step: gains (d × n), state, and ±1 for each input. Where it is not finite: 0. */
export function control(controller, h, x, signs) {
  const { control_bound, excitation, control_low, control_high } = controller;
  let u = times(controller.gains[h], x).map((v, j) => v + excitation * signs[j]);
  if (!u.every(Number.isFinite)) return u.map(() => 0);
  u = u.map((v, j) => Math.min(Math.max(v, control_low?.[j] ?? -Infinity), control_high?.[j] ?? Infinity));
  const bound = control_bound * SLACK;
  const norm = Math.sqrt(square(u));
  return norm > bound ? u.map((v) => v * (bound / norm)) : u;
}

/** {S, C} of one trajectory as BigInt grid units: S the upper triangle row by row, C row by row. */
export function report(collection, states, controls) {
  const { center, horizon, scale_bits } = collection;
  const p = center.length;
  const n = center[0].length;
  if (scale_bits !== SCALE_BITS) throw new Error(`scale_bits is ${scale_bits}: this device speaks ${SCALE_BITS}`);
  if (controls.length > horizon) throw new Error(`${controls.length} steps, and at most ${horizon} belong to one report`);
  if (states.length !== controls.length + 1) throw new Error("there must be one state more than controls");
  if (states.some((x) => x.length !== n) || controls.some((u) => u.length !== p - n)) throw new Error(`give ${n} states and ${p - n} controls`);
  if ([...states, ...controls].every((v) => v.every(Number.isFinite))) {
    const sums = weightedSums(collection, states, controls);
    const S = sums.S.map((v) => Math.trunc(v * UNITS));
    const C = sums.C.map((v) => Math.trunc(v * UNITS));
    if ([...S, ...C].every((v) => Math.abs(v) < 2 ** 63)) { // false for NaN too
      const whole = { S: S.map(BigInt), C: C.map(BigInt) };
      if (withinBounds(collection, whole)) return whole;
    }
  }
  return { S: Array((p * (p + 1)) / 2).fill(0n), C: Array(p * n).fill(0n) };
}

function weightedSums(collection, states, controls) {
  const { center, shape, weighting, energy, response_budget } = collection;
  const p = center.length;
  const n = center[0].length;
  const S = Array((p * (p + 1)) / 2).fill(0);
  const C = Array(p * n).fill(0);
  let spent = 0;
  let spentResponse = 0;
  let w = 1;
  for (let h = 0; h < controls.length && !(w < 1); h++) { // below 1 a budget is spent
    const z = [...states[h], ...controls[h]];
    const t = weighting === null ? z : times(weighting, z);
    const size = square(t);
    const reach = shape === null ? 0 : square(times(shape, z));
    if (size === 0) continue;
    w = share(1, energy, spent, size);
    if (response_budget !== null) w = share(w, response_budget, spentResponse, reach);
    spent += size;
    spentResponse += reach;
    let y = states[h + 1].map((v, j) => v - dot(center.map((row) => row[j]), z));
    const limit = responseLimit(collection, reach);
    const norm = Math.sqrt(square(y));
    if (!(norm <= limit)) y = y.map((v) => v * (limit / norm));
    let at = 0;
    for (let i = 0; i < p; i++) for (let k = i; k < p; k++) S[at++] += w * (t[i] * t[k]);
    for (let i = 0; i < p; i++) for (let j = 0; j < n; j++) C[i * n + j] += w * (t[i] * y[j]);
  }
  return { S, C };
}

/** The weight that what is left of a budget allows a step of this size. */
function share(w, budget, spent, size) {
  const left = budget * SLACK - spent;
  if (left <= 0) return 0;
  return size !== 0 && left / size < w ? left / size : w;
}

function responseLimit({ shape, disturbance_bound, response_bound }, reach) {
  const own = shape === null ? Infinity : (Math.sqrt(reach) + disturbance_bound) * SLACK;
  return response_bound !== null && response_bound * SLACK < own ? response_bound * SLACK : own;
}

// --- the curator's own check, in whole numbers ------------------------------------------------------------------------

/** Whether sums are within ‖S‖ ≤ E, 0 ≤ S_ii, tr S ≤ E, ‖C‖² ≤ E·B₂. Only numbers near the end of float64 are not. */
export function withinBounds(collection, { S, C }) {
  const diagonal = [];
  for (let at = 0, row = collection.center.length; row > 0; at += row--) diagonal.push(S[at]);
  const squares = (list) => list.reduce((sum, v) => sum + v * v, 0n);
  const trace = diagonal.reduce((sum, v) => sum + v, 0n);
  const [E, shift] = exact(collection.energy);
  const [B, shiftB] = exact(responseEnergy(collection));
  return diagonal.every((v) => v >= 0n)
    && trace <= (E << 30n) >> shift
    && 2n * squares(S) - squares(diagonal) <= (E * E << 60n) >> (2n * shift)
    && squares(C) <= (E * B << 60n) >> (shift + shiftB);
}

/** B₂, the least of the bounds that the device enforces. */
function responseEnergy({ center, shape, energy, disturbance_bound, response_bound, horizon, weighting, response_budget }) {
  const noise = disturbance_bound * Math.sqrt(horizon);
  const bounds = [];
  if (weighting === null && shape !== null) bounds.push((largestEigenvalue(shape) * Math.sqrt(energy) + noise) ** 2);
  if (response_budget !== null) bounds.push((Math.sqrt(response_budget) + noise) ** 2);
  if (response_bound !== null) {
    bounds.push(horizon * response_bound ** 2);
    if (weighting === null && center.every((row) => row.every((v) => v === 0))) bounds.push(energy + response_bound ** 2);
  }
  return Math.min(...bounds) * (1 + 1e-12);
}

/** λ_max of a symmetric positive semidefinite matrix, by Jacobi's rotations. */
export function largestEigenvalue(matrix) {
  const M = matrix.map((row) => [...row]);
  for (let sweep = 0; sweep < 30; sweep++) {
    for (let i = 0; i < M.length; i++) {
      for (let k = i + 1; k < M.length; k++) {
        if (M[i][k] === 0) continue;
        const angle = 0.5 * Math.atan2(2 * M[i][k], M[k][k] - M[i][i]);
        const [c, s] = [Math.cos(angle), Math.sin(angle)];
        for (const row of M) [row[i], row[k]] = [c * row[i] - s * row[k], s * row[i] + c * row[k]];
        [M[i], M[k]] = [M[i].map((v, j) => c * v - s * M[k][j]), M[i].map((v, j) => s * v + c * M[k][j])];
      }
    }
  }
  return Math.max(...M.map((row, i) => Math.abs(row[i]))) * (1 + 1e-12);
}

/** A double ≥ 0 as [whole, shift]: exactly whole / 2^shift. */
function exact(value) {
  let shift = 0n;
  for (; !Number.isInteger(value); shift++) value *= 2;
  return [BigInt(value), shift];
}

// --- the published vectors --------------------------------------------------------------------------------------------

/** Entries of S and C may exceed 2^53, which JSON.parse would round: they are read as text, then as BigInt. */
export function readVectors(text) {
  const quoted = text.replace(/"([SC])"\s*:\s*\[([^\]]*)\]/g, (_, name, body) => `"${name}":[${body.replace(/[^\s,]+/g, '"$&"')}]`);
  return JSON.parse(quoted).cases;
}

/** What differs in one case, "" where nothing does. "Infinity", "-Infinity" and "NaN" stand for what JSON cannot hold. */
export function difference({ assignment, trajectory, signs, report: expected }) {
  const states = trajectory.states.map((x) => x.map(Number));
  const controls = trajectory.controls.map((u) => u.map(Number));
  for (const [h, chosen] of (signs ?? []).entries()) {
    const u = control(assignment.controller, h, states[h], chosen);
    if (u.some((v, j) => v !== controls[h][j])) return `the control of step ${h} is ${u} and not ${controls[h]}`;
  }
  const made = report(assignment.collection, states, controls);
  for (const name of ["S", "C"]) {
    const wanted = expected[name].map(BigInt);
    if (wanted.length !== made[name].length) return `${name} has ${made[name].length} entries and not ${wanted.length}`;
    const at = wanted.findIndex((v, i) => v !== made[name][i]);
    if (at >= 0) return `${name}[${at}] is ${made[name][at]} and not ${wanted[at]}`;
  }
  return "";
}

function check(file) {
  const cases = readVectors(readFileSync(file, "utf8"));
  const wrong = cases.map(difference).map((text, i) => text && `case ${i} (${cases[i].name ?? "unnamed"}): ${text}`).filter(Boolean);
  for (const text of wrong) console.error(text);
  console.log(`${cases.length - wrong.length} of ${cases.length} cases agree to the last bit`);
  return wrong.length === 0 && cases.length > 0 ? 0 : 1;
}

// --- taking part in a run ---------------------------------------------------------------------------------------------

/** One episode on the simulated plant: replace `next` by your sensor and your actuator. */
export function episode(assignment, plant) {
  const { controller } = assignment;
  const next = (x, u, w) => times(plant.A, x).map((v, i) => v + dot(plant.B[i], u) + w[i]);
  const states = [plant.x1];
  const controls = [];
  for (let h = 0; h < controller.gains.length; h++) {
    controls.push(control(controller, h, states[h], plant.B[0].map(() => (randomBytes(1)[0] & 1 ? 1 : -1))));
    states.push(next(states[h], controls[h], inBall(plant.A.length, plant.disturbance)));
  }
  return { states, controls };
}

function inBall(n, radius) {
  for (;;) {
    const v = Array.from({ length: n }, () => 2 * Math.random() - 1);
    if (square(v) <= 1) return v.map((x) => x * radius);
  }
}

const entries = (list) => `[${list.join(", ")}]`;
const reportText = ({ S, C }) => `"S": ${entries(S)}, "C": ${entries(C)}`;

/** Fetch, run, report, until this ticket's report is counted. A lost answer is asked for again with the same report. */
async function takePart(url, ticket, plant, record) {
  const giveUp = Date.now() + PATIENCE;
  for (;;) {
    const assignment = await fetched(`${url}/v1/assignment`);
    const trajectory = episode(assignment, plant);
    const made = report(assignment.collection, trajectory.states, trajectory.controls);
    const head = { report_id: randomBytes(16).toString("hex"), assignment_id: assignment.assignment_id };
    const body = `${JSON.stringify(head).slice(0, -1)}, ${reportText(made)}}`;
    const [status, answer] = await delivered(`${url}/v1/reports`, ticket, body, giveUp);
    if (status === 409 && answer.error?.code === "superseded") continue; // the block has closed: another episode
    if (status !== 200) throw new Error(`HTTP ${status}: ${answer.error?.message}`);
    if (record) writeFileSync(record, `{"cases": [{"assignment": ${JSON.stringify(assignment)}, "trajectory": ${JSON.stringify(trajectory)}, "report": {${reportText(made)}}}]}\n`);
    console.log(`accepted: ${trajectory.controls.length} controls under assignment ${assignment.assignment_id.slice(0, 12)}…`);
    return 0;
  }
}

async function fetched(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address}: HTTP ${answer.status}`);
  return answer.json();
}

async function delivered(address, ticket, body, giveUp) {
  for (let pause = 250; ; pause = Math.min(2 * pause, 5000)) {
    let asked = pause;
    try {
      const headers = { authorization: `Bearer ${ticket}`, "content-type": "application/json" };
      const answer = await fetch(address, { method: "POST", headers, body });
      if (![429, 503].includes(answer.status) || Date.now() > giveUp) return [answer.status, await answer.json()];
      asked = 1000 * Number(answer.headers.get("retry-after") ?? 0) || pause;
    } catch (why) {
      if (Date.now() > giveUp) throw why;
    }
    await new Promise((resume) => setTimeout(resume, asked));
  }
}

async function main() {
  const options = Object.fromEntries(["check", "url", "ticket", "plant", "record"].map((name) => [name, { type: "string" }]));
  const { values } = parseArgs({ options });
  if (values.check) return check(values.check);
  if (!values.url || !values.ticket) throw new Error("give --check FILE, or --url URL and --ticket TICKET");
  const plant = values.plant ? JSON.parse(readFileSync(values.plant, "utf8")) : TOY;
  return takePart(values.url.replace(/\/+$/, ""), values.ticket, plant, values.record);
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  main().then((code) => process.exit(code), (why) => { console.error(`device: ${why.message}`); process.exit(1); });
}
