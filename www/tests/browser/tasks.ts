// A person at a task: goes by role and by the words of the message table, and counts what is done.
import { readFileSync } from 'node:fs';
import type { Locator, Page } from '@playwright/test';
import type { ParameterId } from '../../src/generated/parameters.js';
import { Text, type ParameterTexts } from '../../src/i18n/text.js';
import { expect, settled, test } from './page.js';

const PARAMETERS = JSON.parse(readFileSync(new URL('../../src/generated/parameter-text.json', import.meta.url), 'utf8')) as ParameterTexts;

/** The page's English, as it is in the scripts. */
export const words = new Text('en', { areas: {}, parameters: {}, module: {} });

/** What a control is called. */
export function labelOf(id: ParameterId): string {
  return PARAMETERS[id].label;
}

/** A task takes no more. */
const MOST_ACTIONS = 8;

type Role = 'button' | 'heading' | 'combobox' | 'option' | 'link';

export class Person {
  /** Clicks, keys, and boxes filled in. */
  actions = 0;

  constructor(readonly page: Page) {}

  /** Presses what has this role and name: the first of them that can be seen. */
  async press(role: Role, name: string | RegExp, within: Page | Locator = this.page): Promise<void> {
    this.actions += 1;
    const exact = typeof name === 'string';
    await within.getByRole(role, { name, exact }).filter({ visible: true }).first().click();
  }

  async key(name: string): Promise<void> {
    this.actions += 1;
    await this.page.keyboard.press(name);
  }

  async type(text: string): Promise<void> {
    this.actions += 1;
    await this.page.keyboard.type(text);
  }

  /** Fills a number in and confirms it: two actions. */
  async set(id: ParameterId, value: number | string): Promise<void> {
    this.actions += 2;
    const box = this.page.getByRole('textbox', { name: labelOf(id), exact: true });
    await box.fill(String(value));
    await box.press('Enter');
    await settled(this.page);
  }

  async choose(id: ParameterId, option: string): Promise<void> {
    this.actions += 1;
    await this.page.getByRole('combobox', { name: labelOf(id), exact: true }).selectOption({ label: option });
    await settled(this.page);
  }

  /** Goes to a parameter by the search, which unfolds what it is in: three actions. */
  async find(id: ParameterId): Promise<void> {
    await this.key('/');
    const box = this.page.getByRole('dialog').getByRole('combobox');
    await expect(box).toBeFocused();
    await this.type(id);
    await this.key('Enter');
    await expect(this.page.getByRole('dialog')).toBeHidden();
  }

  /** The task is done; how many actions it took is printed. */
  done(most = MOST_ACTIONS): void {
    process.stdout.write(`${String(this.actions)} actions: ${test.info().title}\n`);
    expect(this.actions, 'actions').toBeLessThanOrEqual(most);
  }
}
