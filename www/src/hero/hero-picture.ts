// Draws the picture: a list of places beside each other, the pools of the fleet below each other, every mark one request or one quantity of
// the run.
import { clientRole } from '../ui/client-role.js';
import type { Moment, Place, PoolMoment } from '../simulation/types.js';
import { LABEL, PAD, layoutOf, type Box, type Mark } from './layout.js';
import { cut } from './signs.js';

/** Smaller bars have no room for a second sign. */
const LEAST_SIGNED = 6;
/** Between what is written below a memory and below the adapter slots. */
const LABEL_GAP = 4;
/** Least width of the memory's column that has room for the slots beside it. */
const WIDE_GPU = 125;
const MOST_SLOTS = 64;
const SLOT_GAP = 3;
const LARGEST_SLOT = 26;
/** Slots of this size have room for the number of their adapter. */
const NUMBERED_SLOT = 14;
const STRIP = 5;
const PALE = 0.35;
const FAINT = 0.55;

/** What is written below the memory of a pool, the longest first, below its batch and its adapter slots; how many requests there is no room for. */
export interface Words {
  kv: (pool: PoolMoment, place: number) => readonly string[];
  batch: (pool: PoolMoment, requests: number) => readonly string[];
  slots: (used: number, all: number) => readonly string[];
  more: (count: number) => string;
}

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

/** The role of a user's colour; all beyond the first seven have one. */
export function roleOf(user: number): string {
  return clientRole(user) ?? 'slo';
}

/** `marks`: where they are while they move; as they stand by themselves. */
export function drawPicture(to: CanvasRenderingContext2D, size: { width: number; height: number }, picture: Picture, layout = layoutOf(size, picture.moment, picture), marks: readonly (Mark & { alpha?: number })[] = layout.marks): void {
  const { colours, moment, words } = picture;
  to.clearRect(0, 0, size.width, size.height);
  to.font = '11px system-ui, sans-serif';
  to.textBaseline = 'bottom';
  const { traffic, gateway, queue, batches, gpus } = layout.columns;
  drawGate(to, gateway, moment, colours);
  to.globalAlpha = FAINT;
  for (const seat of layout.seats) fill(to, seat, colours['grid']);
  to.globalAlpha = 1;
  moment.places.filter(({ kind }) => kind === 'pool').forEach((place, row) => {
    const [batch, gpu] = [batches[row], gpus[row]];
    if (place.pool === null || batch === undefined || gpu === undefined) return;
    drawBatch(to, batch, place, place.pool, picture, layout.more.some(({ left, top }) => left === batch.left && top === batch.top + batch.height));
    drawGpu(to, gpu, place, place.pool, row, picture);
  });
  for (const mark of marks) drawRequest(to, mark, picture);
  to.globalAlpha = 1;
  for (const { left, top, count } of layout.more) label(to, words.more(count), left, top, colours);
  for (const box of [traffic, gateway]) arrow(to, box, picture);
  for (const batch of batches) {
    arrow(to, { ...queue, top: batch.top, height: batch.height }, picture);
    arrow(to, batch, picture);
  }
}

/** A bar: its prompt pale once it is processed, then its output; at its beginning its user and what it does. */
function drawRequest(to: CanvasRenderingContext2D, mark: Mark & { alpha?: number }, { colours, byUser, marked }: Picture): void {
  const { left, top, height, prompt, output, role, alpha = 1 } = mark;
  const user = roleOf(mark.user);
  const isProcessed = role === 'decode' || role === 'stalled';
  const colour = role === 'arrivals' && byUser ? user : role;
  to.globalAlpha = alpha * (isProcessed ? PALE : 1);
  fill(to, { left, top, width: prompt, height }, colours[colour]);
  to.globalAlpha = alpha;
  if (isProcessed) fill(to, { left: left + prompt, top, width: Math.max(1, output), height }, colours[role]);
  if (height >= LEAST_SIGNED) {
    const signed = byUser && role !== 'arrivals' ? left + height : left;
    if (prompt + output >= 2 * height && colour === role) cut(to, role, signed, top, height, colours['paper'] ?? '');
    if (byUser) {
      fill(to, { left, top, width: height, height }, colours[user]);
      cut(to, user, left, top, height, colours['paper'] ?? '');
    }
  }
  if (marked === mark.id) ring(to, { left, top, width: Math.max(height, prompt + output), height }, colours);
}

/** A gate, open where it holds none. */
function drawGate(to: CanvasRenderingContext2D, box: Box, { places }: Moment, colours: Picture['colours']): void {
  const held = places.reduce((sum, { kind, requests }) => sum + (kind === 'gateway' ? requests : 0), 0);
  const gate = box.left + box.width;
  const middle = box.top + box.height / 2;
  const open = held > 0 ? 0 : box.height / 5;
  to.lineWidth = 2;
  stroke(to, colours['muted'] ?? '', [[gate, box.top], [gate, middle - open]]);
  stroke(to, colours['muted'] ?? '', [[gate, middle + open], [gate, box.top + box.height]]);
  to.lineWidth = 1;
}

