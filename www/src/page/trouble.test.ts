// @vitest-environment happy-dom
import { beforeEach, expect, it } from 'vitest';
import type { App } from '../app/app.js';
import { Refusal } from '../simulation/worker-link.js';
import { Text } from '../i18n/text.js';
import { english } from '../i18n/languages.js';
import { Notices } from '../state/notices.js';
import { watchTrouble } from './trouble.js';

let notices: Notices;
let page: EventTarget;

beforeEach(() => {
  notices = new Notices();
  page = new EventTarget();
  const text = new Text('en', english);
  watchTrouble({ notices, text } as unknown as App, page);
});

const reported = (): string[] => notices.list.value.map(({ text }) => text());
const rejected = (reason: unknown): Event => {
  const event = Object.assign(new Event('unhandledrejection', { cancelable: true }), { reason });
  page.dispatchEvent(event);
  return event;
};

it('tells of an error that no caller waits for', () => {
  rejected(new Error('the moon fell'));
  expect(reported()).toEqual(['Something unexpected happened: the moon fell']);
});

it('tells a refusal in the page’s own words', () => {
  rejected(new Refusal([{ severity: 'error', code: 'missing_part', path: '', message: 'raw', params: {} }]));
  expect(reported()).toEqual(['A part of the page could not be downloaded. Check the network and try again.']);
});

it('tells that a part is missing, not what the browser says of it', () => {
  const payload = new TypeError('Failed to fetch dynamically imported module: https://host/assets/help-1.js');
  page.dispatchEvent(Object.assign(new Event('vite:preloadError'), { payload }));
  rejected(payload);
  expect(reported()).toEqual(['A part of the page could not be downloaded. Check the network and try again.']);
});

it('says nothing of a question that was taken back', () => {
  const event = rejected(Object.assign(new Error('taken back'), { name: 'Cancelled' }));
  expect(reported()).toEqual([]);
  expect(event.defaultPrevented).toBe(true);
});
