import { expect, it } from 'vitest';
import type { App } from '../app/app.js';
import { isOrderedAtGateway } from './control-note.js';

const of = (kind: string, held: number, stale: string | null = null): boolean => isOrderedAtGateway({
  store: { resolved: { values: { 'gateway.kind': kind } } },
  session: { value: { answer: { summary: { gateway: kind === 'proxy' ? { held: { rpm: 0, concurrency: held } } : null } } } },
  belonging: { stale: { value: stale } },
} as unknown as App, 'scheduler.order');

it('requests that wait at the gateway are ordered there', () => {
  expect(of('proxy', 3)).toBe(true);
  expect(of('proxy', 0)).toBe(false);
  expect(of('direct', 0)).toBe(false);
  expect(of('proxy', 3, 'running')).toBe(false);
});
