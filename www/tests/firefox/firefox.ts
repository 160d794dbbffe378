// Firefox through WebDriver BiDi: a page of the built host, and what a test asks of it.
import { execFileSync } from 'node:child_process';
import { launch, type Browser, type Page } from 'puppeteer-core';
import { startHost, type Host } from '../browser/host.js';

/** Longest wait for what the page does by itself. */
const PATIENCE_MS = 60_000;

/** Told once where a media query or a style is unknown to the browser: of no consequence to the reader. */
const HARMLESS = /^(Layout was forced before the page was fully loaded|Error in parsing value|Unknown property)/;

/** The program that the task has named. */
function named(variable: string): string {
  const value = process.env[variable];
  if (!value) throw new Error(`${variable} is not set: run cargo xtask test --only firefox`);
  return value;
}

/** The terminal's digest of the same settings. */
export function terminalDigest(...settings: string[]): string {
  const words = settings.flatMap((setting) => ['--set', setting]);
  const printed = execFileSync(named('SERVESCOPE_TERMINAL'), ['simulate', ...words, '--json'], { encoding: 'utf8', maxBuffer: 1 << 28 });
  return (JSON.parse(printed) as { digest: string }).digest;
}

/** A browser with one page, and the host of what is built. */
export class Firefox {
  /** Errors of the console, and exceptions. */
  readonly trouble: string[] = [];

  private constructor(private readonly browser: Browser, readonly host: Host, readonly page: Page) {
    page.on('console', (message) => { if (message.type() === 'error' && !HARMLESS.test(message.text())) this.trouble.push(message.text()); });
    page.on('pageerror', (error) => { this.trouble.push(String(error)); });
  }

  static async start(): Promise<Firefox> {
    const browser = await launch({
      browser: 'firefox', executablePath: named('SERVESCOPE_FIREFOX'), headless: true,
      // A mouse that presses while the page glides hits what was there before; the page alone is tested, not its copy.
      extraPrefsFirefox: { 'ui.prefersReducedMotion': 1, 'dom.serviceWorkers.enabled': false, 'app.update.enabled': false },
    });
    const host = await startHost();
    const page = await browser.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    await page.setViewport({ width: 1440, height: 900 });
    return new Firefox(browser, host, page);
  }

  async stop(): Promise<void> {
    await this.browser.close();
    await this.host.close();
  }

  /** The browser's own name and version. */
  version(): Promise<string> {
    return this.browser.version();
  }

  /** Loads the page with this address. */
  async open(hash = '', file = ''): Promise<void> {
    await this.page.goto('about:blank');
    await this.page.goto(`${this.host.url}${file}${hash}`);
    if (file === '') await this.settled();
  }

  /** Waits until nothing runs any more. */
  async settled(): Promise<void> {
    await this.page.waitForFunction(() => ['ready', 'failed'].includes(document.documentElement.dataset['state'] ?? ''));
  }

  async digest(): Promise<string> {
    await this.settled();
    return this.page.evaluate(() => document.documentElement.dataset['digest'] ?? '');
  }

  /** Does something that makes another run, and gives its digest. */
  async changed(act: () => Promise<unknown>): Promise<string> {
    const before = await this.digest();
    await act();
    await this.page.waitForFunction((known) => {
      const { state, digest } = document.documentElement.dataset;
      return state === 'ready' && digest !== known;
    }, {}, before);
    return this.digest();
  }

  /** Presses the first of these elements that can be seen. */
  async press(selector: string): Promise<void> {
    await this.page.locator(selector).click();
  }

  /** Waits until there is such an element that can be seen. */
  async seen(selector: string): Promise<void> {
    await this.page.waitForSelector(selector, { visible: true });
  }
}
