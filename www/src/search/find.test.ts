import { describe, expect, it } from 'vitest';
import { find, type Entry } from './find.js';

const entry = (kind: Entry['kind'], id: string, label: string, about = '', also = ''): Entry => ({ kind, id, label, about, also });

const ENTRIES = [
  entry('parameter', 'fleet.gpu', 'GPU', 'Which GPU a replica has.', 'NVIDIA H100 SXM5, NVIDIA A10G'),
  entry('parameter', 'scheduler.swap_gb', 'Swap space', 'Host memory for preempted requests.'),
  entry('chart', 'preemptions', 'Preemptions', 'Requests preempted for lack of KV blocks.'),
  entry('term', 'Preemption', '抢占', '调度器将请求移出批次。', 'Preemption'),
];
const ids = (query: string): string[] => find(ENTRIES, query).map(({ id }) => id);

describe('a query', () => {
  it('finds labels before paths, names of options and help', () => {
    expect(ids('preempt')).toEqual(['preemptions', 'Preemption', 'scheduler.swap_gb']);
    expect(ids('gpu')).toEqual(['fleet.gpu']);
    expect(ids('h100')).toEqual(['fleet.gpu']);
  });

  it('wants every one of its words, wherever they stand', () => {
    expect(ids('space host')).toEqual(['scheduler.swap_gb']);
    expect(ids('space gpu')).toEqual([]);
    expect(ids('抢占')).toEqual(['Preemption']);
    expect(ids('  ')).toEqual([]);
  });
});
