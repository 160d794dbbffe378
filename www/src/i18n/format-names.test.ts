// Every format of trace files has the name of its tool, in prose.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { formatName } from './format-names.js';

it('knows every format of the reader', () => {
  const source = readFileSync(new URL('../../../crate/workload/src/formats.rs', import.meta.url), 'utf8');
  const [, body = ''] = source.split('pub fn name(self)');
  const ids = [...(body.split('\n    }\n')[0] ?? '').matchAll(/=> "(\w+)"/gu)].map(([, id = '']) => id);
  expect(ids.length).toBeGreaterThan(20);
  for (const id of ids) expect(formatName(id), id).not.toBe(id);
  expect(formatName('azure')).toBe('Azure');
  expect(formatName('')).toBe('–');
});
