// The charts of the replicas, in their own words.
import type { App } from '../app/app.js';
import { serviceFeed, type ChartFeed } from '../draw/chart-feed.js';
import { replicas } from '../i18n/en/replicas.js';

/** On one clock; the last, which is never empty, has its axis. */
export const REPLICA_CHARTS = ['lanes', 'replica_count', 'operators', 'batch', 'preemptions', 'utilisation'] as const;
/** Lanes that the module draws at most. */
const MOST_LANES = 32;

/** Replicas of the last run, of all pools and at any time. */
export function replicaCount(app: App): number {
  return app.session.value.answer?.summary.replicas ?? Number(app.store.resolved.values['fleet.replicas']);
}

function isOfReplicas(name: string): boolean {
  return REPLICA_CHARTS.some((chart) => chart === name);
}

/** The charts of the service and those of its replicas, each in its own words. */
export function wholeFeed(app: App): ChartFeed {
  const [service, own] = [serviceFeed(app), replicasFeed(app)];
  const of = (name: string): ChartFeed => (isOfReplicas(name) ? own : service);
  return { ...service, title: (name) => of(name).title(name), about: (name) => of(name).about(name), role: (chart, role) => of(chart).role(chart, role) };
}

export function replicasFeed(app: App): ChartFeed {
  const service = serviceFeed(app);
  const say = (key: string): string => (app.text.find(replicas, key) ?? app.text.named('', key));
  return {
    ...service,
    title: (name) => {
      const all = replicaCount(app);
      return name === 'lanes' && all > MOST_LANES ? app.text.say(replicas)('chart.lanes.some', { shown: MOST_LANES, all }) : say(`chart.${name}`);
    },
    about: (name) => say(`chart.${name}.about`),
    // A chart may have its own word for what has one colour everywhere.
    role: (chart, role) => {
      const own = `role.${chart}.${role}`;
      return app.text.find(replicas, own) ?? say(`role.${role}`);
    },
    empty: say,
  };
}
