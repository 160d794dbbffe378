// A measured run over its simulation in a thread of the pool.
import { Overlayer } from '../../pkg/servescope.js';
import type { Task } from './pool-calls.js';
import type { Work } from './work.js';
import { buffersOf } from '../simulation/protocol.js';

export function overlayWork({ measured, scenario, fit }: Extract<Task, { kind: 'overlay' }>): Work {
  const overlayer = new Overlayer();
  return {
    begin: () => { overlayer.begin(measured, scenario, [...fit]); },
    advance: () => overlayer.advance(),
    finish: () => {
      try {
        const value = overlayer.finish();
        return { value, transfer: buffersOf(value.charts) };
      } finally {
        overlayer.free();
      }
    },
  };
}
