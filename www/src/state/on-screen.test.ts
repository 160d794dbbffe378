// When the page says that it is ready: with the page's own client, over a worker that is made up.
import { beforeEach, expect, it } from 'vitest';
import { Client, type Listener, type Wish } from '../simulation/client.js';
import type { FromWorker, ToWorker } from '../simulation/protocol.js';
import type { Summary } from '../simulation/types.js';
import type { Values } from '../simulation/values.js';
import type { WorkerPort } from '../simulation/worker-link.js';
import { OnScreen } from './on-screen.js';

interface Setting { values: Values }

const OPTIONS = { columns: 600, window: null, split_by: 'adapter', in_sight: null } as const;
const wish = (rate: number): Wish<Setting> => ({
  setting: { values: { rate } },
  values: { rate }, options: OPTIONS,
});

let port: WorkerPort & { sent: ToWorker[] };
let client: Client<Setting>;
let onScreen: OnScreen;
let reported: string[];

/** The whole answer of the run that was asked for last. */
function answer(digest: string): void {
  const revision = port.sent.filter(({ kind }) => kind === 'run').length;
  const data: FromWorker = { kind: 'answer', revision, preview: false, summary: { digest, requests: { offered: 1 } } as Summary, traffic_end_s: 0, charts: [], more: false, options: OPTIONS, compute_ms: 1 };
  port.onmessage?.({ data } as MessageEvent);
}

beforeEach(() => {
  reported = [];
  const sent: ToWorker[] = [];
  port = { sent, onmessage: null, onerror: null, terminate: () => undefined, postMessage: (message) => { sent.push(message as ToWorker); } };
  const listener: Listener<Setting> = {
    answer: ({ summary, preview, more }, _setting, last) => { onScreen.draws(preview || !last || more ? null : summary.digest); },
    others: () => undefined, progress: () => undefined, failed: () => undefined, cancelled: () => undefined, restarted: () => undefined,
  };
  client = new Client(() => port, listener);
  onScreen = new OnScreen({ isBusy: () => client.busy, shown: (digest) => { reported.push(digest); }, ready: () => { reported.push('ready'); } });
});

it('is ready when the charts of the answer are drawn, and not before', () => {
  client.run(wish(1));
  onScreen.drawn();
  answer('a');
  expect(reported).toEqual([]);
  onScreen.drawn();
  expect(reported).toEqual(['a', 'ready']);
  onScreen.drawn();
  expect(reported).toEqual(['a', 'ready']);
});

it('a change between an answer and its frame leaves the page running until its own answer', () => {
  client.run(wish(1));
  answer('a');
  client.run(wish(2));
  onScreen.drawn();
  expect(reported).toEqual(['a']);
  answer('b');
  expect(reported).toEqual(['a']);
  onScreen.drawn();
  expect(reported).toEqual(['a', 'b', 'ready']);
});

it('an answer that a newer wish has overtaken is drawn without a word', () => {
  client.run(wish(1));
  client.run(wish(2));
  answer('a');
  onScreen.drawn();
  expect(reported).toEqual([]);
  answer('b');
  onScreen.drawn();
  expect(reported).toEqual(['b', 'ready']);
});
