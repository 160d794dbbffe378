// The grid's text goes back and forth.
import { describe, expect, it } from 'vitest';
import { gridText, parseGrid } from './grid.js';

describe('a grid', () => {
  it('is read as it is written', () => {
    const axes = [{ id: 'fleet.replicas', values: '1,2,4' }, { id: 'scheduler.kind', values: 'vllm,sarathi' }];
    expect(parseGrid(gridText(axes))).toEqual(axes);
    expect(gridText(parseGrid('a = 1,2 | b=3'))).toBe('a=1,2|b=3');
  });

  it('may be empty', () => {
    expect(parseGrid('')).toEqual([]);
    expect(gridText([])).toBe('');
  });
});
