// The simulation's thread: the module, and the messages between it and the page.
import { Simulator } from '../../pkg/servescope.js';
import type { FromWorker, ToWorker } from './protocol.js';
import { Serving } from './serving.js';
import { begin, tables } from './simulating.js';
import { messageOf } from './types.js';

function post(message: FromWorker, transfer: Transferable[] = []): void {
  self.postMessage(message, { transfer });
}

const serving = new Serving(post, tables);

self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  if (data.kind === 'expect') {
    tables.beside(data.page);
    tables.expect(data.table);
  } else if (data.kind === 'start') {
    begin(data).then(
      () => { serving.start(new Simulator()); },
      (thrown: unknown) => { post({ kind: 'died', message: messageOf(thrown) }); },
    );
  } else serving.receive(data);
};
