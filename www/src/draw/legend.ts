// The legend in words: a swatch with the colour and the dash or marker of its role, and the role's name.
import { html, svg, type SVGTemplateResult, type TemplateResult } from 'lit';
import type { Series } from '../simulation/types.js';

/** Dashes and markers of `charts::role`, which distinguish lines without their colours. */
const DASHES: Readonly<Record<string, string>> = { pool: '8 4', expected: '5 3', tbt: '8 3', e2e: '2 3', slo: '4 4', twin: '6 2', plain_twin: '1 3' };
const MARKERS: Readonly<Record<string, string>> = {
  running: 'circle', served: 'circle', decode: 'circle', output: 'circle', waiting: 'triangle', queue: 'triangle',
  refused: 'cross', stalled: 'cross', kv: 'square', prefill: 'square', mfu: 'square', adapters: 'diamond', load: 'diamond', bandwidth: 'diamond',
};
const SHAPES: Readonly<Record<string, string>> = {
  circle: 'M7 4a3 3 0 1 0 6 0a3 3 0 1 0-6 0', triangle: 'M7 1l6 3l-6 3z', cross: 'M7.5 1.5l5 5m0-5l-5 5',
  square: 'M7.5 1.5h5v5h-5z', diamond: 'M10 .5l3.5 3.5l-3.5 3.5l-3.5-3.5z',
};

export function legend(series: readonly Series[], roleName: (role: string) => string, ghost: string | null, band: string | null = null): TemplateResult {
  const seen = new Map(series.map((entry) => [entry.role, entry]));
  return html`
    <ul class="legend">
      ${[...seen.values()].map((entry) => html`<li>${swatch(entry)}${roleName(entry.role)}</li>`)}
      <li class="ghost" ?hidden=${ghost === null}><svg class="swatch" viewBox="0 0 20 8" aria-hidden="true"><line x1="0" y1="4" x2="20" y2="4"/></svg>${ghost}</li>
      <li class="band" ?hidden=${band === null}><svg class="swatch" viewBox="0 0 20 8" aria-hidden="true"><rect x="0" y="0" width="20" height="8"/></svg>${band}</li>
    </ul>`;
}

function swatch({ role, mark }: Series): TemplateResult {
  return html`<svg class="swatch" data-role=${role} viewBox="0 0 20 8" aria-hidden="true">${shape(signOf(mark, role))}</svg>`;
}

/** What stands for a role: a filled box, or a line with its dashes and its marker, each where there is one; in a box of 20 by 8. */
export interface Sign { box: boolean; dash: string | null; marker: string | null }

export function signOf(mark: Series['mark'], role: string): Sign {
  const marker = SHAPES[MARKERS[role] ?? ''] ?? null;
  if (mark === 'points') return { box: false, dash: null, marker: marker ?? SHAPES['circle'] ?? null };
  if (mark === 'area' || mark === 'band' || mark === 'bars') return { box: true, dash: null, marker: null };
  return { box: false, dash: mark === 'step' && role.endsWith('twin') ? 'none' : (DASHES[role] ?? 'none'), marker };
}

function shape({ box, dash, marker }: Sign): SVGTemplateResult {
  if (box) return svg`<rect class="face" x="0" y="0" width="20" height="8"/>`;
  const sign = svg`<path class="sign" d=${marker ?? ''}/>`;
  return dash === null ? sign : svg`<line x1="0" y1="4" x2="20" y2="4" stroke-dasharray=${dash}/>${sign}`;
}
