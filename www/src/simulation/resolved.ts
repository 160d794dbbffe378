// What a scenario means in full. The module returns only where it differs from the parameter table: a slider asks at every
// move, and a hundred names each way cost more than the answer.
import type { Diagnostic, ParameterValue, Resolution, ScenarioPatch, Schema, Traffic } from './types.js';

export interface Resolved {
  /** Every value, defaults included. */
  values: Readonly<Record<string, ParameterValue>>;
  /** Every default, beside these settings. */
  defaults: Readonly<Record<string, ParameterValue>>;
  /** Parameters without effect, and why: a set of places among their conditions as bits, or -1 - the place of a reason in the schema. */
  inactive: ReadonlyMap<string, number>;
  problems: Diagnostic[];
}

/** Asks what a scenario means over a trace, or over requests of its own. */
export type Resolver = (patch: ScenarioPatch, traffic?: Traffic | null) => Resolved;

export function resolver({ parameters }: Schema, ask: (patch: ScenarioPatch, traffic?: Traffic | null) => Resolution): Resolver {
  const table = Object.fromEntries(parameters.map((parameter) => [parameter.id, parameter.default]));
  return (patch, traffic) => {
    const { changed, moved, inactive, why, problems } = ask(patch, traffic);
    const defaults = { ...table, ...moved };
    const reasons = inactive.map((place, index): [string, number] => [parameters[place]?.id ?? '', why[index] ?? 0]);
    return { values: { ...defaults, ...changed }, defaults, inactive: new Map(reasons), problems };
  };
}
