// Draws the picture: five stations beside each other, every mark one request or one quantity of the run.
import { clientRole } from '../ui/client-role.js';
import type { Moment } from '../simulation/types.js';
import { cut } from './signs.js';

/** Shares of the width, as the columns of numbers below have them. */
export const COLUMNS = [22, 12, 20, 28, 18] as const;
const PHASES = ['prefill', 'decode', 'stalled'] as const;
const GAP = 2;
const LARGEST_CELL = 11;
const SMALLEST_CELL = 3;
/** Smaller cells have no room for a second sign. */
const LEAST_SIGNED = 6;
const PAD = 10;
const LABEL = 14;

export interface Words { kv: string; iteration: string; more: (count: number) => string }

export interface Picture {
  moment: Moment;
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

export function drawPicture(to: CanvasRenderingContext2D, size: { width: number; height: number }, picture: Picture): void {
  to.clearRect(0, 0, size.width, size.height);
  const sum = COLUMNS.reduce<number>((one, other) => one + other, 0);
  let left = 0;
  const boxes = COLUMNS.map((share): Box => {
    const width = (share / sum) * size.width;
    const box = { left: left + PAD, top: PAD, width: width - 2 * PAD, height: size.height - 2 * PAD };
    left += width;
    return box;
  });
  const [traffic, gateway, queue, batch, gpu] = boxes as [Box, Box, Box, Box, Box];
  to.font = '11px system-ui, sans-serif';
  to.textBaseline = 'bottom';
  drawTraffic(to, traffic, picture);
  drawGateway(to, gateway, picture);
  drawQueue(to, queue, picture);
  drawBatch(to, batch, picture);
  drawGpu(to, gpu, picture);
  for (const box of [traffic, gateway, queue, batch]) arrow(to, box.left + box.width + PAD, box.top + box.height / 2, picture);
}

/** Requests on their way, as far from the gateway as they are from their arrival. */
function drawTraffic(to: CanvasRenderingContext2D, box: Box, { moment, span, colours, byUser, marked }: Picture): void {
  const middle = box.top + box.height / 2;
  const end = box.left + box.width;
  stroke(to, colours['grid'] ?? '', [[box.left, middle], [end, middle]]);
  const radius = 3.5;
  let [before, level] = [Infinity, 0];
  moment.coming_s.forEach((seconds, index) => {
    const x = end - (seconds / span) * box.width;
    // Those of a burst stand above each other.
    level = before - x < 2 * radius ? level + 1 : 0;
    before = level === 0 ? x : before;
    const up = Math.ceil(level / 2) * (level % 2 === 1 ? -1 : 1);
    const role = byUser ? roleOf(moment.coming_users[index] ?? 0) : 'arrivals';
    to.fillStyle = colours[role] ?? '';
    to.beginPath();
    to.arc(x, middle + up * 2 * radius, radius, 0, 2 * Math.PI);
    to.fill();
    cut(to, role, x - radius, middle + up * 2 * radius - radius, 2 * radius, colours['paper'] ?? '');
    if (marked !== null && moment.coming_ids[index] === marked) ring(to, { left: x - radius, top: middle + up * 2 * radius - radius, width: 2 * radius, height: 2 * radius }, colours);
  });
}

/** A gate, before it the requests that it holds. */
function drawGateway(to: CanvasRenderingContext2D, box: Box, picture: Picture): void {
  const { moment, colours, byUser } = picture;
  const gate = box.left + box.width;
  const middle = box.top + box.height / 2;
  const open = moment.at_gateway > 0 ? 0 : 9;
  to.lineWidth = 2;
  stroke(to, colours['muted'] ?? '', [[gate, box.top], [gate, middle - open]]);
  stroke(to, colours['muted'] ?? '', [[gate, middle + open], [gate, box.top + box.height]]);
  to.lineWidth = 1;
  const held = { roles: moment.gateway_ids.map(() => 'waiting'), users: byUser ? moment.gateway_users : null, ids: moment.gateway_ids };
  cells(to, { ...box, width: Math.max(0, box.width - 6) }, held, picture, moment.at_gateway);
}

function drawQueue(to: CanvasRenderingContext2D, box: Box, picture: Picture): void {
  const { moment, byUser } = picture;
  cells(to, box, { roles: moment.waiting_users.map(() => 'waiting'), users: byUser ? moment.waiting_users : null, ids: moment.waiting_ids }, picture, moment.waiting);
}

function drawBatch(to: CanvasRenderingContext2D, box: Box, picture: Picture): void {
  const { moment, byUser, colours } = picture;
  frame(to, { left: box.left - 5, top: box.top - 5, width: box.width + 10, height: box.height + 10 }, colours['muted'] ?? '');
  const roles = moment.running_phases.map((phase) => PHASES[phase] ?? 'decode');
  cells(to, box, { roles, users: byUser ? moment.running_users : null, ids: moment.running_ids }, picture, moment.running);
}

interface Cells { roles: readonly string[]; users: readonly number[] | null; ids: readonly number[] | null }

/** Cells from the right, where the head of a queue stands, each of its role's colour, with its user's in a corner. Below them stands
 * how many more there are. */
function cells(to: CanvasRenderingContext2D, box: Box, { roles, users, ids }: Cells, { colours, words, marked }: Picture, all: number): void {
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
    if (marked !== null && ids?.[index] === marked) ring(to, { left: x, top: y, width: size, height: size }, colours);
    if (users === null || size < LEAST_SIGNED) continue;
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
function drawGpu(to: CanvasRenderingContext2D, box: Box, { moment, colours, words }: Picture): void {
  const wide = box.width > 125;
  const tall = box.height - LABEL;
  const width = wide ? box.width * 0.45 : box.width;
  const tank = { left: box.left, top: box.top - 4, width, height: tall };
  const { pool_tokens: pool } = moment;
  const part = (tokens: number): number => (pool > 0 ? Math.min(1, tokens / pool) * tank.height : 0);
  const [kv, adapters] = [part(moment.kv_tokens), part(moment.adapter_tokens)];
  const base = tank.top + tank.height;
  fill(to, { ...tank, top: base - kv, height: kv }, colours['kv']);
  fill(to, { ...tank, top: Math.max(tank.top, base - kv - adapters), height: Math.min(adapters, tank.height - kv) }, colours['adapters']);
  frame(to, tank, colours['muted'] ?? '');
  // On a narrow phone the words are wider than the tank, at the edge of the picture.
  const over = wide ? 0 : Math.max(0, to.measureText(words.kv).width - box.width);
  label(to, words.kv, tank.left - over, box.top + box.height + 4, colours);
  if (!wide) return;
  const work = { ...tank, left: box.left + box.width - width };
  const tokens = moment.prompt_tokens + moment.decodes;
  if (tokens > 0) {
    const decode = (moment.decodes / tokens) * work.height;
    fill(to, { ...work, top: base - decode, height: decode }, colours['decode']);
    fill(to, { ...work, height: work.height - decode }, colours['prefill']);
  }
  frame(to, work, colours['muted'] ?? '');
  label(to, words.iteration, work.left, box.top + box.height + 4, colours);
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

function arrow(to: CanvasRenderingContext2D, x: number, y: number, { colours }: Picture): void {
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
