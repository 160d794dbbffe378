// A chart as a figure that can be printed or posted: its title or one sentence, its legend, its axes' names and units, and where it comes
// from. All sizes follow from the width and from that of the text, so that the words of the drawing have the size that was asked for.
import type { Sign } from './legend.js';
import { escaped } from './picture-text.js';

/** Size of the words in a drawing, px. */
const DRAWN_PX = 11;
const MM_OF_POINT = 25.4 / 72;
const MARGIN = 6;
const LINE = 15;
const SWATCH = 20;
const BETWEEN = 14;
const INK = '#1b1f24';
const MUTED = '#5b6470';
const FONT = 'Helvetica, Arial, "Noto Sans CJK SC", sans-serif';

export interface FigureKind { id: 'single' | 'double' | 'card'; width_mm: number; /** Height of the drawing over its width. */ shape: number }

/** Columns as journals and conferences have them; a card is saved 1,200 px wide, as sites show the picture of a link. */
export const KINDS: readonly FigureKind[] = [
  { id: 'single', width_mm: 84, shape: 0.6 },
  { id: 'double', width_mm: 176, shape: 0.38 },
  { id: 'card', width_mm: 176, shape: 0.36 },
];
export const FONT_POINTS = [6, 7, 8, 9, 10] as const;

export interface Entry { words: string; colour: string; sign: Sign }

export interface Figure {
  kind: FigureKind;
  points: number;
  /** Above it; none where the caption of the paper says it. */
  sentence: string | null;
  yName: string;
  xName: string;
  entries: readonly Entry[];
  /** Below it. */
  source: string | null;
  /** What is written into the file and seen nowhere. */
  description: string;
}

/** The size of the drawing, px of its own. */
export function drawingOf({ kind, points }: Pick<Figure, 'kind' | 'points'>): { width: number; height: number } {
  const width = Math.round((kind.width_mm / MM_OF_POINT) * (DRAWN_PX / points)) - 2 * MARGIN;
  return { width, height: Math.round(width * kind.shape) };
}

/** The whole figure as SVG; `drawing` is the chart's, `wide` measures words at the size of the drawing's. */
export function figureSvg(figure: Figure, drawing: string, wide: (words: string) => number): string {
  const size = drawingOf(figure);
  const width = size.width + 2 * MARGIN;
  const parts: string[] = [];
  let y = MARGIN;
  const line = (words: string, { x = MARGIN, anchor = 'start', colour = INK, px = DRAWN_PX, weight = 400 } = {}): void => {
    parts.push(`<text x="${String(x)}" y="${String(y + px)}" text-anchor="${anchor}" font-size="${String(px)}" font-weight="${String(weight)}" fill="${colour}">${escaped(words)}</text>`);
  };
  if (figure.sentence !== null) {
    for (const words of broken(figure.sentence, size.width / SENTENCE, wide)) {
      line(words, { px: DRAWN_PX * SENTENCE, weight: 600 });
      y += LINE * SENTENCE;
    }
    y += 4;
  }
  let x = MARGIN;
  for (const { words, colour, sign } of figure.entries) {
    const length = SWATCH + 5 + wide(words);
    if (x > MARGIN && x + length > width - MARGIN) {
      x = MARGIN;
      y += LINE;
    }
    parts.push(`<g transform="translate(${String(x)} ${String(y + 3)})">${swatch(sign, colour)}</g>`);
    line(words, { x: x + SWATCH + 5, colour: MUTED });
    x += length + BETWEEN;
  }
  if (figure.entries.length > 0) y += LINE + 3;
  line(figure.yName, { colour: MUTED });
  y += LINE + 2;
  parts.push(`<svg x="${String(MARGIN)}" y="${String(y)}" width="${String(size.width)}" height="${String(size.height)}" viewBox="${viewBox(drawing) ?? `0 0 ${String(size.width)} ${String(size.height)}`}">${inner(drawing)}</svg>`);
  y += size.height + 1;
  line(figure.xName, { x: width - MARGIN, anchor: 'end', colour: MUTED });
  y += LINE;
  if (figure.source !== null) {
    for (const words of broken(figure.source, size.width, wide)) {
      line(words, { colour: MUTED });
      y += LINE;
    }
  }
  const height = Math.ceil(y + MARGIN);
  const height_mm = (height / width) * figure.kind.width_mm;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${String(figure.kind.width_mm)}mm" height="${height_mm.toFixed(2)}mm" viewBox="0 0 ${String(width)} ${String(height)}" font-family='${FONT}'>`
    + `<desc>${escaped(figure.description)}</desc><rect width="${String(width)}" height="${String(height)}" fill="#ffffff"/>${parts.join('')}</svg>\n`;
}

/** The sentence of a card is larger than its other words. */
const SENTENCE = 1.5;

function swatch({ box, dash, marker }: Sign, colour: string): string {
  if (box) return `<rect width="20" height="8" fill="${colour}"/>`;
  const line = dash === null ? '' : `<line x1="0" y1="4" x2="20" y2="4" stroke="${colour}" stroke-width="2"${dash === 'none' ? '' : ` stroke-dasharray="${dash}"`}/>`;
  return `${line}${marker === null ? '' : `<path d="${marker}" fill="${colour}" stroke="${colour}"/>`}`;
}

/** The pixels that a drawing counts in. */
function viewBox(drawing: string): string | undefined {
  return /<svg[^>]*\sviewBox="([^"]*)"/u.exec(drawing)?.[1];
}

/** What a drawing has between its outermost tags. */
function inner(drawing: string): string {
  return drawing.replace(/^[^]*?<svg[^>]*>/u, '').replace(/<\/svg>\s*$/u, '');
}

/** Lines that are at most so wide, broken at spaces, or anywhere in a text without spaces. */
export function broken(words: string, width: number, wide: (words: string) => number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const part of words.match(/[\u2e80-\uffef]|[^\s\u2e80-\uffef]+\s*|\s+/gu) ?? []) {
    if (line !== '' && wide((line + part).trimEnd()) > width) {
      lines.push(line.trimEnd());
      line = '';
    }
    line += part;
  }
  return line.trim() === '' ? lines : [...lines, line.trimEnd()];
}
