// The feed that has the words of a chart of the service, whichever section shows it.
import type { App } from '../app/app.js';
import { REPLICA_CHARTS, replicasFeed } from '../replicas/replicas-feed.js';
import { serviceFeed, type ChartFeed } from '../draw/chart-feed.js';
import { GATEWAY, gatewayFeed } from './gateway-feed.js';

export function feedOfChart(app: App, name: string): ChartFeed {
  if (name.startsWith(GATEWAY)) return gatewayFeed(app);
  return REPLICA_CHARTS.some((one) => one === name) ? replicasFeed(app) : serviceFeed(app);
}
