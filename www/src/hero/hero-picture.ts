// Draws the picture: a list of places beside each other, the pools of the fleet below each other, every mark one request or one quantity of
// the run.
import { clientRole } from '../ui/client-role.js';
import type { Moment, Place, PoolMoment } from '../simulation/types.js';
import { cut } from './signs.js';

const PHASES = ['prefill', 'decode', 'stalled'] as const;
const GAP = 2;
const LARGEST_CELL = 11;
const SMALLEST_CELL = 3;
/** Smaller cells have no room for a second sign. */
const LEAST_SIGNED = 6;
const PAD = 10;
const LABEL = 14;
/** Between what is written below a memory and below an iteration. */
const LABEL_GAP = 4;

/** What is written below the memory of a pool, the longest first, and below its iteration; how many requests there is no room for. */
export interface Words { kv: (pool: PoolMoment, place: number) => readonly string[]; iteration: (pool: PoolMoment) => string; more: (count: number) => string }

export interface Picture {
  moment: Moment;
  /** Shares of the width: on their way, gateway, queue, batches, GPUs; the columns of numbers below have the same. */
  shares: readonly number[];
  /** Seconds of arrivals on their way. */
  span: number;
  /** Colours by role, and those of ink and paper. */
  colours: Readonly<Record<string, string>>;
  words: Words;
  /** Whether users are distinguished. */
  byUser: boolean;
  /** The request that is marked. */
  marked: number | null;
}

export interface Box { left: number; top: number; width: number; height: number }

/** The role of a user's colour; all beyond the first seven have one. */
export function roleOf(user: number): string {
  return clientRole(user) ?? 'slo';
}

