// What a reader meets in the first minute, each number beside its bound: the time until the page is ready, frames while the picture
// plays and while a slider is dragged, and frames from a slider's move to the one in which all charts and numbers in sight show
// it. Of the built page with the default settings. It only prints: how long something takes is no failure.
//
// node tests/bench/first-minute.mjs
import { chromium } from '@playwright/test';
import { serve } from './serve.mjs';

const LOADS = 5;
const PLAYED_MS = 5_000;
const DRAGGED_MS = 5_000;
/** Single moves, and the pause before each: a reader looks at the answer. */
const MOVES = 100;
const PAUSE_MS = 150;
/** The first moves of a page warm the compiler up. */
const WARM_UP = 10;
/** Of a screen with 60 frames a second. */
const FRAME_MS = 1000 / 60;
const SLIDER = '[data-parameter="workload.arrivals.cv"] input[type=range]';
const READY = 'servescope:ready';
const DRAWN = 'servescope:slider-to-drawn';
const BOUNDS = { ready_ms: 1_000, frame_ms: 16.7, frames: 3 };

/** Notes when frames begin and when a slider is moved, from the first script on. */
const WATCH = () => {
  const watched = { frames: [], moves: [] };
  Object.assign(window, { watched });
  const tick = (now) => {
    watched.frames.push(now);
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
  addEventListener('input', () => { watched.moves.push(performance.now()); }, { capture: true });
};

const quantile = (numbers, part) => {
  const sorted = [...numbers].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? NaN;
};
const gaps = (times) => times.slice(1).map((time, index) => time - times[index]);

/** Every page in a context of its own: nothing is cached. */
async function withPage(browser, address, use) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  await page.addInitScript(WATCH);
  await page.goto(address);
  await page.waitForSelector('html[data-state="ready"]');
  const result = await use(page);
  await context.close();
  return result;
}

/** Lengths of the frames that begin while `work` goes on. */
async function framesDuring(page, work) {
  const from = await page.evaluate(() => performance.now());
  await work();
  const frames = await page.evaluate((since) => window.watched.frames.filter((time) => time >= since), from);
  return gaps(frames);
}

/** Takes the slider's thumb in hand, and says where the mouse can go. */
async function takeThumb(page) {
  const { x, y, width, height } = await page.locator(SLIDER).first().boundingBox();
  const place = (part) => [x + width * part, y + height / 2];
  await page.mouse.move(...place(0.5));
  await page.mouse.down();
  return (part) => page.mouse.move(...place(part));
}

async function drag(page, move) {
  const until = performance.now() + DRAGGED_MS;
  for (let step = 0; performance.now() < until; step += 1) {
    await move(0.5 + 0.4 * Math.sin(step / 20));
    await page.waitForTimeout(FRAME_MS);
  }
}

/** Moves one by one, each once the page shows the one before; frames of the screen until each is shown. */
async function framesUntilShown(page, move) {
  const drawn = () => page.evaluate((name) => performance.getEntriesByName(name).map(({ startTime, duration }) => startTime + duration), DRAWN);
  const found = [];
  for (let step = 0; step < WARM_UP + MOVES; step += 1) {
    await page.waitForTimeout(PAUSE_MS);
    await page.evaluate((name) => {
      window.watched.moves = [];
      performance.clearMeasures(name);
    }, DRAWN);
    await move(0.1 + 0.8 * ((step * 37) % 100) / 100);
    await page.waitForFunction((name) => performance.getEntriesByName(name).length > 0, DRAWN);
    const [shown] = await drawn();
    const { frames, moves: [moved] } = await page.evaluate(() => window.watched);
    const beginOf = (time) => frames.findLast((begin) => begin <= time);
    if (step >= WARM_UP) found.push(Math.round((beginOf(shown) - beginOf(moved)) / FRAME_MS));
  }
  return found;
}

/** Rows of a number, what was measured, and the bound of its issue. */
export async function measureFirstMinute(browser, address) {
  const ready = [];
  for (let load = 0; load < LOADS; load += 1) {
    ready.push(await withPage(browser, address, (page) => page.evaluate((name) => performance.getEntriesByName(name)[0]?.startTime ?? NaN, READY)));
  }
  const { played, dragged, moved } = await withPage(browser, address, async (page) => {
    await page.waitForFunction(() => document.querySelector('run-hero')?.playing === true);
    const played = await framesDuring(page, () => page.waitForTimeout(PLAYED_MS));
    const move = await takeThumb(page);
    const dragged = await framesDuring(page, () => drag(page, move));
    const moved = await framesUntilShown(page, move);
    return { played, dragged, moved };
  });
  const of = (name, unit, bound, numbers, part) => ({ name, measured: quantile(numbers, part), bound, unit });
  return [
    of('from a cold start until the page is ready, median', 'ms', BOUNDS.ready_ms, ready, 0.5),
    of('a frame while the picture plays, median', 'ms', BOUNDS.frame_ms, played, 0.5),
    of('a frame while the picture plays, p95', 'ms', null, played, 0.95),
    of('a frame while burstiness is dragged, median', 'ms', BOUNDS.frame_ms, dragged, 0.5),
    of('a frame while burstiness is dragged, p95', 'ms', null, dragged, 0.95),
    of('from a move to the frame that shows it, median', 'frames', null, moved, 0.5),
    of('from a move to the frame that shows it, p95', 'frames', BOUNDS.frames, moved, 0.95),
  ];
}

function line({ name, measured, bound, unit }) {
  const number = Number.isInteger(measured) ? String(measured) : measured.toFixed(1);
  return `${name}: ${number} ${unit}${bound === null ? '' : `, to be at most ${String(bound)}`}`;
}

if (process.argv[1] === import.meta.filename) {
  const host = await serve();
  const browser = await chromium.launch({ executablePath: process.env.SERVESCOPE_CHROMIUM ?? '/usr/bin/chromium', args: ['--disable-gpu'] });
  for (const row of await measureFirstMinute(browser, host.address)) console.log(line(row));
  await browser.close();
  host.close();
}
