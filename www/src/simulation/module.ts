// The one place of the page's thread that touches the generated package.
import init, { deployment_file, palette as readPalette, resolve as resolution, schema as readSchema, vllm_serve } from '../../pkg/servescope.js';
import address from '../../pkg/servescope_bg.wasm?url';
import { resolver, type Resolved, type Resolver } from './resolved.js';
import { isCallErrors, type ScenarioPatch, type Schema, type Traffic } from './types.js';
import { Refusal } from './worker-link.js';

export {
  ChartSurface, command, encode_link as encodeLink, grid_to_begin_with as gridToBeginWith, has_measured_kernels as hasMeasuredKernels, parse_link as parseLink,
  random_seed as randomSeed, relative_errors as relativeErrors, remedy, scenario_from_json as scenarioFromJson, scenario_json as scenarioJson, seed_bands as seedBands, seed_ranges as seedRanges, seed_spans as seedSpans,
} from '../../pkg/servescope.js';

let table: Schema | null = null;
let resolving: Resolver | null = null;

/** The compiled module's file, whose name is another for every other content. */
export const moduleFile = address;

const palettes = new Map<boolean, Record<string, string>>();

/** The colour of every role: asked once, since a picture that moves needs it with every frame. */
export function palette(dark: boolean): Record<string, string> {
  const known = palettes.get(dark) ?? readPalette(dark);
  palettes.set(dark, known);
  return known;
}

/** The parameter table. */
export function schema(): Schema {
  return (table ??= readSchema());
}

/** What a scenario means, over a trace that carries `traffic` where there is one. */
export function resolve(patch: ScenarioPatch, traffic: Traffic | null = null): Resolved {
  return (resolving ??= resolver(schema(), resolution))(patch, traffic);
}

/** The command of vLLM for a scenario, over the trace that carries `traffic`. */
export function vllmServe(scenario: ScenarioPatch, traffic: Traffic | undefined): string {
  try {
    return vllm_serve(scenario, traffic);
  } catch (thrown) {
    throw isCallErrors(thrown) ? new Refusal(thrown.errors) : thrown;
  }
}

/** The file of a platform that deploys vLLM, for a scenario. */
export function deploymentFile(scenario: ScenarioPatch, platform: Platform): string {
  try {
    return deployment_file(scenario, platform);
  } catch (thrown) {
    throw isCallErrors(thrown) ? new Refusal(thrown.errors) : thrown;
  }
}

/** Platforms that deploy vLLM. */
export type Platform = 'llm-d' | 'dynamo';

/** Fetches and compiles once; the compiled module is shared with every worker that simulates. */
export async function loadModule(): Promise<WebAssembly.Module> {
  const module = await compile(new URL(address, import.meta.url));
  await init({ module_or_path: module });
  return module;
}

async function compile(url: URL): Promise<WebAssembly.Module> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url.pathname}: HTTP ${String(response.status)}`);
  const typed = response.headers.get('content-type')?.startsWith('application/wasm') === true;
  // A static host that does not know the type would make streaming compilation fail.
  return typed ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}
