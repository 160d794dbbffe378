// The story presets, as files.
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { PARAMETER_IDS } from '../generated/parameters.js';
import type { Story } from './presets.js';

const FOLDER = new URL('../../../static/presets/', import.meta.url);
const WORDS = ['title', 'about', 'with', 'without', 'text'] as const;

type File = Partial<Story> & { id: string; scenario: unknown };

function read(name: string): unknown {
  return JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8'));
}

function paths(nested: unknown, path = ''): [string, unknown][] {
  if (typeof nested !== 'object' || nested === null || Array.isArray(nested)) return [[path, nested]];
  return Object.entries(nested).flatMap(([name, value]) => paths(value, path === '' ? name : `${path}.${name}`));
}

const ids = read('index.json') as string[];
const stories = ids.map((id) => read(`${id}.json`) as File).filter((file): file is File & Story => file.without !== undefined);

function ofGateway({ scenario }: File): boolean {
  return paths(scenario).some(([path]) => path === 'gateway.kind');
}

describe('presets', () => {
  it('are all listed', () => {
    expect([...ids, 'index'].sort()).toEqual(readdirSync(FOLDER).map((name) => name.replace(/\.json$/, '')).sort());
  });

  it('name parameters that there are', () => {
    for (const id of ids) for (const [path] of paths((read(`${id}.json`) as File).scenario)) expect(['version', ...PARAMETER_IDS], id).toContain(path);
  });
});

describe.each(stories.map((story) => [story.id, story] as const))('the story %s', (_id, story) => {
  it('has its words in both languages, and names its clients', () => {
    for (const language of ['en', 'zh'] as const) {
      for (const key of WORDS) expect(story.words[language][key].trim(), key).not.toBe('');
      expect(story.words[language].text).toMatch(/[.。]$/);
      for (const client of story.clients) expect(client[language].trim()).not.toBe('');
    }
    if (ofGateway(story)) expect(story.clients.length).toBeGreaterThan(0);
  });

  it('differs by a few parameters without its policy', () => {
    const own = new Map(paths(story.scenario));
    const others = paths(story.without);
    expect(others.length).toBeGreaterThan(0);
    expect(others.length).toBeLessThan(4);
    for (const [path, value] of others) {
      expect(PARAMETER_IDS).toContain(path);
      expect(own.get(path), path).not.toEqual(value);
    }
    if (others.some(([path]) => path.startsWith('gateway.'))) expect(own.get('gateway.kind')).toBe('proxy');
  });

  it('shows charts of a stretch within its traffic', () => {
    if (story.view === undefined) return;
    const [from, to] = story.view.zoom;
    const duration = new Map(paths(story.scenario)).get('workload.duration_s') as number;
    expect(from).toBeLessThan(to);
    expect(to).toBeLessThanOrEqual(duration);
    expect(story.view.charts.length).toBeGreaterThan(0);
    expect(story.rows?.length).toBeGreaterThan(0);
  });
});