/** Around the seats of a pool; below them what the iteration under way is made of, and how long it takes. */
function drawBatch(to: CanvasRenderingContext2D, box: Box, { requests }: Place, pool: PoolMoment, { colours, words }: Picture, isCut: boolean): void {
  frame(to, { left: box.left - 5, top: box.top - 5, width: box.width + 10, height: box.height - LABEL + 10 }, colours['muted'] ?? '');
  const tokens = pool.prompt_tokens + pool.decodes;
  if (tokens > 0) {
    const strip = { left: box.left - 5, top: box.top + box.height - LABEL + 5 - STRIP, width: box.width + 10, height: STRIP };
    const prompt = (pool.prompt_tokens / tokens) * strip.width;
    fill(to, { ...strip, width: prompt }, colours['prefill']);
    fill(to, { ...strip, left: strip.left + prompt, width: strip.width - prompt }, colours['decode']);
  }
  if (!isCut) label(to, fitting(to, words.batch(pool, requests), box.width), box.left, box.top + box.height + 6, colours);
}

/** Memory as a tank of KV cache below and adapters above; beside it the slots of adapters. */
function drawGpu(to: CanvasRenderingContext2D, box: Box, place: Place, pool: PoolMoment, row: number, { colours, words }: Picture): void {
  const hasSlots = pool.lora_slots !== null && pool.lora_slots > 0 && box.width > WIDE_GPU;
  const width = box.width > WIDE_GPU ? box.width * 0.45 : box.width;
  const tank = { left: box.left, top: box.top - 5, width, height: box.height - LABEL + 10 };
  const part = (tokens: number): number => (pool.memory_tokens > 0 ? Math.min(1, tokens / pool.memory_tokens) * tank.height : 0);
  const [kv, adapters] = [part(pool.kv_tokens), part(pool.adapter_tokens)];
  const base = tank.top + tank.height;
  fill(to, { ...tank, top: base - kv, height: kv }, colours['kv']);
  fill(to, { ...tank, top: Math.max(tank.top, base - kv - adapters), height: Math.min(adapters, tank.height - kv) }, colours['adapters']);
  frame(to, tank, colours['muted'] ?? '');
  const memory = fitting(to, words.kv(pool, row), hasSlots ? box.width - width - LABEL_GAP : box.width);
  // On a narrow phone the words are wider than the tank, at the edge of the picture.
  const over = Math.max(0, to.measureText(memory).width - (hasSlots ? width + PAD : box.width));
  label(to, memory, tank.left - over, box.top + box.height + 6, colours);
  if (hasSlots) drawSlots(to, { ...tank, left: tank.left + width + PAD, width: box.width - width - PAD }, place, pool, { colours, words, bottom: box.top + box.height + 6 });
}

/** A slot for each adapter that can be in a batch at once: those that requests use, by their numbers, and the free ones. */
function drawSlots(to: CanvasRenderingContext2D, box: Box, { adapters, replicas }: Place, pool: PoolMoment, { colours, words, bottom }: Pick<Picture, 'colours' | 'words'> & { bottom: number }): void {
  const used = [...new Set(adapters.flatMap((adapter, index) => (adapter === null ? [] : `${String(replicas[index] ?? 0).padStart(5, '0')}:${String(adapter).padStart(9, '0')}`)))].sort();
  const all = Math.max(pool.lora_slots ?? 0, used.length);
  label(to, fitting(to, words.slots(used.length, all), box.width), box.left, bottom, colours);
  const shown = Math.min(MOST_SLOTS, all);
  let size = LARGEST_SLOT;
  const room = (side: number): number => Math.floor((box.width + SLOT_GAP) / (side + SLOT_GAP)) * Math.floor((box.height + SLOT_GAP) / (side + SLOT_GAP));
  while (size > 3 && room(size) < shown) size -= 1;
  const columns = Math.max(1, Math.floor((box.width + SLOT_GAP) / (size + SLOT_GAP)));
  for (let slot = 0; slot < Math.min(shown, room(size)); slot += 1) {
    const at = { left: box.left + (slot % columns) * (size + SLOT_GAP), top: box.top + Math.floor(slot / columns) * (size + SLOT_GAP), width: size, height: size };
    const adapter = used[slot];
    if (adapter !== undefined) fill(to, at, colours['adapters']);
    frame(to, { ...at, width: size - 1, height: size - 1 }, colours['muted'] ?? '');
    if (adapter === undefined || size < NUMBERED_SLOT) continue;
    const name = String(Number(adapter.slice(6)));
    to.fillStyle = colours['paper'] ?? '';
    const wide = to.measureText(name).width;
    if (wide <= size) to.fillText(name, at.left + (size - wide) / 2, at.top + size / 2 + 6);
  }
}

/** The first of these that is not too wide, or the last. */
function fitting(to: CanvasRenderingContext2D, all: readonly string[], room: number): string {
  return all.find((text) => to.measureText(text).width <= room) ?? all.at(-1) ?? '';
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

