// Measures the built page in a browser and prints one JSON object: the engine's speed, the studio's with a million rows, a
// slider's way to the drawn charts in script time, what a reader meets in the first minute, and what a move costs with agents.
import { chromium } from '@playwright/test';
import { measureAgents } from './agents.mjs';
import { measureFirstMinute } from './first-minute.mjs';
import { serve } from './serve.mjs';

const SIZES = [{ requests: 1_000, repeats: 9 }, { requests: 10_000, repeats: 9 }, { requests: 100_000, repeats: 3 }, { requests: 1_000_000, repeats: 1 }];
/** What is dragged: S-LoRA's loop at the default rate of 2 requests a second, and a fleet with timed operators. */
const SERVICES = ['D=300', 'D=1000', 'D=5000', 'D=1000&sched=vllm_v1&cost=profile&n=0', 'D=1000&sched=vllm_v1&cost=roofline&n=0&rep=4'];
/** Moves of a round: each of a hundred places of the slider once. Where other work comes and goes, rounds differ. */
const MOVES = 100;
const ROUNDS = 5;
/** The page rests this long before a slider is moved. */
const LOOKING_MS = 1_000;
/** The first moves of a page warm the compiler up. */
const WARM_UP = 10;
const MEASURE = 'servescope:slider-to-drawn';

const host = await serve();
const browser = await chromium.launch({ executablePath: process.env.SERVESCOPE_CHROMIUM ?? '/usr/bin/chromium', args: ['--disable-gpu'] });

/** Times the tasks that take an answer in: until the elements that it changes are drawn again, which lit does in microtasks. */
const TIME_ANSWERS = () => {
  /** More than an element inside an element inside an element needs. */
  const HOPS = 24;
  const tasks = [];
  Object.assign(window, { answerTasks: tasks });
  const { get, set } = Object.getOwnPropertyDescriptor(Worker.prototype, 'onmessage');
  const timed = (listener) => async (event) => {
    const from = performance.now();
    listener(event);
    if (event.data.kind !== 'answer') return;
    for (let hop = 0; hop < HOPS; hop += 1) await Promise.resolve();
    tasks.push({ from, spent_ms: performance.now() - from });
  };
  Object.defineProperty(Worker.prototype, 'onmessage', { get, set(listener) { set.call(this, timed(listener)); } });
};

/** Every page in a context of its own: nothing is cached. */
async function withPage(hash, use) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  await page.addInitScript(TIME_ANSWERS);
  await page.goto(`${host.address}${hash}`);
  await page.waitForSelector('html[data-state="ready"]');
  const result = await use(page);
  await context.close();
  return result;
}

const quantile = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
const ascending = (numbers) => numbers.sort((one, other) => one - other);

async function measureSlider(page) {
  await page.waitForTimeout(LOOKING_MS);
  const total = WARM_UP + ROUNDS * MOVES;
  await page.evaluate(async (moves) => {
    const range = document.querySelector('[data-parameter="workload.arrivals.cv"] input[type=range]');
    const root = document.documentElement;
    const settled = () => new Promise((resolve) => {
      const look = () => { if (root.dataset.state === 'ready') resolve(); else requestAnimationFrame(look); };
      look();
    });
    for (let move = 0; move < moves; move += 1) {
      range.value = String(Number(range.min) + ((move * 37) % 100) / 100 * (Number(range.max) - Number(range.min)));
      range.dispatchEvent(new Event('input', { bubbles: true }));
      await settled();
      await new Promise((resolve) => { setTimeout(resolve, 20); });
    }
  }, total);
  const found = await page.evaluate((name) => performance.getEntriesByName(name).map(({ duration, detail }) => {
    // The task of an answer begins before the page looks at the clock.
    const answer_ms = window.answerTasks.findLast(({ from }) => from <= detail.answered_at_ms).spent_ms;
    return { duration: duration + answer_ms, answer_ms, ...detail };
  }), MEASURE);
  const moves = found.slice(WARM_UP);
  const of = (some, key, part) => quantile(ascending(some.map((move) => move[key])), part);
  const both = (some) => ({ p50: of(some, 'duration', 0.5), p95: of(some, 'duration', 0.95) });
  const rounds = Array.from({ length: Math.ceil(moves.length / MOVES) }, (_, round) => both(moves.slice(round * MOVES, (round + 1) * MOVES)));
  const parts = Object.fromEntries(['ask_ms', 'wait_ms', 'compute_ms', 'answer_ms', 'draw_ms'].map((key) => [key, of(moves, key, 0.5)]));
  return { requests: moves[0]?.requests ?? 0, ...both(moves), rounds, moves: moves.length, ...parts };
}

const first_minute = await measureFirstMinute(browser, host.address);
const agents = await measureAgents(browser, host.address);
const slider_ms = [];
for (const service of SERVICES) slider_ms.push({ service, ...await withPage(`#v=1&${service}`, measureSlider) });
const engine = [];
for (const size of SIZES) {
  engine.push(await withPage('', (page) => page.evaluate(async (options) => (await import('/bench/engine.mjs')).measureEngine(options), size)));
}

const studio = await withPage('', (page) => page.evaluate(async () => (await import('/bench/studio.mjs')).measureStudio()));

await browser.close();
host.close();
console.log(JSON.stringify({ engine, studio: [studio], slider_ms, first_minute, agents }));
