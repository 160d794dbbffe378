import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { bibtex } from './cite.js';
import { broken, drawingOf, figureSvg, KINDS, type Figure } from './figure.js';

const wide = (words: string): number => words.length * 6;
const [single, double] = KINDS as [Figure['kind'], Figure['kind']];
const FIGURE: Figure = {
  kind: single, points: 8, sentence: 'TTFT & cv', yName: 'TTFT, s', xName: 'time, s', source: 'digest 01', description: 'settings <R>',
  entries: [{ words: 'waiting', colour: '#e69f00', sign: { box: true, dash: null, marker: null } }, { words: 'running', colour: '#009e73', sign: { box: false, dash: '4 4', marker: 'M0 0' } }],
};
const DRAWING = '<?xml version="1.0"?>\n<svg width="9" height="9" viewBox="0 0 90 90" xmlns="http://www.w3.org/2000/svg"><path id="curve"/></svg>\n';

describe('a figure', () => {
  it('has the width that was asked for, and words of the size that was asked for', () => {
    for (const kind of KINDS) for (const points of [6, 8, 10]) {
      const svg = figureSvg({ ...FIGURE, kind, points }, DRAWING, wide);
      const [, width = 0] = /viewBox="0 0 ([\d.]+)/u.exec(svg) ?? [];
      // A drawing's words are 11 of its own pixels high.
      const points_of_a_pixel = (kind.width_mm / 25.4 * 72) / Number(width);
      expect(11 * points_of_a_pixel).toBeCloseTo(points, 1);
      expect(svg).toContain(`width="${String(kind.width_mm)}mm"`);
    }
  });

  it('has its axes, its legend, its sentence and its source', () => {
    const svg = figureSvg(FIGURE, DRAWING, wide);
    for (const words of ['TTFT, s', 'time, s', 'waiting', 'running', 'TTFT &amp; cv', 'digest 01', '<desc>settings &lt;R&gt;</desc>', '<path id="curve"/>', 'viewBox="0 0 90 90"', 'stroke-dasharray="4 4"', 'fill="#e69f00"']) expect(svg).toContain(words);
    expect(svg.match(/<svg/gu)).toHaveLength(2);
    expect(svg.match(/<\/svg>/gu)).toHaveLength(2);
  });

  it('is drawn smaller for larger words', () => {
    expect(drawingOf({ kind: single, points: 10 }).width).toBeLessThan(drawingOf({ kind: single, points: 6 }).width);
    expect(drawingOf({ kind: double, points: 8 }).width).toBeGreaterThan(2 * drawingOf({ kind: single, points: 8 }).width);
  });
});

describe('lines', () => {
  it('are broken at spaces, and in Chinese anywhere', () => {
    expect(broken('one two three', 48, wide)).toEqual(['one two', 'three']);
    expect(broken('请求成批到达', 18, wide)).toEqual(['请求成', '批到达']);
    expect(broken('', 18, wide)).toEqual([]);
  });
});

describe('a citation', () => {
  it('names the program as the repository does', () => {
    const cff = readFileSync(new URL('../../../CITATION.cff', import.meta.url), 'utf8');
    const entry = bibtex({ version: '0.1.0', address: 'https://host/', link: 'https://host/#v=5', digest: '01ab', year: 2026 });
    const title = /^title: "(.*)"$/mu.exec(cff)?.[1] ?? '';
    expect(entry.replaceAll(/[{}]/gu, '')).toContain(title);
    expect(entry).toContain(/name: (.*)/u.exec(cff)?.[1] ?? 'no author');
    expect(entry).toContain('\\url{https://host/#v=5}');
  });
});
