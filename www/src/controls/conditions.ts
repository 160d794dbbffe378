// What a parameter lacks to have an effect, in the least words: conditions on other parameters, as ways of which one is enough.
import type { Condition, Parameter, ParameterValue } from '../simulation/types.js';

/** A condition on one parameter. */
export type Leaf = Extract<Condition, { parameter: string }>;
/** Conditions that must all hold. */
type Way = readonly Leaf[];

/** What the conditions are asked of. */
export interface Conditions {
  values: Readonly<Record<string, ParameterValue>>;
  /** The conditions of a parameter that do not hold. */
  unmetOf(id: string): readonly Condition[];
  /** Checks of the gateway that are made. */
  checks: readonly string[];
  parameters: ReadonlyMap<string, Parameter>;
}

/** What is needed in any case, and ways of which one is needed beside it: none where there is nothing to choose. */
export interface Needs { all: Way; any: readonly Way[] }

/** Of more ways than these the longest are left out: no reader compares them. */
const MOST_WAYS = 64;
/** Conditions behind conditions that are followed. */
const DEPTH = 5;

/** Every parameter that conditions are about. */
export function parametersOf(conditions: readonly Condition[]): string[] {
  return conditions.flatMap((one) => ('any' in one ? parametersOf(one.any) : 'all' in one ? parametersOf(one.all) : [one.parameter]));
}

export function needsOf(of: Conditions, id: string): Needs {
  const ways = least(waysOfAll(of, of.unmetOf(id), DEPTH));
  const [first = []] = ways;
  const all = first.filter((leaf) => ways.every((way) => has(way, leaf)));
  const any = ways.map((way) => way.filter((leaf) => !has(all, leaf)));
  return { all, any: any.length > 1 ? any : [] };
}

function waysOfAll(of: Conditions, conditions: readonly Condition[], depth: number): readonly Way[] {
  return conditions.reduce<readonly Way[]>((ways, condition) => {
    const more = waysOf(of, condition, depth);
    return least(ways.flatMap((way) => more.flatMap((other) => joined(of, way, other))));
  }, [[]]);
}

/** The ways in which a condition comes to hold; one without a condition where it holds. */
function waysOf(of: Conditions, condition: Condition, depth: number): readonly Way[] {
  if ('any' in condition) return least(condition.any.flatMap((one) => waysOf(of, one, depth)));
  if ('all' in condition) return waysOfAll(of, condition.all, depth);
  if (!isSo(of, condition)) return [[condition]];
  // The value is there, and its parameter may have no effect itself.
  return depth === 0 ? [[]] : waysOfAll(of, of.unmetOf(condition.parameter), depth - 1);
}

function isSo({ values, checks }: Conditions, condition: Leaf): boolean {
  const value = values[condition.parameter];
  if ('in' in condition) return condition.in.some((one) => one === String(value));
  if ('not' in condition) return !condition.not.some((one) => one === String(value));
  if ('above' in condition) return Number(value) > condition.above;
  if ('check' in condition) return checks.includes(condition.check);
  return Array.isArray(value) && value.some((one) => one !== value[0]);
}

/** Both ways at once; none where they contradict each other. Conditions on one choice become one. */
function joined({ parameters }: Conditions, way: Way, other: Way): Way[] {
  const result = [...way];
  for (const leaf of other) {
    const place = result.findIndex((one) => one.parameter === leaf.parameter);
    const known = result[place];
    if (known === undefined || !isChoice(known) || !isChoice(leaf)) {
      if (!has(result, leaf)) result.push(leaf);
      continue;
    }
    const options = parameters.get(leaf.parameter)?.options ?? [];
    const left = allowed(known, options).filter((value) => allowed(leaf, options).includes(value));
    if (left.length === 0) return [];
    result[place] = { parameter: leaf.parameter, in: left };
  }
  return [result];
}

type Choice = Extract<Leaf, { in: unknown } | { not: unknown }>;

function isChoice(leaf: Leaf): leaf is Choice {
  return 'in' in leaf || 'not' in leaf;
}

function allowed(leaf: Choice, options: readonly string[]): readonly string[] {
  return 'in' in leaf ? leaf.in : options.filter((option) => !leaf.not.includes(option));
}

function has(way: Way, leaf: Leaf): boolean {
  return way.some((one) => JSON.stringify(one) === JSON.stringify(leaf));
}

/** Without those that need more than another one, the shortest first. */
function least(ways: readonly Way[]): readonly Way[] {
  const sorted = [...ways].sort((one, other) => one.length - other.length);
  const kept: Way[] = [];
  for (const way of sorted) {
    if (kept.length < MOST_WAYS && !kept.some((other) => other.every((leaf) => has(way, leaf)))) kept.push(way);
  }
  return kept;
}
