// Where each request of the picture stands: a bar as long as its tokens, on its way, held by the gateway, in the queue or in its seat.
// The length of a token is the same in all of them.
import type { Moment, Place } from '../simulation/types.js';

const PHASES = ['prefill', 'decode', 'stalled'] as const;
export const PAD = 10;
/** Height of a line of words below a column. */
export const LABEL = 16;
const LARGEST_PITCH = 18;
const SMALLEST_PITCH = 3;
/** From a row of this height on, bars have a gap of two pixels. */
const ROOMY_PITCH = 8;
/** Between the batches of two replicas. */
const BETWEEN = 8;
/** Replicas beside each other in a pool; those beyond are only counted. */
const MOST_REPLICAS = 8;
/** Multiples of it fill a circle evenly (golden ratio). */
const GOLDEN = 0.618_034;
/** The shortest bar. */
const LEAST_BAR = 2;
/** Part of a column that a long request fills. */
const FILLED = 0.85;

export interface Box { left: number; top: number; width: number; height: number }

/** A request: its bar from `left` on, and of it the part for the output that it has. `edge`: where the bar is cut off at the latest. */
export interface Mark extends Omit<Box, 'width'> { id: number; user: number; adapter: number | null; place: Place['kind']; role: string; prompt: number; output: number; prompt_tokens: number; output_tokens: number; edge: number }

/** A seat that is there, whether a request has it or not. */
export type Seat = Box;

export interface Layout {
  marks: Mark[];
  seats: Seat[];
  columns: { traffic: Box; gateway: Box; queue: Box; batches: Box[]; gpus: Box[] };
  /** Requests for which there was no room, below their places. */
  more: { left: number; top: number; count: number }[];
}

/** The boxes of the columns, with room around each. */
export function columnsOf({ width, height }: { width: number; height: number }, shares: readonly number[]): Box[] {
  const sum = shares.reduce((one, other) => one + other, 0);
  let left = 0;
  return shares.map((share): Box => {
    const column = (share / sum) * width;
    const box = { left: left + PAD, top: PAD, width: column - 2 * PAD, height: height - 2 * PAD };
    left += column;
    return box;
  });
}

/** One of this many rows of a box. */
function rowOf({ left, top, width, height }: Box, place: number, rows: number): Box {
  const each = (height + 2 * PAD) / rows;
  return { left, top: top + place * each, width, height: each - 2 * PAD };
}

/** Height of a row, of which `count` fit into a height if any do. */
export function pitchOf(count: number, height: number): number {
  return Math.min(LARGEST_PITCH, Math.max(SMALLEST_PITCH, height / Math.max(1, count)));
}

/** `span`: seconds of arrivals on their way, over the width of their column. */
export function layoutOf(size: { width: number; height: number }, moment: Moment, { shares, span }: { shares: readonly number[]; span: number }): Layout {
  const [traffic, gateway, queue, batch, gpu] = columnsOf(size, shares) as [Box, Box, Box, Box, Box];
  const pools = moment.places.flatMap(({ pool }) => pool ?? []);
  const batches = pools.map((_, place) => rowOf(batch, place, pools.length));
  const columns = { traffic, gateway, queue, batches, gpus: pools.map((_, place) => rowOf(gpu, place, pools.length)) };
  const layout: Layout = { marks: [], seats: [], columns, more: [] };
  const beside = Math.max(1, ...pools.map(({ replicas }) => Math.min(replicas, MOST_REPLICAS)));
  const widest = Math.min(queue.width, (batch.width - (beside - 1) * BETWEEN) / beside);
  const token = (FILLED * widest) / Math.max(1, moment.long_tokens);
  const rows = Math.max(1, ...pools.map(({ seats }) => seats));
  const pitch = pitchOf(rows, Math.min(...batches.map(({ height }) => height)) - LABEL);
  let row = 0;
  for (const place of moment.places) {
    switch (place.kind) {
      case 'coming': onTheirWay(layout, place, { token, pitch, span }); break;
      case 'gateway': inRows(layout, { ...gateway, width: Math.max(0, gateway.width - 8) }, place, { token, pitch }); break;
      case 'queue': inRows(layout, queue, place, { token, pitch }); break;
      case 'pool':
        inSeats(layout, batches[row] ?? batch, place, { token, pitch });
        row += 1;
    }
  }
  return layout;
}

/** The request under a pointer, of several the one drawn last. */
export function markAt(marks: readonly Mark[], x: number, y: number, reach = 3): Mark | null {
  const hit = ({ left, top, height, prompt, output }: Mark): boolean => x >= left - reach && x <= left + prompt + output + reach && y >= top - 1 && y <= top + height + 1;
  return [...marks].reverse().find(hit) ?? null;
}

