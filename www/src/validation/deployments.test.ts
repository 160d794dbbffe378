// Which measured rows are shown, and what is counted of them.
import { describe, expect, it } from 'vitest';
import { answeredOf, errorTable, FIRST, halfOf, passes, reasonsOf, rowsOf, scatter, type CountErrors, type Deployment, type File } from './deployments.js';

const DEPLOYMENT: Deployment = {
  model: 'a', gpu: 'g', backend: 'vllm', version: '1', mode: 'aggregated', format: '', input_tokens: 8, output_tokens: 8,
  tensor_parallel: 1, attention_data_parallel: 1, expert_tensor_parallel: 1, expert_parallel: 1, workers: null, is_left_out: true,
};
const FILE: File = {
  command: '', source: '', common: 'v=4&n=0',
  deployments: [DEPLOYMENT, { ...DEPLOYMENT, model: 'b', is_left_out: false }, { ...DEPLOYMENT, backend: 'trtllm' }],
  rows: {
    deployment: [0, 0, 1, 2, 1], in_flight: [1, 64, 64, 64, null], is_doubtful: [0, 0, 0, 0, 1],
    ttft_ms: [100, 200, 400, 400, 100], tpot_ms: [10, 10, 10, 10, 10],
    own_ttft_ms: [110, 220, null, 400, 100], own_tpot_ms: [10, 11, null, 10, 10],
    aiconfigurator_ttft_ms: [150, null, 400, null, null], aiconfigurator_tpot_ms: [10, null, 10, null, null],
    times: ['kernels', 'kernels', null, 'kernels', 'kernels'], reason: [null, null, 'workers', null, null], link: ['u=1', null, null, null, null],
  },
};
const ROWS = rowsOf(FILE);
/** Mean of the absolute errors stands for all. */
const count: CountErrors = (predicted, measured) => {
  if (predicted.length === 0) return null;
  const errors = [...predicted].map((value, place) => value / (measured[place] ?? NaN) - 1);
  const mean = errors.reduce((sum, error) => sum + Math.abs(error), 0) / errors.length;
  return { count: errors.length, mean, median: mean, bias: errors.reduce((sum, error) => sum + error, 0) / errors.length };
};
const ids = (filter: Partial<typeof FIRST>): number[] => ROWS.filter((row) => passes({ ...FIRST, ...filter }, row)).map(({ id }) => id);

describe('measured deployments', () => {
  it('are read with their links, in seconds', () => {
    expect(ROWS.map(({ link }) => link)).toEqual(['v=4&n=0&u=1', null, null, null, null]);
    expect(ROWS[0]?.measured).toEqual({ ttft: 0.1, tpot: 0.01 });
    expect(ROWS[2]?.own).toBeNull();
    expect(ROWS.map(halfOf)).toEqual(['left_out', 'left_out', 'calibrated', 'borrowed', 'calibrated']);
  });

  it('pass a filter by model, engine, requests in flight, and without doubtful ones', () => {
    expect(ids({})).toEqual([0, 1, 2]);
    expect(ids({ backend: '' })).toEqual([0, 1, 2, 3]);
    expect(ids({ doubtful: true })).toEqual([0, 1, 2, 4]);
    expect(ids({ model: 'b' })).toEqual([2]);
    expect(ids({ in_flight: '0' })).toEqual([0]);
    expect(ids({ in_flight: '2', doubtful: true })).toEqual([1, 2]);
  });

  it('are counted by what they have in common, each answer over the rows that it answers', () => {
    const passed = ROWS.filter((row) => passes(FIRST, row));
    const [all, half, model] = errorTable(passed, FIRST, count);
    expect(all?.lines[0]?.rows).toBe(3);
    expect(all?.lines[0]?.own.ttft?.count).toBe(2);
    expect(all?.lines[0]?.own.ttft?.mean).toBeCloseTo(0.1);
    expect(all?.lines[0]?.aiconfigurator.ttft?.count).toBe(2);
    expect(half?.lines.map(({ value, rows }) => [value, rows])).toEqual([['left_out', 2], ['calibrated', 1]]);
    expect(model?.by).toBe('model');
    const [both] = errorTable(passed, { both: true }, count);
    expect([both?.lines[0]?.own.ttft?.count, both?.lines[0]?.aiconfigurator.ttft?.count]).toEqual([1, 1]);
    expect(reasonsOf(passed)).toEqual([{ reason: 'workers', rows: 1 }]);
  });

  it('are drawn on equal axes, by half, with the picked one crossed', () => {
    const answered = answeredOf(ROWS.filter((row) => passes({ ...FIRST, backend: '' }, row)));
    const chart = scatter('ttft', answered, answered[0] ?? null);
    expect(chart.x).toEqual(chart.y);
    expect(chart.series.map(({ role, mark }) => `${role} ${mark}`)).toEqual(['expected line', 'kv points', 'ttft points', 'whole rule_x', 'whole rule_y']);
    expect(scatter('ttft', [], null).empty).toBe('empty');
  });
});
