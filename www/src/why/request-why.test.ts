// @vitest-environment happy-dom
// Where a request's time went: what is shown while that is computed, and where it cannot be.
import { beforeEach, expect, it, vi } from 'vitest';
import type { App } from '../app/app.js';
import { english } from '../i18n/languages.js';
import { Text } from '../i18n/text.js';
import type { RequestWhy } from '../simulation/types.js';
import { Refusal } from '../simulation/worker-link.js';
import { newView } from '../state/session.js';
import { Topic } from '../lib/topic.js';
import { RequestWhyView } from './request-why.js';

const WHY = (id: number): RequestWhy => ({ id, total_s: 1, delayed_s: 0, cut_tokens: id === 7 ? 1200 : 0, causes: [], delays: [] });
const died = (): Refusal => new Refusal([{ severity: 'error', code: 'internal', path: '', message: 'unreachable', params: {} }]);

let ask: ReturnType<typeof vi.fn<(query: { values: number[] }) => Promise<RequestWhy>>>;
let view: App['view'];
let element: RequestWhyView;

const settled = async (): Promise<void> => {
  await new Promise((done) => { setTimeout(done); });
  await element.updateComplete;
};
const select = (id: number): void => { view.update({ selected: { id } as never }); };

beforeEach(() => {
  ask = vi.fn(({ values: [id = 0] }) => Promise.resolve(WHY(id)));
  view = newView(null, null, null);
  element = RequestWhyView.of({ text: new Text('en', english), view, settings: new Topic({}), ask } as unknown as App);
  document.body.replaceChildren(element);
});

it('explains the request', async () => {
  select(3);
  await settled();
  expect(element.querySelector('.why')).not.toBeNull();
});

it('tells of an output that was cut, and of no other', async () => {
  select(7);
  await settled();
  expect(element.querySelector('[data-cut]')?.textContent).toContain('1,200 tokens short');
  select(8);
  await settled();
  expect(element.querySelector('[data-cut]')).toBeNull();
});

it('tells that the worker died, and asks again when told to', async () => {
  ask.mockRejectedValueOnce(died());
  select(3);
  await settled();
  expect(element.querySelector('[role=alert]')?.getAttribute('data-code')).toBe('internal');
  expect(element.querySelector('.hint')).toBeNull();
  element.querySelector<HTMLElement>('[data-action=again]')?.click();
  await settled();
  expect(ask).toHaveBeenCalledTimes(2);
  expect(element.querySelector('[role=alert]')).toBeNull();
  expect(element.querySelector('.why')).not.toBeNull();
});

it('asks for another request after a refusal', async () => {
  ask.mockRejectedValueOnce(died());
  select(3);
  await settled();
  select(4);
  await settled();
  expect(element.querySelector('[role=alert]')).toBeNull();
  expect(element.querySelector('.why')).not.toBeNull();
});