function markOf(place: Place, index: number, role: string, token: number, at: { left: number; top: number; height: number; edge: number }): Mark {
  const [prompt_tokens, output_tokens] = [place.prompt_tokens[index] ?? 0, place.output_tokens[index] ?? 0];
  const room = Math.max(LEAST_BAR, at.edge - at.left);
  const prompt = Math.min(room, Math.max(LEAST_BAR, prompt_tokens * token));
  return {
    ...at, id: place.ids[index] ?? 0, user: place.users[index] ?? 0, adapter: place.adapters[index] ?? null, place: place.kind, role, prompt,
    output: Math.min(room - prompt, output_tokens * token), prompt_tokens, output_tokens,
  };
}

function barHeight(pitch: number): number {
  return Math.max(2, pitch - (pitch >= ROOMY_PITCH ? 2 : 1));
}

/** The front of a bar is as far from the gateway as its request from its arrival; bars that would lie on each other go beside each other. */
function onTheirWay(layout: Layout, place: Place, { token, pitch, span }: { token: number; pitch: number; span: number }): void {
  const { traffic: box } = layout.columns;
  const lanes = Math.max(1, Math.floor(box.height / pitch));
  const height = barHeight(pitch);
  const tails = new Array<number>(lanes).fill(Infinity);
  place.coming_s.forEach((seconds, index) => {
    const front = box.left + box.width - (seconds / span) * box.width;
    const length = Math.max(LEAST_BAR, (place.prompt_tokens[index] ?? 0) * token);
    // By its number, so that it keeps its lane while others come and go, and those that follow each other lie far apart.
    const wanted = Math.floor((((place.ids[index] ?? 0) * GOLDEN) % 1) * lanes);
    const free = Array.from({ length: lanes }, (_, lane) => (wanted + lane) % lanes).find((lane) => (tails[lane] ?? 0) > front + 2) ?? wanted;
    tails[free] = front - length;
    const left = Math.max(box.left, front - length);
    if (front <= box.left) return;
    layout.marks.push({ ...markOf(place, index, 'arrivals', token, { left, top: box.top + free * pitch, height, edge: front }), prompt: front - left });
  });
}

/** One below the other, the head of the queue above. */
function inRows(layout: Layout, box: Box, place: Place, { token, pitch: wanted }: { token: number; pitch: number }): void {
  const height = box.height - LABEL;
  const pitch = Math.min(wanted, pitchOf(place.ids.length, height));
  const rows = Math.max(1, Math.floor((height + 0.5) / pitch));
  const shown = Math.min(rows, place.ids.length);
  for (let index = 0; index < shown; index += 1) {
    layout.marks.push(markOf(place, index, 'waiting', token, { left: box.left, top: box.top + index * pitch, height: barHeight(pitch), edge: box.left + box.width }));
  }
  if (place.requests > shown) layout.more.push({ left: box.left, top: box.top + box.height, count: place.requests - shown });
}

/** Each replica's batch beside the others', a row for each seat that it ever needs. */
function inSeats(layout: Layout, box: Box, place: Place, { token, pitch }: { token: number; pitch: number }): void {
  const { pool } = place;
  const replicas = Math.min(MOST_REPLICAS, Math.max(1, pool?.replicas ?? 1));
  const width = (box.width - (replicas - 1) * BETWEEN) / replicas;
  const rows = Math.min(Math.max(1, pool?.seats ?? 1), Math.max(1, Math.floor((box.height - LABEL + 0.5) / pitch)));
  const height = barHeight(pitch);
  const at = (replica: number, seat: number): Box => ({ left: box.left + replica * (width + BETWEEN), top: box.top + seat * pitch, width, height });
  if (pool !== null && pool.replicas > 0) for (let replica = 0; replica < replicas; replica += 1) for (let seat = 0; seat < rows; seat += 1) layout.seats.push(at(replica, seat));
  let shown = 0;
  place.ids.forEach((_, index) => {
    const [replica, seat] = [place.replicas[index] ?? 0, place.seats[index] ?? 0];
    if (replica >= replicas || seat >= rows) return;
    const { left, top } = at(replica, seat);
    layout.marks.push(markOf(place, index, PHASES[place.phases[index] ?? 1] ?? 'decode', token, { left, top, height, edge: left + width }));
    shown += 1;
  });
  if (place.requests > shown) layout.more.push({ left: box.left, top: box.top + box.height, count: place.requests - shown });
}
