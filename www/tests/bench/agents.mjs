// What a move of the rate costs with about 10,000 requests of agents on 8 replicas with host memory, and one of the number of prefill
// replicas with 5,000 requests on 16: until a preview is drawn, and until the whole result is; beside it where the time of such a run goes, and how long its prompts are. Of the built page. It only
// prints: how long something takes is no failure, but that nothing is drawn is one.
//
// node tests/bench/agents.mjs
import { chromium } from '@playwright/test';
import { serve } from './serve.mjs';

/** As the presets have it, lengths, tools and load a replica too, but on 8 replicas, with host memory, sessions of 12 turns, and so long. */
const SCENARIOS = [
  { name: 'will_router', link: 'preset=will_router&rep=8&hcg=200&R=12&D=820' },
  { name: 'will_host_cache', link: 'preset=will_host_cache&rep=8&tum=12&R=32&D=302' },
  { name: 'will_apart', link: 'preset=will_apart&rep=16&dpn=8&R=28&D=180', parameter: 'fleet.disaggregation.prefill_replicas', bound_ms: 200 },
];
const RATE = 'workload.rate_rps';
const sliderOf = (parameter) => `[data-parameter="${parameter}"] input[type=range]`;
const DRAWN = 'servescope:slider-to-drawn';
const BOUND_MS = 1_000;
const MOVES = 8;
/** The first moves of a page warm the compiler up. */
const WARM_UP = 2;
/** A reader looks at an answer before the next move. */
const PAUSE_MS = 150;
const PATIENCE_MS = 60_000;
const REPEATS = 2;

const quantile = (numbers, part) => {
  const sorted = [...numbers].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? NaN;
};

/** Notes what the page's thread is asked to run, and what its answers took to compute. */
const WATCH = () => {
  const watched = { scenario: null, answers: [] };
  Object.assign(window, { watched });
  const { postMessage } = Worker.prototype;
  Worker.prototype.postMessage = function post(message, ...rest) {
    if (message.kind === 'run') watched.scenario = message.scenario;
    return postMessage.call(this, message, ...rest);
  };
  const { get, set } = Object.getOwnPropertyDescriptor(Worker.prototype, 'onmessage');
  const noted = (listener) => (event) => {
    if (event.data.kind === 'answer') watched.answers.push(event.data);
    listener(event);
  };
  Object.defineProperty(Worker.prototype, 'onmessage', { get, set(listener) { set.call(this, noted(listener)); } });
};

/** Runs in the page. A step up and a step down in turn, each once the page shows all of the one before. */
async function move({ slider, drawn, moves, pause_ms, patience_ms }) {
  const range = document.querySelector(slider);
  /** Whether a preview is shown in the next frame; resolves after its drawing, which is in the same frame. */
  const nextFrame = () => new Promise((done) => {
    requestAnimationFrame(() => {
      const isPreview = document.querySelector('.preview-note')?.hidden === false;
      setTimeout(() => { done(isPreview); });
    });
  });
  const found = [];
  for (let at = 0; at < moves; at += 1) {
    await new Promise((done) => { setTimeout(done, pause_ms); });
    performance.clearMeasures(drawn);
    window.watched.answers = [];
    const from = performance.now();
    range.dispatchEvent(new KeyboardEvent('keydown', { key: at % 2 === 0 ? 'ArrowRight' : 'ArrowLeft', bubbles: true, cancelable: true }));
    let preview_ms = null;
    for (;;) {
      const isPreview = await nextFrame();
      const now = performance.now();
      const [whole] = performance.getEntriesByName(drawn);
      if (whole === undefined && isPreview) preview_ms ??= now - from;
      if (whole !== undefined && document.documentElement.dataset.state === 'ready') {
        const preview_compute_ms = window.watched.answers.find(({ preview }) => preview)?.compute_ms ?? NaN;
        found.push({ preview_ms, preview_compute_ms, drawn_ms: whole.startTime + whole.duration - from, ready_ms: now - from, ...whole.detail });
        break;
      }
      if (now - from > patience_ms) throw new Error(`nothing is drawn ${String(patience_ms)} ms after a move`);
    }
  }
  return found;
}

