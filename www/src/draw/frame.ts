// A chart with a few sliders as HTML for another page.
import { copied } from '../copy.js';
import type { ChartView } from './chart-view.js';
import { escaped } from './picture-text.js';

/** What a frame has beside its chart: the first controls of the sidebar. */
const FRAMED = ['workload.rate_rps', 'workload.arrivals.cv', 'workload.adapters.count'];
const FRAME_PX = { width: 720, height: 440 };

/** Copies the HTML of a frame with this chart alone. */
export async function copyFrame({ app, name }: ChartView, title: string): Promise<void> {
  const { width, height } = FRAME_PX;
  const address = app.linkShowing({ chart: name, controls: FRAMED });
  const frame = `<iframe src="${escaped(address)}" title="${escaped(title)}" width="${String(width)}" height="${String(height)}" loading="lazy"></iframe>`;
  if (await copied(app, frame)) app.notices.info('embed_copied', () => app.text.t('notice.embed_copied'));
}
