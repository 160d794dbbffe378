// What the page asks of the studio's worker. Every call gets exactly one reply; `open` reports its progress.
import type { Picture } from './picture.js';
import type { Inputs } from '../simulation/inputs.js';
import type { ReadResult, ChartData, FitReply, FittedProfile, LengthsFile, MeasuredRun, OwnModel, Peeked, ProfileFiles, RecognisedFile, ScenarioPatch, Shaped, SourceInfo, StepKinds, SweepPlan, SweepResults, SweepSpec, TraceColumns, CrossoverKnown, CrossoverSpec, CrossoverStep } from '../simulation/types.js';
import type { Reading } from '../state/traffic.js';
import type { Reply } from '../simulation/worker-link.js';

export interface StudioCalls {
  /** Reads a file, which becomes the source, or one more. */
  open: { args: { file: File; add: boolean } & Reading; reply: SourceInfo };
  /** The columns of a file that is in no known format. */
  peek: { args: { file: File }; reply: Peeked };
  /** What the scenario generates becomes the source. */
  materialize_generated: { args: { name: string; scenario: ScenarioPatch }; reply: SourceInfo };
  /** The twin becomes the source. */
  use_twin: { args: { name: string }; reply: SourceInfo };
  apply_pipeline: { args: { join: string; steps: string[] }; reply: Shaped };
  fit: { args: { model: string; seed: number }; reply: FitReply };
  kinds: { args: null; reply: StepKinds };
  close: { args: null; reply: null };
  /** Looks at what a scenario simulates: generated requests, or the file's as its settings scale them. */
  select: { args: { scenario: ScenarioPatch }; reply: null };
  charts: { args: { columns: number }; reply: { charts: ChartData[]; before: ChartData[] } };
  columns: { args: null; reply: TraceColumns };
  export: { args: { format: string }; reply: { bytes: Uint8Array<ArrayBuffer>; lost: string[] } };
  /** Request bodies, with the sampling of the scenario. */
  bodies: { args: { scenario: ScenarioPatch; form: string; endpoint: string; model: string; adapterName: string }; reply: { bytes: Uint8Array<ArrayBuffer>; lost: string[] } };
  svg: { args: Picture; reply: string };
  /** Fits a profile to files of measurements, or reads one. */
  profile: { args: ProfileFiles; reply: FittedProfile };
  formats: { args: null; reply: string[] };
  forms: { args: null; reply: string[] };
  /** A scenario with the model of a config.json. */
  model_config: { args: { name: string; text: string; quantization: string | null; scenario: ScenarioPatch }; reply: OwnModel };
  /** What the runs of later sweeps take beside their scenario. */
  /** What a file is; what a launch line sets is set in the scenario. */
  recognise: { args: { file: File; scenario: ScenarioPatch }; reply: RecognisedFile };
  /** The scenario with its lengths drawn from a file. */
  lengths: { args: { file: File; scenario: ScenarioPatch }; reply: LengthsFile };
  /** The settings with the arrivals of a file of rates over time. */
  curve: { args: { file: File; scenario: ScenarioPatch }; reply: { scenario: ScenarioPatch } };
  /** The settings of a scenario file. */
  scenario: { args: { file: File }; reply: { scenario: ScenarioPatch } };
  /** The measured run of a result file, for a thread of the pool: the run of that place in it, from 1 on, or the first for 0. */
  result: { args: { files: readonly File[]; benchmark: number }; reply: ReadResult };
  /** The next step of a search for where the better of two settings changes, a new one with a `spec`; `more` is known since the last step. */
  crossover_step: { args: { spec: CrossoverSpec | null; more: readonly CrossoverKnown[] }; reply: CrossoverStep };
  sweep_inputs: { args: Inputs; reply: null };
  sweep_plan: { args: { spec: SweepSpec }; reply: SweepPlan };
  /** The settings of a run, its seed among them. */
  sweep_scenario: { args: { spec: SweepSpec; index: number }; reply: { scenario: ScenarioPatch } };
  /** The line of a run as the terminal writes it; null: `why` it could not be made. */
  sweep_line: { args: { spec: SweepSpec; index: number; shown: MeasuredRun | null; why: string }; reply: string };
  /** What the finished runs say. */
  sweep_csv: { args: { plan: SweepPlan; lines: string }; reply: string };
  sweep_results: { args: { plan: SweepPlan; lines: string; asMap: boolean }; reply: SweepResults };
}

export type CallName = keyof StudioCalls;
export type ToStudio = { [K in CallName]: { ticket: number; call: K; args: StudioCalls[K]['args'] } }[CallName];
export type FromStudio = Reply<StudioCalls[CallName]['reply']>;
