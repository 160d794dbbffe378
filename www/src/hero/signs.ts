// A second sign beside each colour of the picture, for eyes and prints that tell no colours apart: what is cut out of a mark, as polygons
// in a square of side 1. The picture and its legend draw the same.
import { html, svg, type TemplateResult } from 'lit';

type Polygon = readonly (readonly [number, number])[];

const band = (from: number, to: number): Polygon => [[0, from], [1, from], [1, to], [0, to]];

/** By role; a mark without cuts is whole. */
const CUTS: Readonly<Record<string, readonly Polygon[]>> = {
  prefill: [band(0.4, 0.6)],
  stalled: [[[0, 0.55], [0.55, 0], [0.85, 0], [0, 0.85]], [[0.3, 1], [1, 0.3], [1, 0.6], [0.6, 1]]],
  client_1: [[[0, 0], [1, 0], [0, 1]]],
  client_2: [band(0, 0.5)],
  client_3: [[[0, 0], [0.5, 0], [0.5, 1], [0, 1]]],
  client_4: [[[0, 0], [1, 0], [1, 1]]],
  client_5: [[[0.3, 0.3], [0.7, 0.3], [0.7, 0.7], [0.3, 0.7]]],
  client_6: [[[0, 0], [1, 0], [0.5, 1]]],
  slo: [band(0.35, 0.65)],
};

export function cutsOf(role: string): readonly Polygon[] {
  return CUTS[role] ?? [];
}

/** Cuts a role's sign out of a mark that fills this square. */
export function cut(to: CanvasRenderingContext2D, role: string, left: number, top: number, side: number, paper: string): void {
  to.fillStyle = paper;
  for (const polygon of cutsOf(role)) {
    to.beginPath();
    for (const [x, y] of polygon) to.lineTo(left + x * side, top + y * side);
    to.fill();
  }
}

/** The mark of a role in the legend: a square of a phase, a disc of a user. */
export function signOf(role: string, shape: 'square' | 'disc'): TemplateResult {
  return html`<svg class="hero-sign" viewBox="0 0 10 10" aria-hidden="true">
    ${shape === 'square' ? svg`<rect class="face" width="10" height="10"/>` : svg`<circle class="face" cx="5" cy="5" r="5"/>`}
    ${cutsOf(role).map((polygon) => svg`<polygon class="cut" points=${polygon.map(([x, y]) => `${String(10 * x)},${String(10 * y)}`).join(' ')}/>`)}</svg>`;
}
