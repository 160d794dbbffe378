// A chart as a file: picture at twice the pixels, drawing, numbers.
import { ChartSurface, palette } from '../simulation/module.js';
import type { ChartData } from '../simulation/types.js';
import type { App } from '../app/app.js';
import { part } from '../lib/part.js';
import type { Picture } from '../studio/picture.js';

export function download(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The browser has taken the blob when the click is handled; a second is ample.
  setTimeout(() => { URL.revokeObjectURL(link.href); }, 1000);
}

export function downloadText(name: string, text: string, type: string): void {
  download(name, new Blob([text], { type: `${type};charset=utf-8` }));
}

async function chartPng({ chart, ghost, dark, width, height, chinese }: Picture): Promise<Blob> {
  const canvas = document.createElement('canvas');
  const surface = new ChartSurface(canvas);
  surface.draw(chart, ghost, dark, width, height, 2, chinese);
  surface.free();
  // The chart is drawn on nothing; a file needs its paper.
  const pen = canvas.getContext('2d');
  if (pen !== null) {
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.globalCompositeOperation = 'destination-over';
    pen.fillStyle = palette(dark)['paper'] ?? 'white';
    pen.fillRect(0, 0, canvas.width, canvas.height);
  }
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => {
      if (blob === null) reject(new Error('the browser made no picture'));
      else resolve(blob);
    }, 'image/png');
  });
}

/** The studio draws it: what writes SVG is no part of what the page starts with. */
export async function chartSvg(app: App, picture: Picture): Promise<string> {
  return (await app.traceFile.studio()).call('svg', picture);
}

/** Saves the drawing; `reported` is the text of its metadata. */
export async function downloadSvg(app: App, picture: Picture, reported: string): Promise<void> {
  const { svgWithText } = await part(() => import('./picture-text.js'));
  const svg = svgWithText(await chartSvg(app, picture), reported);
  download(`servescope-${picture.chart.name.replaceAll('_', '-')}.svg`, new Blob([svg], { type: 'image/svg+xml' }));
}

/** Saves the picture; `reported` is the text of its metadata. */
export async function downloadPng(name: string, picture: Picture, reported: string): Promise<void> {
  const { pngWithText } = await part(() => import('./picture-text.js'));
  const png = new Uint8Array(await (await chartPng(picture)).arrayBuffer());
  download(name, new Blob([pngWithText(png, 'Description', reported)], { type: 'image/png' }));
}

/** One row a point: series, x, y, and what else the series has. */
export function chartCsv(chart: ChartData): string {
  const rows = ['series,x,x_end,y_base,y,request'];
  for (const series of chart.series) {
    series.x.forEach((x, index) => {
      const cells = [x, series.x2[index], series.y0[index], series.y[index], series.id[index]];
      rows.push([series.role, ...cells.map((cell) => (cell === undefined ? '' : String(cell)))].join(','));
    });
  }
  return `${rows.join('\n')}\n`;
}
