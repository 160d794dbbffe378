// Rows of the waiting queue that the gateway's scheduling policy reads too, whatever the queue's own policy is.
import type { App } from '../app/app.js';
import type { Condition, Parameter } from '../simulation/types.js';

const ORDER = 'scheduler.order';

/** The scheduling policies under which a condition holds; null where it does not ask for one. */
function orders(condition: Condition): string[] | null {
  if ('any' in condition) {
    const all = condition.any.flatMap((one) => orders(one) ?? []);
    return all.length === 0 ? null : all;
  }
  if ('all' in condition) return condition.all.map(orders).find((values) => values !== null) ?? null;
  return 'in' in condition && condition.parameter === ORDER ? condition.in.map(String) : null;
}

/** Only the gateway needs it: its control then stands there. */
export function onlyAtGateway({ store: { resolved: { values, inactive } } }: App, { id, applies }: Parameter): boolean {
  return values['gateway.kind'] === 'proxy' && !inactive.has(id) && /^scheduler\.(fair|priority|round_robin)\./.test(id)
    && applies.some((condition) => orders(condition)?.includes(String(values[ORDER])) === false);
}
