// The charts of the gateway, in its own words.
import type { App } from '../app/app.js';
import { serviceFeed, type ChartFeed } from '../draw/chart-feed.js';
import { gateway } from '../i18n/en/gateway.js';

/** How the names of the gateway's charts begin. */
export const GATEWAY = 'gateway_';

export function gatewayFeed(app: App): ChartFeed {
  const say = (key: string): string => (app.text.find(gateway, key) ?? app.text.named('', key));
  return {
    ...serviceFeed(app),
    title: (name) => say(`chart.${name}`),
    about: (name) => say(`chart.${name}.about`),
    // A chart may have its own word for what has one colour everywhere.
    role: (chart, role) => {
      const own = `role.${chart}.${role}`;
      return app.text.find(gateway, own) ?? say(`role.${role}`);
    },
    empty: (key) => say(`empty.${key}`),
  };
}
