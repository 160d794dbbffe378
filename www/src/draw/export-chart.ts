// A chart as a file: drawing, numbers.
import type { ChartData } from '../simulation/types.js';
import type { App } from '../app/app.js';
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

/** The studio draws it: what writes SVG is no part of what the page starts with. */
export async function chartSvg(app: App, picture: Picture): Promise<string> {
  return (await app.traceFile.studio()).call('svg', picture);
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
