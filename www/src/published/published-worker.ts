// The thread that draws our curves anew: the authors' workloads, simulated sweep by sweep.
import init, { published_figures } from '../../pkg/engine.js';
import address from '../../pkg/engine_bg.wasm?url';
import { startedOnce } from '../engine/fetched.js';
import { buffersOf } from '../engine/protocol.js';
import { failuresOf } from '../engine/types.js';
import type { FromPublished, ToPublished } from './published-calls.js';

const ready = startedOnce(() => init({ module_or_path: new URL(address, import.meta.url) }));

function post(message: FromPublished, transfer: Transferable[] = []): void {
  self.postMessage(message, { transfer });
}

async function answer({ ticket, suite, sweep }: ToPublished): Promise<void> {
  await ready();
  const value = published_figures(suite, sweep);
  post({ kind: 'figures', ticket, suite, sweep, value }, buffersOf(value.charts));
}

self.onmessage = ({ data }: MessageEvent<ToPublished>) => {
  answer(data).catch((thrown: unknown) => { post({ kind: 'failed', ticket: data.ticket, failures: failuresOf(thrown) }); });
};
