// Where charts come from: the service's last answer, or the workload studio.
import type { App, Cursor } from '../app/app.js';
import type { ChartData } from '../simulation/types.js';
import type { ReadOut } from './read-out.js';
import type { MessageKey } from '../i18n/text.js';
import { both, partsOf, type Topic, type Watchable } from '../lib/topic.js';

/** A moment on the axis of time, or the point of a request. */
export interface ChartMark { x: number; request: number | null; words: string }

export interface ChartFeed {
  /** Heard whenever this chart changes. */
  topic(chart: string): Watchable;
  /** Whether a brush over a time chart zooms all of them. */
  readonly zooms: boolean;
  /** Whether values are read out only of the chart under the pointer, not of all with the same clock. */
  readonly readsOnHover?: boolean;
  /** The clock of its time charts, where that is not the page's. */
  readonly clock?: Topic<Cursor | null>;
  /** What the charts show, which may be of other settings than the controls say; undefined where it cannot be. */
  readonly of?: 'run' | 'traffic';
  chart(name: string): ChartData | undefined;
  /** What the present chart is compared with. */
  ghost(name: string): ChartData | null;
  /** What that is called; the state before the last change where it is left out. */
  former?(): string;
  /** The range of its curves over further seeds. */
  band?(name: string): ChartData | undefined;
  title(name: string): string;
  about(name: string): string;
  role(chart: string, role: string): string;
  /** What a click on a point does; of the service's charts, it shows the request. */
  pick?(chart: string, id: number): void;
  /** What is read out of the nearest point, however far; of the service's charts, a near request. */
  point?(chart: string, id: number): ReadOut;
  /** What is marked beside the cursor. */
  mark?(): ChartMark | null;
  /** What lies along the axis below, where the page's own words do not say. */
  xName?(chart: string): string;
  /** What the heights are, beside the title. */
  yName?(chart: string): string | undefined;
  /** Why a chart is empty, where the page's own words do not say. */
  empty?(key: string): string;
}

/** Users have their colours where a chart distinguishes them. */
function roleName({ text, session }: App, chart: string, role: string): string {
  const user = /^client_(\d)$/.exec(role)?.[1];
  if (user !== undefined) return text.t('role.user', { id: user });
  const isOthers = chart === 'ttft_by_arrival' && role === 'ttft' && (session.value.answer?.summary.users ?? 1) > 1;
  if (isOthers) return text.t('role.other_users');
  // What a role is called in one chart alone.
  const key = `role.of.${chart}.${role}`;
  const own = text.named('', key);
  return own === key ? text.named('role.', role) : own;
}

export function serviceFeed(app: App): ChartFeed {
  return {
    topic: (name) => both(
      partsOf(app.session, ({ answer }) => answer?.charts.get(name), ({ former }) => former?.charts.get(name)),
      partsOf(app.bands, (bands) => bands.get(name)),
    ),
    zooms: true,
    of: 'run',
    chart: (name) => app.session.value.answer?.charts.get(name),
    // Rows of another run would lie over these.
    ghost: (name) => {
      const former = app.session.value.former?.charts.get(name);
      return former === undefined || former.y.kind === 'index' || app.belonging.stale.value !== null ? null : former;
    },
    band: (name) => app.bands.value.get(name),
    title: (name) => app.text.t(`chart.${name}` as MessageKey),
    about: (name) => app.text.t(`chart.${name}.about` as MessageKey),
    role: (chart, role) => roleName(app, chart, role),
  };
}
