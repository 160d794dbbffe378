import { expect, it } from 'vitest';
import { parsePools, poolsText, settingOf, withSetting } from './pools.js';

it('reads what it writes', () => {
  const text = 'name=small,fleet.gpu=l4,fleet.replicas=2|fleet.gpu=h100_sxm';
  const pools = parsePools(text);
  expect(pools).toHaveLength(2);
  expect(pools[0]?.name).toBe('small');
  expect(poolsText(pools)).toBe(text);
});

it('sets and takes out one setting', () => {
  const [pool] = parsePools('fleet.gpu=l4,cost.kind=roofline');
  if (pool === undefined) throw new Error('a pool is expected');
  expect(poolsText([withSetting(pool, 'fleet.gpu', 'a10g')])).toBe('cost.kind=roofline,fleet.gpu=a10g');
  expect(settingOf(withSetting(pool, 'fleet.gpu', ''), 'fleet.gpu')).toBe('');
});

it('takes no pool from an empty text and keeps what is typed', () => {
  expect(parsePools('')).toEqual([]);
  expect(parsePools('| fleet.gpu')).toEqual([{ name: '', settings: [['fleet.gpu', '']] }]);
});
