// All charts of the shown result as one document, with the settings and the digest by which the run can be had again.
import { render } from 'lit';
import type { App } from '../app/app.js';
import { originLines } from '../ui/run-origin.js';
import { palette } from '../simulation/module.js';
import type { ChartFeed } from './chart-feed.js';
import { chartSvg } from './export-chart.js';
import { legend } from './legend.js';
import { escaped } from './picture-text.js';
import { xName, yName } from './read-out.js';

const WIDTH = 720;
const HEIGHT = 260;

/** A page of HTML that needs nothing beside itself; `feedOf` has the words of a chart. */
export async function chartsDocument(app: App, feedOf: (app: App, name: string) => ChartFeed): Promise<string> {
  const { text } = app;
  const figures: string[] = [];
  for (const chart of app.session.value.answer?.charts.values() ?? []) {
    if (chart.empty !== '') continue;
    const { name } = chart;
    const feed = feedOf(app, name);
    const ghost = feed.ghost(name);
    const drawing = await chartSvg(app, { chart, ghost, dark: false, width: WIDTH, height: HEIGHT, chinese: text.language === 'zh' });
    const words = document.createElement('div');
    render(legend(chart.series, (role) => feed.role(name, role), ghost === null ? null : text.t('role.former')), words);
    figures.push(`<figure data-chart="${name}"><figcaption><h2>${escaped(feed.title(name))}</h2> <small>${escaped(yName(text, chart))}</small>`
      + `${words.innerHTML.replaceAll(/<!--.*?-->/gu, '')}</figcaption>${drawing}<p class="x">${escaped(xName(text, chart))}</p></figure>`);
  }
  const title = text.t('export.charts.title');
  const [settings, digest, command] = originLines(app);
  const roles = Object.entries(palette(false)).map(([role, colour]) => `[data-role="${role}"]{--role:${colour}}`).join('');
  return `<!doctype html>
<html lang="${document.documentElement.lang}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${escaped(title)}</title>
<style>${STYLE}${roles}</style></head>
<body><h1>${escaped(title)}</h1>
<p>${escaped(settings)}</p><p>${escaped(digest)}</p><pre>${escaped(command)}</pre>
${figures.join('\n')}
</body></html>
`;
}

const STYLE = 'body{font:14px/1.5 sans-serif;color:#1b1f24;background:#fff;max-width:760px;margin:24px auto;padding:0 16px}h1{font-size:20px}h2{display:inline;font-size:15px}'
  + 'pre{white-space:pre-wrap;background:#f2f3f5;padding:8px}figure{margin:28px 0;break-inside:avoid}figure>svg{max-width:100%;height:auto}.x{margin:0;text-align:right}small,.x,.legend{color:#5b6470;font-size:12px}'
  + '.legend{display:flex;flex-wrap:wrap;gap:0 14px;list-style:none;margin:2px 0;padding:0}.legend [hidden]{display:none}.swatch{width:20px;height:8px;overflow:visible}.swatch line{stroke:var(--role,#888);stroke-width:2}.swatch .sign,.swatch .face{fill:var(--role)}.swatch .sign{stroke:var(--role)}';