/** Side of square cells, gaps left out, with which `count` of them fill at most a box; 0 where they do not fit. */
export function cellOf(count: number, { width, height }: Pick<Box, 'width' | 'height'>): number {
  for (let cell = LARGEST_CELL; cell >= SMALLEST_CELL; cell -= 1) {
    const columns = Math.floor((width + GAP) / (cell + GAP));
    const rows = Math.floor((height + GAP) / (cell + GAP));
    if (columns * rows >= count) return cell;
  }
  return 0;
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

export function drawPicture(to: CanvasRenderingContext2D, size: { width: number; height: number }, picture: Picture): void {
  to.clearRect(0, 0, size.width, size.height);
  const [traffic, gateway, queue, batch, gpu] = columnsOf(size, picture.shares) as [Box, Box, Box, Box, Box];
  to.font = '11px system-ui, sans-serif';
  to.textBaseline = 'bottom';
  const { places } = picture.moment;
  const rows = places.filter(({ kind }) => kind === 'pool').length;
  let row = 0;
  for (const place of places) {
    switch (place.kind) {
      case 'coming': drawTraffic(to, traffic, place, picture); break;
      case 'gateway': drawGateway(to, gateway, place, picture); break;
      case 'queue': cells(to, queue, place, 'waiting', picture); break;
      case 'pool':
        drawBatch(to, rowOf(batch, row, rows), place, picture);
        if (place.pool !== null) drawGpu(to, rowOf(gpu, row, rows), place.pool, row, picture);
        row += 1;
    }
  }
  for (const box of [traffic, gateway]) arrow(to, box, picture);
  for (let place = 0; place < rows; place += 1) {
    arrow(to, rowOf(queue, place, rows), picture);
    arrow(to, rowOf(batch, place, rows), picture);
  }
}

/** Requests on their way, as far from the gateway as they are from their arrival. */
function drawTraffic(to: CanvasRenderingContext2D, box: Box, { coming_s, users, ids }: Place, { span, colours, byUser, marked }: Picture): void {
  const middle = box.top + box.height / 2;
  const end = box.left + box.width;
  stroke(to, colours['grid'] ?? '', [[box.left, middle], [end, middle]]);
  const radius = 3.5;
  let [before, level] = [Infinity, 0];
  coming_s.forEach((seconds, index) => {
    const x = end - (seconds / span) * box.width;
    // Those of a burst stand above each other.
    level = before - x < 2 * radius ? level + 1 : 0;
    before = level === 0 ? x : before;
    const up = Math.ceil(level / 2) * (level % 2 === 1 ? -1 : 1);
    const role = byUser ? roleOf(users[index] ?? 0) : 'arrivals';
    to.fillStyle = colours[role] ?? '';
    to.beginPath();
    to.arc(x, middle + up * 2 * radius, radius, 0, 2 * Math.PI);
    to.fill();
    cut(to, role, x - radius, middle + up * 2 * radius - radius, 2 * radius, colours['paper'] ?? '');
    if (marked !== null && ids[index] === marked) ring(to, { left: x - radius, top: middle + up * 2 * radius - radius, width: 2 * radius, height: 2 * radius }, colours);
  });
}

/** A gate, before it the requests that it holds. */
function drawGateway(to: CanvasRenderingContext2D, box: Box, place: Place, picture: Picture): void {
  const { colours } = picture;
  const gate = box.left + box.width;
  const middle = box.top + box.height / 2;
  const open = place.requests > 0 ? 0 : 9;
  to.lineWidth = 2;
  stroke(to, colours['muted'] ?? '', [[gate, box.top], [gate, middle - open]]);
  stroke(to, colours['muted'] ?? '', [[gate, middle + open], [gate, box.top + box.height]]);
  to.lineWidth = 1;
  cells(to, { ...box, width: Math.max(0, box.width - 6) }, place, 'waiting', picture);
}

function drawBatch(to: CanvasRenderingContext2D, box: Box, place: Place, picture: Picture): void {
  frame(to, { left: box.left - 5, top: box.top - 5, width: box.width + 10, height: box.height + 10 }, picture.colours['muted'] ?? '');
  cells(to, box, place, 'decode', picture);
}

/** Cells from the right, where the head of a queue stands, each of its phase's colour, or of `role` where it has none, with its user's in
 * a corner. Below them stands how many more there are. */
function cells(to: CanvasRenderingContext2D, box: Box, { requests: all, ids, users, phases }: Place, role: string, { colours, words, marked, byUser }: Picture): void {
  const roles = ids.map((_, index) => PHASES[phases[index] ?? -1] ?? role);
  const hasMore = all > roles.length || cellOf(roles.length, box) === 0;
  const height = box.height - (hasMore ? LABEL : 0);
  const size = cellOf(roles.length, { width: box.width, height }) || SMALLEST_CELL;
  const rows = Math.max(1, Math.floor((height + GAP) / (size + GAP)));
  const columns = Math.max(1, Math.floor((box.width + GAP) / (size + GAP)));
  const shown = Math.min(roles.length, rows * columns);
  for (let index = 0; index < shown; index += 1) {
    const x = box.left + box.width - size - Math.floor(index / rows) * (size + GAP);
    const y = box.top + (index % rows) * (size + GAP);
    to.fillStyle = colours[roles[index] ?? ''] ?? '';
    to.fillRect(x, y, size, size);
    if (size >= LEAST_SIGNED) cut(to, roles[index] ?? '', x, y, size, colours['paper'] ?? '');
    if (marked !== null && ids[index] === marked) ring(to, { left: x, top: y, width: size, height: size }, colours);
    if (!byUser || size < LEAST_SIGNED) continue;
    to.fillStyle = colours['paper'] ?? '';
    to.fillRect(x + size / 2 - 1, y + size / 2 - 1, size / 2 + 1, size / 2 + 1);
    const user = roleOf(users[index] ?? 0);
    to.fillStyle = colours[user] ?? '';
    to.fillRect(x + size / 2, y + size / 2, size / 2, size / 2);
    cut(to, user, x + size / 2, y + size / 2, size / 2, colours['paper'] ?? '');
  }
  if (all > shown) label(to, words.more(all - shown), box.left, box.top + box.height, colours);
}

/** Memory as a tank of KV cache below and adapters above; beside it what the iteration under way computes. */
function drawGpu(to: CanvasRenderingContext2D, box: Box, pool: PoolMoment, place: number, { colours, words }: Picture): void {
  const wide = box.width > 125;
  const tall = box.height - LABEL;
  const width = wide ? box.width * 0.45 : box.width;
  const tank = { left: box.left, top: box.top - 4, width, height: tall };
  const part = (tokens: number): number => (pool.memory_tokens > 0 ? Math.min(1, tokens / pool.memory_tokens) * tank.height : 0);
  const [kv, adapters] = [part(pool.kv_tokens), part(pool.adapter_tokens)];
  const base = tank.top + tank.height;
  fill(to, { ...tank, top: base - kv, height: kv }, colours['kv']);
  fill(to, { ...tank, top: Math.max(tank.top, base - kv - adapters), height: Math.min(adapters, tank.height - kv) }, colours['adapters']);
  frame(to, tank, colours['muted'] ?? '');
  const all = words.kv(pool, place);
  const room = wide ? box.width - width - LABEL_GAP : box.width;
  const memory = all.find((text) => to.measureText(text).width <= room) ?? all.at(-1) ?? '';
  // On a narrow phone the words are wider than the tank, at the edge of the picture.
  const over = wide ? 0 : Math.max(0, to.measureText(memory).width - box.width);
  label(to, memory, tank.left - over, box.top + box.height + 4, colours);
  if (!wide) return;
  const work = { ...tank, left: box.left + box.width - width };
  const tokens = pool.prompt_tokens + pool.decodes;
  if (tokens > 0) {
    const decode = (pool.decodes / tokens) * work.height;
    fill(to, { ...work, top: base - decode, height: decode }, colours['decode']);
    fill(to, { ...work, height: work.height - decode }, colours['prefill']);
  }
  frame(to, work, colours['muted'] ?? '');
  label(to, words.iteration(pool), work.left, box.top + box.height + 4, colours);
}

/** Around the request that is marked. */
function ring(to: CanvasRenderingContext2D, { left, top, width, height }: Box, colours: Picture['colours']): void {
  to.lineWidth = 2;
  to.strokeStyle = colours['ink'] ?? '';
  to.strokeRect(left - 2, top - 2, width + 4, height + 4);
  to.lineWidth = 1;
}

function fill(to: CanvasRenderingContext2D, { left, top, width, height }: Box, colour: string | undefined): void {
  to.fillStyle = colour ?? '';
  to.fillRect(left, top, width, height);
}

function frame(to: CanvasRenderingContext2D, { left, top, width, height }: Box, colour: string): void {
  to.strokeStyle = colour;
  to.strokeRect(Math.round(left) + 0.5, Math.round(top) + 0.5, Math.round(width), Math.round(height));
}

function stroke(to: CanvasRenderingContext2D, colour: string, points: readonly (readonly [number, number])[]): void {
  to.strokeStyle = colour;
  to.beginPath();
  for (const [x, y] of points) to.lineTo(x, y);
  to.stroke();
}

/** To the right of a box. */
function arrow(to: CanvasRenderingContext2D, box: Box, { colours }: Picture): void {
  const [x, y] = [box.left + box.width + PAD, box.top + box.height / 2];
  to.fillStyle = colours['muted'] ?? '';
  to.beginPath();
  to.moveTo(x - 3, y - 4);
  to.lineTo(x + 3, y);
  to.lineTo(x - 3, y + 4);
  to.fill();
}

function label(to: CanvasRenderingContext2D, words: string, x: number, y: number, colours: Picture['colours']): void {
  to.fillStyle = colours['muted'] ?? '';
  to.fillText(words, x, y);
}