async function measureOne(browser, address, { name, link, parameter = RATE, bound_ms = BOUND_MS }) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  await page.addInitScript(WATCH);
  await page.goto(`${address}#${link}`);
  await page.waitForSelector('html[data-state="ready"]', { timeout: PATIENCE_MS });
  // By value, with all that the preset sets.
  const scenario = await page.evaluate(() => window.watched.scenario);
  const all = await page.evaluate(move, { slider: sliderOf(parameter), drawn: DRAWN, moves: WARM_UP + MOVES, pause_ms: PAUSE_MS, patience_ms: PATIENCE_MS });
  // A page with a short run, loaded anew, which another hash alone would not do: its threads are at rest.
  await page.goto('about:blank');
  await page.goto(`${address}#D=10`);
  await page.waitForSelector('html[data-state="ready"]');
  const parts = await page.evaluate(async (options) => (await import('/bench/run-parts.mjs')).measureParts(options), { scenario, repeats: REPEATS });
  await context.close();

  const moves = all.slice(WARM_UP);
  const previews = moves.map(({ preview_ms }) => preview_ms).filter((time) => time !== null);
  if (previews.length === 0) throw new Error(`${name}: no move is previewed`);
  const row = (what, unit, measured, bound = null) => ({ name: `${name}: ${what}`, measured, bound, unit });
  /** On a machine that others use, too, the best says most about the page. */
  const spread = (what, numbers, bound) => [['best', 0], ['median', 0.5], ['worst', 1]].map(([word, part]) => row(`${what}, ${word}`, 'ms', quantile(numbers, part), bound));
  const of = (key) => moves.map((one) => one[key]);
  const median = (what, numbers) => row(`${what}, median`, 'ms', quantile(numbers, 0.5));
  const tokens = (what, share) => row(`tokens of a prompt, ${what}`, 'tokens', quantile(parts.prompts, share));
  return [
    row('requests simulated', 'requests', moves[0].requests),
    row('moves that are previewed', `of ${String(moves.length)}`, previews.length),
    ...spread('from a move to the preview drawn', previews, null),
    ...spread('from a move to the whole result drawn', of('drawn_ms'), bound_ms),
    ...spread('from a move until the charts out of sight are there, too', of('ready_ms'), null),
    median('of such a move, until the thread is asked', of('ask_ms')),
    median('of such a move, computing the preview', of('preview_compute_ms')),
    median('of such a move, computing the whole result', of('compute_ms')),
    median('of such a move, drawing the whole result', of('draw_ms')),
    ...['generate', 'simulate', 'summary', 'charts'].map((key) => median(`of a run alone, ${key}`, parts.rounds.map((round) => round[key]))),
    tokens('median', 0.5), tokens('p99', 0.99),
    row('prompt tokens in the KV cache', '%', 100 * parts.cached),
    row('prompt tokens from host memory', '%', 100 * parts.from_host),
  ];
}

/** Rows of a number, what was measured, and the bound of its issue. */
export async function measureAgents(browser, address) {
  const rows = [];
  for (const scenario of SCENARIOS) rows.push(...await measureOne(browser, address, scenario));
  return rows;
}

function line({ name, measured, bound, unit }) {
  const number = Number.isInteger(measured) ? String(measured) : measured.toFixed(1);
  return `${name}: ${number} ${unit}${bound === null ? '' : `, to be at most ${String(bound)}`}`;
}

if (process.argv[1] === import.meta.filename) {
  const host = await serve();
  const browser = await chromium.launch({ executablePath: process.env.SERVESCOPE_CHROMIUM ?? '/usr/bin/chromium', args: ['--disable-gpu'] });
  for (const row of await measureAgents(browser, host.address)) console.log(line(row));
  await browser.close();
  host.close();
}
