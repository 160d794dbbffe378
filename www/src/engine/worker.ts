// The simulation's thread: the modules, and the messages between them and the page.
import engineAddress from '../../pkg/engine_bg.wasm?url';
import init, { Simulator } from '../../pkg/servescope.js';
import type { FromWorker, ToWorker } from './protocol.js';
import { Serving } from './serving.js';
import { messageOf } from './types.js';

function post(message: FromWorker, transfer: Transferable[] = []): void {
  self.postMessage(message, { transfer });
}

/** In a module of its own: what most scenarios need is there from the start. */
async function fetchWhole(): Promise<Simulator> {
  const { default: start, Simulator: Whole } = await import('../../pkg/engine.js');
  await start({ module_or_path: new URL(engineAddress, import.meta.url) });
  return new Whole();
}

const serving = new Serving(post, fetchWhole);

self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  if (data.kind === 'start') {
    init({ module_or_path: data.module }).then(
      () => { serving.start(new Simulator()); },
      (thrown: unknown) => { post({ kind: 'died', message: messageOf(thrown) }); },
    );
  } else serving.receive(data);
};
