// What the page counts as due, and what of it stands on the document.
import { beforeEach, expect, it } from 'vitest';
import { Due, DueNow, showDue } from './due.js';

let due: Due;
let root: { dataset: Record<string, string> };

beforeEach(() => {
  due = new Due();
  root = { dataset: {} };
  showDue(due, root as unknown as HTMLElement);
});

it('counts what is due, of each kind, until it is over', () => {
  expect(root.dataset).toEqual({ busy: '0', due: '' });
  const [first, second, other] = [due.begin('fetch'), due.begin('fetch'), due.begin('address')];
  expect(root.dataset).toEqual({ busy: '3', due: 'address fetch' });
  first();
  first();
  expect(root.dataset).toEqual({ busy: '2', due: 'address fetch' });
  second();
  other();
  expect(root.dataset).toEqual({ busy: '0', due: '' });
});

it('is over with what was done, and with what failed', async () => {
  expect(await due.during('fetch', () => Promise.resolve(7))).toBe(7);
  await expect(due.during('fetch', () => Promise.reject(new Error('no network')))).rejects.toThrow('no network');
  expect(root.dataset).toEqual({ busy: '0', due: '' });
});

it('counts a timer once, however often it is set', () => {
  const writing = new DueNow('address', due);
  writing.set(true);
  writing.set(true);
  expect(root.dataset).toEqual({ busy: '1', due: 'address' });
  writing.set(false);
  writing.set(false);
  expect(root.dataset).toEqual({ busy: '0', due: '' });
});
