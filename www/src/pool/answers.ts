// What a thread answers between two slices of its task.
import { capacity_grid, capacity_standings, compare_seeds, comparison } from '../../pkg/servescope.js';
import { buffersOf } from '../simulation/protocol.js';
import type { Question } from './pool-calls.js';
import type { Finished } from './work.js';

export function answerOf(question: Question): Finished {
  switch (question.kind) {
    case 'grid': return { value: capacity_grid(question.scenario), transfer: [] };
    case 'seeds': return { value: [...compare_seeds(question.a, question.count)], transfer: [] };
    case 'comparison': return { value: comparison(Float64Array.from(question.seeds), question.a, question.b), transfer: [] };
    case 'standings': {
      const value = capacity_standings(question.entries);
      return { value, transfer: buffersOf(value.charts) };
    }
  }
}
