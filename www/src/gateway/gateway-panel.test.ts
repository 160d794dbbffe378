// @vitest-environment happy-dom
// The groups of the gateway's panel, with an app that is made up.
import { beforeEach, expect, it } from 'vitest';
import type { App } from '../app/app.js';
import type { Diagnostic, Parameter } from '../simulation/types.js';
import { english } from '../i18n/languages.js';
import { Text } from '../i18n/text.js';
import { newSession } from '../state/session.js';
import { Topic } from '../lib/topic.js';
import { GatewayPanel } from './gateway-panel.js';

const IDS = ['gateway.checks', 'gateway.client', 'gateway.retry.max', 'gateway.queue_timeout_s', 'gateway.rpm'];

let errors: Topic<readonly Diagnostic[]>;
let panel: GatewayPanel;

beforeEach(async () => {
  errors = new Topic<readonly Diagnostic[]>([]);
  const app = {
    text: new Text('en', english),
    schema: { parameters: IDS.map((id) => ({ id, group: 'gateway', applies: [] }) as unknown as Parameter) },
    store: { values: new Topic({}), resolved: { values: { 'gateway.checks': '' }, inactive: new Map() } },
    editor: { drafts: new Topic(new Map()), isChanged: () => false },
    errors,
    session: newSession(),
    settings: new Topic({}),
    problem: (id: string) => errors.value.find(({ path }) => path === id),
  };
  panel = new GatewayPanel();
  panel.app = app as unknown as App;
  document.body.replaceChildren(panel);
  await panel.updateComplete;
});

const isOpen = (group: string): boolean | undefined => panel.querySelector<HTMLDetailsElement>(`[data-group=${group}]`)?.open;

it('opens the group of a wrong value, and no other', async () => {
  expect(isOpen('retries')).toBe(false);
  errors.set([{ severity: 'error', code: 'out_of_range', path: 'gateway.retry.max', message: 'too many', params: {} }]);
  await panel.updateComplete;
  expect(isOpen('retries')).toBe(true);
  expect(isOpen('wait')).toBe(false);
  errors.set([{ severity: 'error', code: 'out_of_range', path: 'gateway.queue_timeout_s', message: 'too long', params: {} }]);
  await panel.updateComplete;
  expect(isOpen('wait')).toBe(true);
});

it('opens the settings of the check with a wrong value', async () => {
  const settings = (check: string): boolean | undefined => panel.querySelector<HTMLDetailsElement>(`[data-check=${check}] .check-settings`)?.open;
  expect(settings('rpm')).toBe(false);
  errors.set([{ severity: 'error', code: 'out_of_range', path: 'gateway.rpm', message: 'too many', params: {} }]);
  await panel.updateComplete;
  expect(settings('rpm')).toBe(true);
  expect(settings('tpm')).toBe(false);
});
