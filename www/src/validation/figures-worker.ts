// The thread that draws our curves anew: the authors' workloads, simulated sweep by sweep.
import { published_figures } from '../../pkg/servescope.js';
import { buffersOf } from '../simulation/protocol.js';
import { begin } from '../simulation/simulating.js';
import { errorsOf } from '../simulation/types.js';
import type { FromPublished, Sweeping, ToPublished } from './figures-calls.js';

let ready = Promise.resolve();

function post(message: FromPublished, transfer: Transferable[] = []): void {
  self.postMessage(message, { transfer });
}

async function answer({ ticket, suite, sweep }: Sweeping): Promise<void> {
  await ready;
  const value = published_figures(suite, sweep);
  post({ kind: 'reply', ticket, value }, buffersOf(value.charts));
}

self.onmessage = ({ data }: MessageEvent<ToPublished>) => {
  if (data.kind === 'start') {
    ready = begin(data);
    return;
  }
  answer(data).catch((thrown: unknown) => { post({ kind: 'refused', ticket: data.ticket, errors: errorsOf(thrown) }); });
};
