// Where charts come from: the service's last answer, or the workload studio.
import type { App } from '../app.js';
import type { ChartData } from '../engine/types.js';
import type { MessageKey } from '../i18n/en.js';
import type { Watchable } from '../state/topic.js';

/** Lanes that the module draws at most. */
const MOST_LANES = 32;

export interface ChartFeed {
  /** Heard whenever charts change. */
  readonly topic: Watchable;
  /** Whether a brush over a time chart zooms all of them. */
  readonly zooms: boolean;
  chart(name: string): ChartData | undefined;
  /** What the present chart is compared with. */
  ghost(name: string): ChartData | null;
  title(name: string): string;
  about(name: string): string;
  role(chart: string, role: string): string;
}

export function serviceFeed(app: App): ChartFeed {
  return {
    topic: app.session,
    zooms: true,
    chart: (name) => app.session.value.answer?.charts.get(name),
    // Former lanes would only hide those of now.
    ghost: (name) => (name === 'lanes' ? null : app.session.value.former?.charts.get(name) ?? null),
    title: (name) => {
      const replicas = app.session.value.answer?.summary.fleet?.per_replica.length ?? 0;
      if (name === 'lanes' && replicas > MOST_LANES) return app.text.t('chart.lanes.some', { shown: MOST_LANES, all: replicas });
      return app.text.t(`chart.${name}` as MessageKey);
    },
    about: (name) => app.text.t(`chart.${name}.about` as MessageKey),
    // A chart may have its own word for what has one colour everywhere.
    role: (chart, role) => {
      const own = app.text.named('role.', `${chart}.${role}`);
      return own === `${chart}.${role}` ? app.text.named('role.', role) : own;
    },
  };
}
