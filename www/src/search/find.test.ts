import { describe, expect, it } from 'vitest';
import { find, type Entry } from './find.js';

const entry = (kind: Entry['kind'], id: string, label: string, about = '', also = ''): Entry => ({ kind, id, label, about, also });

const ENTRIES = [
  entry('parameter', 'fleet.gpu', 'GPU', 'Which GPU a replica has.', 'NVIDIA H100 SXM5, NVIDIA A10G'),
  entry('parameter', 'scheduler.swap_gb', 'Swap space', 'Host memory for preempted requests.'),
  entry('chart', 'preemptions', 'Preemptions', 'Requests preempted for lack of KV blocks.'),
  entry('term', 'Preemption', '抢占', '调度器将请求移出批次。', 'Preemption'),
  entry('parameter', 'fleet.routers.seed', 'Routers’ seed', 'For which random router it is.'),
  entry('docs', 'routers', 'All routers, which is a page', '', 'what if routers are used'),
  { ...entry('preset', 'will_router', 'Will a router that knows help?', '', 'router, 路由器, load balancer'), names: ['router', '路由器', 'load balancer'] },
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

  it('that is one of an entry’s names finds it before labels that only begin so', () => {
    expect(ids('router')).toEqual(['will_router', 'fleet.routers.seed', 'routers']);
    expect(ids('Load-Balancer')).toEqual(['will_router']);
  });

  it('that is a question is looked for by what it is about', () => {
    expect(ids('which load balancer is the best for me?')).toEqual(['will_router']);
    expect(ids('哪个 路由器 值得 吗？')).toEqual(['will_router']);
    expect(ids('should i swap')).toEqual(['scheduler.swap_gb']);
    // As typed it is better still.
    expect(ids('what if routers')[0]).toBe('routers');
    // Without anything else its words are what is looked for.
    expect(ids('which')).toEqual(['routers', 'fleet.gpu', 'fleet.routers.seed']);
  });
});
