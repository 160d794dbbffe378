// The studio's thread: one module of its own, fetched when the first question comes. Questions are answered in order.
import init, { body_forms, chart_svg, curve_file, fit_profile, model_config, read_result, recognise_file, scenario_file, Studio, step_kinds, sweep_csv, sweep_results, Sweeps, CrossoverSearch, writable_formats } from '../../pkg/studio.js';
import address from '../../pkg/studio_bg.wasm?url';
import { startedOnce } from '../simulation/fetched.js';
import { buffersOf } from '../simulation/protocol.js';
import { isCallErrors, messageOf, pageError, type Diagnostic } from '../simulation/types.js';
import type { CallName, FromStudio, StudioCalls, ToStudio } from './studio-calls.js';

/** What this thread itself has against a call. */
class CallRefused extends Error {
  constructor(readonly errors: Diagnostic[]) {
    super(errors.map(({ message }) => message).join(' '));
  }
}

/** Fetching the bytes is the smaller part of opening a file, by the time it takes. */
const READING_PART = 0.2;

function post(message: FromStudio, transfer: Transferable[] = []): void {
  self.postMessage(message, { transfer });
}

const studioReady = startedOnce(async () => {
  await init({ module_or_path: new URL(address, import.meta.url) });
  return new Studio();
});

async function feed(studio: Studio, file: File, reported: (part: number) => void): Promise<void> {
  studio.reserve(file.name, file.size);
  const reader = file.stream().getReader();
  let got = 0;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    studio.feed(value);
    got += value.byteLength;
    reported((READING_PART * got) / Math.max(file.size, 1));
  }
}

async function open(studio: Studio, { file, add, mapping, leaveOut, anyOutput }: StudioCalls['open']['args'], reported: (part: number) => void): Promise<StudioCalls['open']['reply']> {
  await feed(studio, file, reported);
  return studio.open(file.name, add, mapping, leaveOut, anyOutput, (part: number) => { reported(READING_PART + (1 - READING_PART) * part); });
}

async function lengths(studio: Studio, { file, scenario }: StudioCalls['lengths']['args'], reported: (part: number) => void): Promise<StudioCalls['lengths']['reply']> {
  await feed(studio, file, reported);
  return studio.lengths(file.name, scenario);
}

async function peek(studio: Studio, { file }: StudioCalls['peek']['args'], reported: (part: number) => void): Promise<StudioCalls['peek']['reply']> {
  await feed(studio, file, reported);
  return studio.peek(file.name);
}

/** Bytes of a file from which its kind is decided; packed, they stand for more. */
const HEAD_BYTES = 131_072;
/** A scenario has some thousands of bytes; its longest lists some millions. */
const MOST_SCENARIO_BYTES = 33_554_432;
/** Larger files than this hold more requests than a result may have. */
const MOST_RESULT_BYTES = 1e9;

async function bytesOf(file: File, most: number): Promise<Uint8Array> {
  if (file.size > most) throw new CallRefused([pageError('file_too_large', `${file.name}: ${String(file.size)} bytes; at most ${String(most)}`, file.name, { file: file.name, mib: Math.ceil(file.size / 1_048_576), max_mib: Math.floor(most / 1_048_576) })]);
  return new Uint8Array(await file.arrayBuffer());
}

async function result({ files, benchmark }: StudioCalls['result']['args']): Promise<StudioCalls['result']['reply']> {
  const all = await Promise.all(files.map((file) => bytesOf(file, MOST_RESULT_BYTES)));
  return read_result(files.map(({ name }) => name), all, benchmark);
}

/** Made when the first sweep comes. */
let sweeps: Sweeps | null = null;

/** The search under way for where the better of two settings changes. */
let search: CrossoverSearch | null = null;

function crossoverStep({ spec, more }: StudioCalls['crossover_step']['args']): StudioCalls['crossover_step']['reply'] {
  if (spec !== null) {
    search?.free();
    search = null;
    search = new CrossoverSearch(spec);
  }
  if (search === null) throw new Error('a step of no search');
  return search.step([...more]);
}

