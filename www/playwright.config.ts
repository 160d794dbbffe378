import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, join } from 'node:path';
import { defineConfig, devices } from '@playwright/test';

/** Browsers are never downloaded: the one named by the environment, or the first on PATH. */
function chromium(): string {
  const named = process.env['SERVESCOPE_CHROMIUM'];
  if (named) return named;
  const names = ['chromium', 'chromium-browser', 'google-chrome'];
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const found = names.flatMap((name) => folders.map((folder) => join(folder, name))).find(existsSync);
  if (!found) throw new Error(`no Chromium: set SERVESCOPE_CHROMIUM, or put one of ${names.join(', ')} on PATH`);
  return found;
}

/** The tests use a sub-path, so that an address that only works from the root of a host fails them. */
const subPath = '/some/where/';
const port = Number(process.env['SERVESCOPE_TEST_PORT'] ?? 4173);

/** Tests whose outcome hangs on how long something takes. */
const ALONE = /@alone/;
/** Tests that only the whole check runs. */
const LEFT_OUT = process.env['SERVESCOPE_WHOLE'] ? /$^/ : /@whole/;
const OFFLINE = '**/offline.spec.ts';

export default defineConfig({
  testDir: 'tests',
  testMatch: '**/*.spec.ts',
  outputDir: '../test-results',
  forbidOnly: Boolean(process.env['CI']),
  reporter: 'list',
  timeout: 60_000,
  // Something that is fetched, compiled and run may take longer than five seconds where others use the machine, too.
  expect: { timeout: 15_000 },
  fullyParallel: true,
  workers: availableParallelism(),
  // A failed test runs once more, for its trace: recording every test takes longer than the tests. It has failed all the same.
  retries: 1,
  failOnFlakyTests: true,
  use: {
    ...devices['Desktop Chrome'],
    baseURL: `http://127.0.0.1:${port}${subPath}`,
    viewport: { width: 1440, height: 900 },
    trace: 'on-first-retry',
    // Each new page would fetch the whole build for its offline copy, beside the test.
    serviceWorkers: 'block',
    // A mouse that presses while the page glides hits what was there before.
    contextOptions: { reducedMotion: 'reduce' },
    launchOptions: {
      executablePath: chromium(),
      args: [
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    },
  },
  projects: [
    { name: 'page', grepInvert: [ALONE, LEFT_OUT], testIgnore: OFFLINE },
    { name: 'offline', testMatch: OFFLINE, grepInvert: LEFT_OUT, use: { serviceWorkers: 'allow' } },
    // After the others: pages beside each other share the processor.
    { name: 'alone', grep: ALONE, testIgnore: OFFLINE, workers: 1, dependencies: ['page', 'offline'] },
  ],
  webServer: {
    command: `npm run preview -- --base ${subPath} --port ${port} --strictPort`,
    url: `http://127.0.0.1:${port}${subPath}`,
    reuseExistingServer: false,
  },
});
