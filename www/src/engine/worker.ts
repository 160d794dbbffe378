// The simulation's thread: the modules, and the messages between them and the page.
import engineAddress from '../../pkg/engine_bg.wasm?url';
import init, { Simulator } from '../../pkg/servescope.js';
import { OperatorTables } from './operator-tables.js';
import type { FromWorker, ToWorker } from './protocol.js';
import { Serving } from './serving.js';
import { messageOf } from './types.js';

function post(message: FromWorker, transfer: Transferable[] = []): void {
  self.postMessage(message, { transfer });
}

/** Of the module with every scheduler, the only one that knows timed operators. */
let takeTable: (file: string, text: string) => void = () => undefined;

/** In a module of its own: what most scenarios need is there from the start. */
async function fetchWhole(): Promise<Simulator> {
  const { default: start, Simulator: Whole, take_table } = await import('../../pkg/engine.js');
  await start({ module_or_path: new URL(engineAddress, import.meta.url) });
  takeTable = take_table;
  return new Whole();
}

const tables = new OperatorTables({ take: (file, text) => { takeTable(file, text); }, fetch: fetch.bind(self), caches: self.caches });
const serving = new Serving(post, fetchWhole, tables);

self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  if (data.kind === 'start') {
    tables.beside(data.page);
    init({ module_or_path: data.module }).then(
      () => { serving.start(new Simulator()); },
      (thrown: unknown) => { post({ kind: 'died', message: messageOf(thrown) }); },
    );
  } else serving.receive(data);
};