function takeInputs({ trace, profile }: StudioCalls['sweep_inputs']['args']): void {
  sweeps?.free();
  sweeps = new Sweeps();
  if (trace !== null) sweeps.load_columns(trace.name, trace.columns);
  if (profile !== null) sweeps.load_profile(profile.name, profile.text);
}

async function answer(studio: Studio, message: ToStudio): Promise<StudioCalls[CallName]['reply']> {
  const reported = (fraction: number): void => { post({ kind: 'progress', ticket: message.ticket, fraction }); };
  switch (message.call) {
    case 'open': return open(studio, message.args, reported);
    case 'lengths': return lengths(studio, message.args, reported);
    case 'peek': return peek(studio, message.args, reported);
    case 'materialize_generated': return studio.materialize_generated(message.args.name, message.args.scenario);
    case 'use_twin': return studio.use_twin(message.args.name);
    case 'apply_pipeline': return studio.apply_pipeline(message.args.join, message.args.steps);
    case 'fit': return studio.fit(message.args.model, message.args.seed);
    case 'kinds': return step_kinds();
    case 'close': studio.close(); return null;
    case 'select': studio.select(message.args.scenario); return null;
    case 'charts': return studio.charts(message.args.columns);
    case 'columns': return studio.columns();
    case 'export': return studio.export(message.args.format);
    case 'bodies': return studio.bodies(message.args.scenario, message.args.form, message.args.endpoint, message.args.model, message.args.adapterName);
    case 'svg': return chart_svg(message.args.chart, message.args.ghost, message.args.dark, message.args.width, message.args.height, message.args.chinese);
    case 'profile': return fit_profile(message.args);
    case 'model_config': return model_config(message.args.name, message.args.text, message.args.quantization, message.args.scenario);
    case 'formats': return writable_formats();
    case 'forms': return body_forms();
    case 'crossover_step': return crossoverStep(message.args);
    case 'recognise': return recognise_file(message.args.file.name, new Uint8Array(await message.args.file.slice(0, HEAD_BYTES).arrayBuffer()), message.args.scenario);
    case 'curve': return { scenario: curve_file(message.args.file.name, await bytesOf(message.args.file, MOST_SCENARIO_BYTES), message.args.scenario) };
    case 'scenario': return { scenario: scenario_file(message.args.file.name, await bytesOf(message.args.file, MOST_SCENARIO_BYTES)) };
    case 'result': return result(message.args);
    case 'sweep_inputs': takeInputs(message.args); return null;
    case 'sweep_plan': return (sweeps ??= new Sweeps()).plan(message.args.spec);
    case 'sweep_scenario': return { scenario: (sweeps ??= new Sweeps()).scenario(message.args.spec, message.args.index) };
    case 'sweep_line': return (sweeps ??= new Sweeps()).line(message.args.spec, message.args.index, message.args.shown ?? undefined, message.args.why);
    case 'sweep_csv': return sweep_csv(message.args.plan, message.args.lines);
    case 'sweep_results': return sweep_results(message.args.plan, message.args.lines, message.args.asMap);
  }
}

function transferable(value: StudioCalls[CallName]['reply']): Transferable[] {
  if (value === null || typeof value === 'string' || Array.isArray(value)) return [];
  if ('bytes' in value) return [value.bytes.buffer];
  if ('points' in value || 'needs' in value) return buffersOf(value.charts);
  if ('charts' in value) return [...buffersOf(value.charts), ...buffersOf(value.before)];
  if ('arrival_us' in value) {
    return Object.values(value).flatMap(({ buffer }) => (buffer instanceof ArrayBuffer ? [buffer] : []));
  }
  return [];
}

async function reply(message: ToStudio): Promise<void> {
  try {
    const value = await answer(await studioReady(), message);
    post({ kind: 'reply', ticket: message.ticket, value }, transferable(value));
  } catch (thrown) {
    if (isCallErrors(thrown) || thrown instanceof CallRefused) post({ kind: 'refused', ticket: message.ticket, errors: thrown.errors });
    else post({ kind: 'died', message: messageOf(thrown) });
  }
}

let last: Promise<void> = Promise.resolve();

self.onmessage = ({ data }: MessageEvent<ToStudio>) => {
  last = last.then(() => reply(data));
};
