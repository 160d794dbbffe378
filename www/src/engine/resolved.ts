// What a scenario means in full. The module tells only where it differs from the parameter table: a slider asks at every
// move, and a hundred names each way cost more than the answer.
import type { Failure, ParameterValue, Resolution, ScenarioPatch, Schema } from './types.js';

export interface Resolved {
  /** Every value, defaults included. */
  values: Readonly<Record<string, ParameterValue>>;
  /** Every default, beside these settings. */
  defaults: Readonly<Record<string, ParameterValue>>;
  /** Ids of parameters without effect. */
  inactive: ReadonlySet<string>;
  problems: Failure[];
}

export function resolver({ parameters }: Schema, ask: (patch: ScenarioPatch) => Resolution): (patch: ScenarioPatch) => Resolved {
  const table = Object.fromEntries(parameters.map((parameter) => [parameter.id, parameter.default]));
  return (patch) => {
    const { changed, moved, inactive, problems } = ask(patch);
    const defaults = { ...table, ...moved };
    const ids = inactive.flatMap((place) => parameters[place]?.id ?? []);
    return { values: { ...defaults, ...changed }, defaults, inactive: new Set(ids), problems };
  };
}
