// A small picture on the card of each lesson: its idea, in the colours that the charts and the picture of the run have for it.
import { nothing, svg, html, type SVGTemplateResult, type TemplateResult } from 'lit';

const WIDTH = 96;
const HEIGHT = 40;

function block(role: string, x: number, y: number, width: number, height: number): SVGTemplateResult {
  return svg`<rect data-role=${role} x=${x} y=${y} width=${width} height=${height} rx="1"/>`;
}

function blocks(role: string, height: number, ...places: readonly (readonly [x: number, y: number, width: number])[]): SVGTemplateResult[] {
  return places.map(([x, y, width]) => block(role, x, y, width, height));
}

function dots(role: string, y: number, ...places: readonly number[]): SVGTemplateResult[] {
  return places.map((x) => svg`<circle data-role=${role} cx=${x} cy=${y} r="3"/>`);
}

const line = (points: string): SVGTemplateResult => svg`<polyline class="line" points=${points}/>`;
const frame = (x: number, y: number, width: number, height: number): SVGTemplateResult => svg`<rect class="line" x=${x} y=${y} width=${width} height=${height} rx="2"/>`;

const PICTURES: Readonly<Record<string, () => readonly (SVGTemplateResult | readonly SVGTemplateResult[])[]>> = {
  // Even arrivals above, as many in bursts below.
  burstiness: () => [dots('arrivals', 11, 6, 20, 34, 48, 62, 76, 90), dots('waiting', 29, 6, 13, 20, 58, 65, 72, 79)],
  // A few adapters have most of the requests.
  skew: () => [34, 20, 13, 9, 6, 5, 4].map((height, index) => block('adapters', 4 + 13 * index, 38 - height, 9, height)),
  // A long prompt, and short ones behind it.
  long_prompt: () => [block('prefill', 30, 14, 64, 12), blocks('queue', 12, [20, 14, 6], [11, 14, 6], [2, 14, 6])],
  // A long prompt in chunks, with other requests' tokens between them.
  prefill: () => [blocks('prefill', 14, [2, 12, 19], [29, 12, 19], [56, 12, 19]), blocks('decode', 14, [22, 12, 5], [49, 12, 5], [76, 12, 5], [83, 12, 5], [90, 12, 5])],
  // Seats of a batch: in the upper rows the next request begins where one ends, in the lower ones it waits for the longest.
  batching: () => [blocks('decode', 5, [2, 3, 26], [30, 3, 40], [72, 3, 22], [2, 11, 48], [52, 11, 30], [2, 25, 20], [2, 33, 54], [58, 25, 36], [58, 33, 14])],
  // A seat above decodes through, the one below stands still while prompts are computed.
  prefill_first: () => [block('decode', 2, 4, 92, 9), blocks('decode', 9, [2, 26, 28], [66, 26, 28]), blocks('stalled', 9, [30, 26, 36]), blocks('prefill', 5, [30, 18, 11], [42, 18, 11], [54, 18, 12])],
  // Rows of ranks that end together, with the slowest.
  ranks: () => [blocks('decode', 6, [2, 3, 18], [2, 23, 14], [2, 33, 20]), blocks('stalled', 6, [20, 3, 62], [16, 23, 66], [22, 33, 60]), block('prefill', 2, 13, 80, 6), line('86,1 86,39')],
  // Prompts in one pool, answers in the other, KV blocks on the way.
  pools: () => [frame(2, 4, 36, 32), blocks('prefill', 7, [6, 9, 28], [6, 22, 20]), line('39,20 57,20'), block('kv', 45, 17, 6, 6), frame(58, 4, 36, 32), blocks('decode', 6, [62, 8, 28], [62, 17, 22], [62, 26, 26])],
  // A burst, and a replica that starts below it and is ready when it is over.
  late_replica: () => [svg`<polyline class="curve" data-role="queue" points="2,17 20,17 26,4 44,4 50,17 94,17"/>`, block('stalled', 30, 26, 34, 9), block('decode', 64, 26, 30, 9)],
  // A load that rises and falls, and a number of replicas that swings further, and later.
  swings: () => [svg`<polyline class="curve" data-role="queue" points="2,20 14,14 26,20 38,26 50,20 62,14 74,20 86,26 94,22"/>`, line('2,36 20,36 20,4 34,4 34,36 54,36 54,4 70,4 70,36 94,36')],
  // Tokens that are guessed: some right, the others thrown away.
  drafts: () => [blocks('decode', 12, [2, 4, 13], [18, 4, 13], [34, 4, 13]), [50, 66, 82].map((x) => frame(x, 4, 12, 12)), blocks('decode', 12, [2, 24, 13]), [18, 34, 50, 66, 82].map((x) => frame(x, 24, 12, 12))],
  // A full tank, and a request that found no room.
  memory: () => [block('kv', 30, 8, 40, 30), frame(30, 3, 40, 35), block('queue', 8, 16, 12, 12), line('22,22 28,22')],
  // Turns that grow, with pauses between them, above a tier that keeps their blocks.
  agents: () => [block('prefill', 2, 12, 12, 8), block('prefill', 30, 10, 20, 10), block('prefill', 66, 8, 28, 12), frame(2, 26, 92, 12), blocks('kv', 8, [5, 28, 12], [20, 28, 20], [43, 28, 28]), line('14,20 14,26'), line('50,20 50,26')],
  // Slots, all taken, and an adapter that waits for one.
  adapters: () => [[36, 52, 68, 84].map((x) => frame(x, 12, 11, 16)), blocks('adapters', 12, [38, 14, 7], [54, 14, 7], [70, 14, 7], [86, 14, 7]), block('queue', 8, 14, 7, 12), line('20,20 30,20')],
  // One user with many requests, one with few, served in turn.
  fairness: () => [blocks('client_0', 12, [2, 5, 8], [12, 5, 8], [22, 5, 8], [32, 5, 8], [42, 5, 8]), blocks('client_1', 12, [32, 23, 8], [42, 23, 8]), line('54,20 60,20'), blocks('client_0', 12, [64, 14, 7], [80, 14, 7]), blocks('client_1', 12, [72, 14, 7], [88, 14, 7])],
  // Attempts grow beyond what is served.
  overload: () => [svg`<polygon data-role="refused" points="2,38 30,32 52,22 70,8 94,4 94,38"/>`, svg`<polygon data-role="served" points="2,38 30,32 94,28 94,38"/>`],
  // Waiting against utilisation.
  waiting: () => [line('4,3 4,36 94,36'), svg`<polyline class="curve" data-role="queue" points="4,34 30,32 50,28 64,22 74,14 80,4"/>`, svg`<line class="bound" x1="86" y1="3" x2="86" y2="36"/>`],
  // Predicted beside measured, near the line where they are equal.
  trust: () => [line('6,37 90,3'), dots('decode', 30, 18), dots('decode', 30, 30), dots('decode', 22, 36), dots('decode', 20, 54), dots('decode', 10, 66), dots('decode', 11, 80)],
};

export const PICTURED: readonly string[] = Object.keys(PICTURES);

export function lessonIcon(id: string): TemplateResult | typeof nothing {
  const picture = PICTURES[id];
  return picture === undefined ? nothing : html`<svg class="lesson-icon" viewBox="0 0 ${WIDTH} ${HEIGHT}" width=${WIDTH} height=${HEIGHT} aria-hidden="true">${picture()}</svg>`;
}
