// A chart with a few sliders, or a screen of a lesson, as HTML for another page.
import type { App } from '../app/app.js';
import { copied } from '../ui/copy.js';
import { EMBEDDED_LESSON, type Embed } from '../state/address.js';
import { escaped } from './picture-text.js';
import type { ShownChart } from './shown-chart.js';

/** What a frame has beside its chart: the first controls of the sidebar. */
const FRAMED = ['workload.rate_rps', 'workload.arrivals.cv', 'workload.adapters.count'];
const FRAME_PX = { width: 720, height: 440 };
const LESSON_PX = { width: 860, height: 820 };

/** Copies the HTML of a frame with this chart alone. */
export async function copyFrame({ app, name }: ShownChart, title: string): Promise<void> {
  if (await copy(app, { chart: name, controls: FRAMED }, title, FRAME_PX)) app.notices.info('embed_copied', () => app.text.t('notice.embed_copied'));
}

/** Copies the HTML of a frame with the screen of a lesson that is shown. */
export async function copyLessonFrame(app: App, title: string): Promise<boolean> {
  return copy(app, { chart: EMBEDDED_LESSON, controls: [] }, title, LESSON_PX);
}

async function copy(app: App, embed: Embed, title: string, { width, height }: { width: number; height: number }): Promise<boolean> {
  const address = app.linkShowing(embed);
  const frame = `<iframe src="${escaped(address)}" title="${escaped(title)}" width="${String(width)}" height="${String(height)}" loading="lazy"></iframe>`;
  return copied(app, frame);
}
