// Rows of the waiting line that the gateway's order of service reads too, whatever the line's own order is.
import type { App } from '../app.js';
import type { Parameter } from '../engine/types.js';

const ORDER = 'scheduler.order';

/** Only the gateway needs it: its control then stands there. */
export function onlyAtGateway({ store: { resolved: { values, inactive } } }: App, { id, applies }: Parameter): boolean {
  return values['gateway.kind'] === 'proxy' && inactive.has(id) && /^scheduler\.(fair|priority|round_robin)\./.test(id)
    && applies.every(({ parameter, in: allowed }) => allowed.some((value) => String(value) === String(values[parameter === ORDER ? 'gateway.order' : parameter])));
}
