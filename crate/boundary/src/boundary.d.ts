// The types that cross the wasm boundary: what `convert.rs` and the modules beside it take and return. They are appended to
// wasm-bindgen's declarations, and a test (`tests/browser.rs`) compares the keys of most with what is serialised.

/** A parameter's value: numbers for number and integer, text for choice and text, flags for boolean, numbers for list. */
export type ParameterValue = number | string | boolean | number[];

/** Values by dotted path ("workload.rate_rps"); a path that is absent has its default. */
export type ScenarioPatch = Record<string, ParameterValue>;

export interface SliderRange { min: number; max: number; scale: "linear" | "log"; step: number }

/** One row of the parameter table. */
export interface Parameter {
  id: string;
  /** Short key of the address. */
  key: string;
  group: string;
  type: "number" | "integer" | "choice" | "boolean" | "list" | "text";
  /** "" | "req/s" | "s" | "ms" | "tokens" | … */
  unit: string;
  /** Hard bounds, for number and integer, and for each entry of a list. */
  min?: number;
  max?: number;
  slider?: SliderRange;
  /** Meaningful places on the slider: value and message key ("mark.poisson"). */
  marks: { value: number; message: string }[];
  options: string[];
  /** What the options are called in every language; empty where each language has its own names. */
  names: string[];
  /** In the default scenario; `Resolution.moved` has the default beside other settings. */
  default: ParameterValue;
  /** All must hold for the parameter to have an effect. */
  applies: Condition[];
  /** "score": the run stays as it is, only its judgement changes (the SLO). */
  changes: "run" | "score";
  /** 0 is no value but none: a limit or a bound that is not set. */
  off_at_zero?: true;
}

/** A condition on another parameter: one of these values, none of them, a number above this one, entries that differ, a check in the chain; or one or all of several conditions. */
export type Condition =
  | { parameter: string; in: ParameterValue[] } | { parameter: string; not: ParameterValue[] } | { parameter: string; above: number }
  | { parameter: string; varied: true } | { parameter: string; check: string } | { any: Condition[] } | { all: Condition[] };

/** What a trace carries, as far as settings depend on it. */
export interface Traffic {
  /** Different adapters and users, up to 2. */
  adapters: number; users: number;
  has_ranks: boolean; has_sessions: boolean; is_closed: boolean; has_prefixes: boolean; has_caps: boolean;
}

export interface Schema {
  version: number;
  groups: string[];
  /** The sections of the controls: the parameters that each begins with, and its groups. */
  sections: { name: string; first: string[]; groups: string[] }[];
  /** Names of reasons why a parameter has no effect that are no conditions. */
  reasons: string[];
  parameters: Parameter[];
  calibrations: { id: string; gpu: string; model: string; source: string }[];
}

/** What a scenario means, as far as it differs from the schema's parameters. */
export interface Resolution {
  /** Values that are set. */
  changed: Record<string, ParameterValue>;
  /** Defaults that other settings have moved away from the schema's. */
  moved: Record<string, ParameterValue>;
  /** Places among the schema's parameters of those without effect. */
  inactive: number[];
  /** Why, one entry each: a set of places among its `applies` as bits, or -1 - the place of a reason among the schema's. */
  why: number[];
  problems: Failure[];
}

/** An error: `code` and `params` fill a message of the page, `message` is the English text. */
export interface Failure {
  code: string;
  path: string;
  message: string;
  params: Record<string, string | number>;
}

/** A replica's hardware and model: what lies in each GPU's memory, and how far its times can be trusted. */
export interface DeploymentView {
  gpu: string;
  model: string;
  layers: number;
  gpus: number;
  nodes: number;
  node_link_gb_s: number;
  memory_gb: number;
  /** From the bottom; they overflow the memory by `missing_gb`. */
  parts: { name: "weights" | "activations" | "adapters" | "kv" | "margin"; gb: number }[];
  missing_gb: number;
  kv_tokens: number;
  usd_per_hour: number | null;
  price: PriceQuote | null;
  /** `measured_on` is "" for the data sheet's peaks; `best` and `worst` are median errors of a layer by model. */
  cost: { measured_on: string; own: boolean; best: number; worst: number };
  /** For timed operators and measured kernels. */
  timed: TimedSource | null;
}

export interface TimedSource {
  kind: "profile" | "kernels";
  name: string;
  file: string | null;
  /** Of a profile: operators and attention, each with its relative errors. */
  parts: { name: string; origin: TimedOrigin; median_error: number; p95_error: number }[];
  /** Where nothing was timed: of `points` median and 95th percentile, of `heads` the medians of the best and the worst predicted. */
  held_out: { name: "products" | "decode" | "prompts"; unseen: "points" | "heads"; from: number; to: number }[];
  /** Kernels that were not timed for the deployment, by the names of their tables: related ones stand in. */
  stand_ins: string[];
}

/** Files of measurements, or one fitted profile, and what they do not say. */
export interface ProfileFiles { files: { name: string; text: string }[]; gpu: string; model: string; layers: number }

/** A profile that was loaded; degree 0: of all degrees. Without points there was nothing to compare with. */
export interface FittedProfile {
  name: string;
  gpu: string;
  model: string;
  text: string;
  degrees: number[];
  errors: { degree: number; name: string; origin: TimedOrigin; points: number; median: number; p95: number }[];
  notes: Failure[];
}

export type TimedOrigin = "measured" | "reconstructed" | "synthetic" | "modelled";

/** Thrown by every fallible call. */
export interface Failures { failures: Failure[] }

/** Mean and quantiles of a time in seconds; null where there are too few samples. */
export interface Distribution {
  mean: number | null; p50: number | null; p90: number | null; p95: number | null; p99: number | null; max: number | null;
}

export interface GroupRow {
  /** Index of the user or adapter; -1 is the base model. */
  id: number;
  rank: number;
  offered: number; completed: number; rejected: number;
  input_tokens: number; output_tokens: number;
  rate_rps: number | null;
  expected_share: number | null; share: number;
  ttft_mean_s: number | null; ttft_p99_s: number | null; e2e_mean_s: number | null; queue_mean_s: number | null;
  attainment: number | null; attainment_all: number | null;
}

export interface Summary {
  digest: string;
  requests: {
    offered: number; completed: number; rejected: Record<string, number>; rejected_total: number;
    timed_out: number; unfinished: number; cancelled: number;
  };
  makespan_s: number;
  throughput_rps: number | null;
  strip_throughput_rps: number | null;
  output_tokens_per_s: number | null;
  total_tokens_per_s: number | null;
  /** Prompt tokens for each output token of the requests offered (P:D). */
  pd_ratio: number | null;
  ttft_s: Distribution; tbt_s: Distribution; tpot_s: Distribution; e2e_s: Distribution; normalized_s: Distribution;
  queue_s: Distribution;
  /** Mean of each part of E2E over completed requests; the parts of one request add up to its E2E exactly. */
  split_s: { queue: number | null; adapter_load: number | null; prefill: number | null; stalled: number | null; decode: number | null };
  /** Bounds that are not set are missing. `attainment` goes by TTFT alone, `attainment_all` and goodput by every bound. */
  slo: { ttft_s: number | null; tpot_s: number | null; tbt_s: number | null; attainment: number | null; attainment_all: number | null; satisfaction: number | null; goodput_rps: number | null };
  batch: { iterations: number; mean_size: number | null; mean_time_s: number | null };
  /** The pool is that of a replica; S-LoRA and LightLLM count tokens, not blocks. */
  kv: { mean_usage: number | null; peak_usage: number | null; pool_tokens: number; pool_blocks: number | null };
  /** Where prefixes are cached: prompt tokens found over those looked up, for each admission. */
  prefix_cache: { hit_rate: number | null; looked_up_tokens: number; cached_tokens: number } | null;
  gpu: { busy: number | null; mfu: number | null; bandwidth: number | null };
  preemptions: number;
  /** `load_s` is how long iterations waited for adapters. */
  adapters: {
    loads: number; mean_resident: number | null; evictions: number; load_s: number; asked_for: number;
  };
  /** Different users who sent requests. */
  users: number;
  /** The busiest hundred, by number of requests. */
  per_user: GroupRow[];
  per_adapter: GroupRow[];
  /** Where prompts are told in blocks: the share of prompt tokens that a cache without limit would find. */
  prefix: { block_tokens: number; hit_share: number } | null;
  /** Of a fleet, in its file alone: a page asks for it by itself. So it does for `gpu.mfu` and `gpu.bandwidth`. */
  fleet?: FleetSummary | null;
  /** Of a proxy before the engine; the simulator that the page starts with has none. */
  gateway?: GatewaySummary | null;
  /** Median absolute errors of mean TTFT and mean TPOT against measured deployments; null where none can be run so. */
  expected_error: { ttft: number; tpot: number; rows: number; of: "model_and_gpu" | "gpu" | "all" } | null;
  warnings: Failure[];
}

/** The service at one time. The columns of a station have one entry a request, of the first few hundred; counts are of all. */
export interface Moment {
  time_s: number;
  last_arrival_s: number;
  end_s: number;
  /** How long it is until the next requests arrive, seconds, the first first. */
  coming_s: number[];
  coming_users: number[];
  at_gateway: number;
  rejected: number;
  waiting: number;
  waiting_users: number[];
  running: number;
  running_users: number[];
  /** 0 prefill, 1 decode, 2 stalled. */
  running_phases: number[];
  /** Replicas that compute an iteration, that load adapters before one, and all. */
  computing: number;
  loading: number;
  replicas: number;
  /** Of the iterations under way. */
  prompt_tokens: number;
  decodes: number;
  iteration_s: number;
  kv_tokens: number;
  adapter_tokens: number;
  pool_tokens: number;
}

/** What the proxy did. */
export interface GatewaySummary {
  attempts: number; refusals: Record<string, number>; timeouts: number; retried: number; unlisted_attempts: number;
  /** Requests that needed no second attempt. */
  first_attempt: { completed: number; goodput_rps: number | null; attainment: number | null; attainment_all: number | null };
  /** Requests that had to wait at the gateway, by what held them last. */
  held: Record<string, number>;
  wait_s: Distribution; estimate_error_s: Distribution; estimate_relative_error: number | null;
  prediction: { ratio: Distribution; over_share: number | null; under_share: number | null };
  /** (seconds, state) of each change; it begins with underload. */
  states: [number, string][];
  state_share: Record<string, number>;
  mean_reserved: number | null; reserved_tokens: number; leaked_tokens: number;
}

/** What the summary says of a fleet beside the rest. */
export interface FleetSummary {
  /** GPU seconds of all replicas by class of operator. */
  operators_s: Record<string, number>;
  per_replica: ReplicaRow[];
  execution_s: Distribution; preempted_s: Distribution; prefill_per_token_s: Distribution; decode_per_token_s: Distribution;
}

/** One replica of a fleet over the makespan. */
export interface ReplicaRow {
  id: number; requests: number; completed: number; iterations: number; busy: number | null;
  mean_size: number | null; tokens_per_iteration: number | null;
  mean_kv: number | null; peak_kv: number | null; prefix_hit_rate: number | null; preemptions: number;
  mfu: number | null; bandwidth: number | null;
}

/** How to look at the monitor: `sort` is the name of a column, or "id"; `window` the part of the run that the charts show. */
export interface MonitorOptions {
  client: "user" | "adapter"; sort: string; descending: boolean; rows: number; window: [number, number] | null;
}

/** What each client used. Values stand in the order of the columns; `refused_…` are those of reasons that occurred. */
export interface MonitorView {
  client: "user" | "adapter";
  /** How many clients there are; `rows` has the first of them as they are sorted. */
  clients: number;
  columns: { name: string; kind: "count" | "number" | "seconds" | "share" }[];
  /** -1 is the base model. */
  rows: { id: number; values: (number | null)[] }[];
  /** Who has which colour in the charts; all others are the last series. */
  charted: { role: string; id: number }[];
  jain: number | null;
  largest_gap_per_s: number | null;
  wasted_tokens: number;
  /** Prompt and output tokens of all clients. */
  computed_tokens: number;
  /** Requests whose KV memory over time is interpolated. */
  kv_interpolated: number;
  charts: ChartData[];
}

/** Why a rate does not meet the goal of a capacity search. */
export type CapacityMiss =
  | { kind: "bound"; metric: string; value_s: number | null; limit_s: number }
  | { kind: "unserved"; requests: number; offered: number }
  | { kind: "too_long"; requests: number; offered: number }
  | { kind: "growing"; growth: number };

/** The times of `quantile_s` are TTFT, TBT, E2E and the time in the waiting queue. */
export interface CapacityMeasures {
  requests: number; quantile_s: (number | null)[]; throughput_rps: number; output_tokens_per_s: number;
  growth: number; growth_noise: number;
}

/** `rate_rps` is the rate that the run had, `asked_rps` the one that was asked for. */
export interface CapacityProbe { rate_rps: number; asked_rps: number; duration_s: number; measures: CapacityMeasures; miss: CapacityMiss | null }

/** `deviation` is one standard deviation of the rate as a share of it; `needs_s` a duration that is long enough where `run_s` is not. */
export interface Capacity {
  rate_rps: number | null; asked_rps: number | null; missed_rps: number | null; miss: CapacityMiss | null; measures: CapacityMeasures | null;
  run_s: number | null; deviation: number | null; needs_s: number | null; notes: Failure[];
  price: Price; load_rps: number;
  probes: CapacityProbe[];
}

/** The load of a setting, its capacity, and the first over the second. */
export interface CapacityLoad { load_rps: number; capacity_rps: number; share: number }

/** Every configuration with all that it changes of the defaults; `columns` are those of the ranking's CSV; notes name the axes that have no effect. */
export interface CapacityGrid { axes: string[]; columns: string[]; notes: Failure[]; configurations: { values: string[]; scenario: ScenarioPatch }[] }

/** A listed price; `kind` is a value of capacity.price_kind, `date` YYYY-MM-DD where the source says so. */
export interface PriceQuote { usd_per_gpu_hour: number; kind: string; source: string; date: string | null; what: string }

/** `kind` is "own" where the price was set. `quote` is of another kind where none of this kind is known. */
export interface Price {
  gpus: number; replicas: number; gpu: string; usd_per_gpu_hour: number | null; kind: string; quote: PriceQuote | null;
}

export interface CapacityEntry {
  rate_rps: number | null; load_rps: number; gpus: number; replicas: number; gpu: string; usd_per_gpu_hour: number | null;
  ttft_s: number | null; tbt_s: number | null;
  /** What was simulated at the load; `holds` is null where so many replicas cannot be simulated. */
  tried: { replicas: number; holds: boolean | null }[];
}

/** What serves the load; `load_share` is the load over the capacity of these replicas, `headroom` by which share of itself it can rise to that. */
export interface CapacityNeed { load_rps: number; replicas: number; gpus: number; usd_per_hour: number | null; load_share: number; headroom: number }

/** `rank` is null where a configuration cannot be compared: `unranked` says why. */
export interface CapacityStanding {
  place: number; rank: number | null; unranked: "no_rate" | "no_price" | "fails" | null; need: CapacityNeed | null; is_next: boolean;
  requests_per_usd: number | null; is_on_ttft_front: boolean; is_on_tbt_front: boolean;
}

/** The replicas that serve the load, simulated; `miss` is null where the SLO holds. */
export interface CapacityChecked {
  replicas: number; rate_rps: number; requests: number; quantile_s: (number | null)[]; miss: CapacityMiss | null;
  /** The share of all requests that met every bound of the SLO. */
  in_slo: number; digest: string;
  /** How long the traffic of the run went on: with it and the replicas the run can be made again. */
  duration_s: number;
  /** What delayed requests most at the rate that the search saw fail. */
  limit: { cause: string; share: number } | null;
  /** In English, as the terminal prints them. */
  told: { check: string; limit: string };
}

/** The usual metrics of a run, in their order; null where the summary has none. */
export interface MeasuredRun { values: (number | null)[]; digest: string }

/** A metric of A and B over the seeds: means, the difference B - A with its 95 % interval, and the same relative to A. */
export interface ComparedMetric {
  a: number | null; b: number | null;
  difference: number | null; low: number | null; high: number | null;
  relative: number | null; relative_low: number | null; relative_high: number | null;
  /** Seeds that have the metric in both runs. */
  seeds: number;
  /** Batches of one run in place of seeds. */
  batches: number | null;
  common_random_numbers_factor: number | null;
  /** In English, as the terminal prints them. */
  sentence: string; note: string | null;
}

/** By metric, a key path of the summary. */
export type Comparison = Record<string, ComparedMetric>;

/** Where does the better of A and B change? `over` as the terminal's `compare --turn` takes it: PATH=FROM:TO or PATH=FROM:TO:log. */
export interface TurnSpec { a: ScenarioPatch; b: ScenarioPatch; over: string; metric: string; seeds: number }

/** The metric at a value of the parameter, by seed. */
export interface TurnKnown { value: number; a: readonly (number | null)[]; b: readonly (number | null)[] }

/** Values are those of the parameter; `below` and `above` name the better one on that side. */
export interface TurnFound {
  parameter: string; metric: string; seeds: number;
  turns: { value: number; low: number; high: number; below: 'A' | 'B'; above: 'A' | 'B' }[];
  /** The difference B - A with its interval at every value that was simulated. */
  values: { value: number; difference: number | null; low: number | null; high: number | null }[];
  /** In English, as the terminal prints them. */
  sentences: string[];
}

/** `needs` is empty where the search is over; then `found` and `command` are there. */
export interface TurnStep {
  seeds: number[]; needs: { value: number; a: ScenarioPatch; b: ScenarioPatch }[];
  found?: TurnFound; command?: string; charts: ChartData[];
}

/** A sweep as the terminal's `sweep` takes it: `over` has a text for each parameter, PATH=FROM:TO:N, PATH=FROM:TO:N:log or PATH=VALUE,VALUE. */
export interface SweepSpec { scenario: ScenarioPatch; over: readonly string[]; metrics: readonly string[]; seeds: number }

/** What the runs of a sweep have in common. Run `index` is of point `index / seeds`; the last axis moves fastest. */
export interface SweepPlan {
  /** Digest of everything that its results depend on, but for the simulator itself. */
  sweep: string;
  runs: number; seeds: number;
  over: { path: string; values: ParameterValue[] }[];
  metrics: string[];
  /** The bound that the SLO sets to each metric. */
  bounds: (number | null)[];
  /** What laws of queueing theory say of each metric: null where none speaks of it. */
  expected: (SweepExpected | null)[];
  /** The terminal's command for the same. */
  command: string;
}

/** A value each point in the order of the sweep, null where no law holds, and what breaks the law at the first of these. */
export interface SweepExpected {
  points: ({ law: string; value: number } | null)[];
  obstacles: { path: string; value: ParameterValue; kind: 'is' | 'at_least' | 'above' | 'below'; wanted: ParameterValue[] }[];
}

/** A metric of a point over its seeds: the mean with its 95 % interval. */
export interface SweepCell { mean: number | null; low: number | null; high: number | null; seeds: number }

/** As the terminal's `sweep --json` has it. */
export interface SweepPoint {
  point: Record<string, ParameterValue>; metrics: Record<string, SweepCell>;
  /** By metric, where a law speaks of it. */
  expected?: Record<string, { law: string; value: number }>;
  error?: string;
}

/** What a chart of a sweep shows, and what its roles stand for: values of the other parameters. */
export interface SweepView {
  metric: string; x: string;
  /** Names of the laws that are drawn. */
  laws: string[];
  curves: { role: string; point: Record<string, ParameterValue> }[];
  /** Of a heat map: the parameter upwards, the values of the others, and what its shades mean. */
  y: string | null; fixed: Record<string, ParameterValue>; shades: { role: string; low: number; high: number }[];
}

/** What the runs so far say; `charts` go with `views`. */
export interface SweepResults { points: SweepPoint[]; views: SweepView[]; charts: ChartData[] }

/** A measured run as one module has read it for the other; times of requests in seconds. */
export interface ReadResult { tool: string; requests: object[]; notes: string[] }

/** A quantity in a measured run and in its simulation; times in seconds, errors as shares. */
export interface OverlaidMetric { measured: number | null; simulated: number | null; mape: number | null; bias: number | null; correlation: number | null }

/** A constant that was fitted on one half of the requests, and the errors on both halves. */
export interface OverlayFit {
  constants: Record<string, { before: number; after: number }>;
  runs: number;
  fitted_half: { before: Record<string, OverlaidMetric>; after: Record<string, OverlaidMetric> };
  left_out_half: { before: Record<string, OverlaidMetric>; after: Record<string, OverlaidMetric> };
}

/** A measured run over its simulation: the terminal's `overlay --json`, with the number of requests in their place. */
export interface OverlayTold {
  tool: string; in_flight: number | null; requests: number; unfinished: number;
  notes: string[];
  taken_over: { path: string; value: string; from: string }[];
  /** The settings of the simulation, with the constants as fitted. */
  scenario: ScenarioPatch;
  metrics: Record<string, OverlaidMetric>;
  by_input_length: { from_tokens: number; to_tokens: number; requests: number; ttft_bias: number | null; tpot_bias: number | null; e2e_bias: number | null }[];
  /** The terminal's sentence. */
  likely_cause: string;
  cause: { culprit: string; floor_s: number | null; slope_s_per_token: number | null; drift_s: number | null };
  fit?: OverlayFit;
  charts: ChartData[];
}

/** Times in seconds. */
export interface ComparedRequest { id: number; arrival_s: number; a_ttft_s: number; b_ttft_s: number; difference_s: number }

export interface ComparedRequests {
  paired: number; equal: number;
  unpaired: { a: number; b: number };
  first_token: { sooner_in_b: number; later_in_b: number; same: number; only_in_a: number; only_in_b: number };
  gained_most: ComparedRequest[]; lost_most: ComparedRequest[];
}

/** A decision of gateway or scheduler: whom it is about, what was decided, and which test compared what. */
export interface DecisionTold {
  time_s: number; replica: number | null; request: number | null; verdict: string; test: string;
  need: number | null; have: number | null; for_request: number | null;
  /** In English, as the terminal prints it. */
  sentence: string;
}

/** Two runs with the same seed. */
export interface ComparedPair {
  a: MeasuredRun; b: MeasuredRun;
  requests: ComparedRequests;
  /** Null where every decision is the same. */
  first_different_decision: { time_s: number; a: DecisionTold | null; b: DecisionTold | null } | null;
  /** Of a file: batches of its one run. */
  one_run: Comparison | null;
  charts_a: ChartData[]; charts_b: ChartData[]; charts: ChartData[];
}

/** One of the authors' points: recorded, with the default calibration, and with the one settled on one run a GPU. */
export interface PublishedPoint {
  policy: string; x: number; theirs: number; ours: number | null; one_run: number; is_tuned: boolean; is_settling: boolean;
  /** The scenario, as the part of an address behind "#". */
  link: string;
}

/** Errors at the points, without those that settled the calibration; `within` of them keep the bound. */
export interface PublishedErrors { max: number; mean: number; points: number; bound: number | null; within: number }

/** Shares of what was measured: mean and median of their size, and the mean with its sign. */
export interface RelativeErrors { count: number; mean: number; median: number; bias: number }

export interface PublishedFigure {
  sweep: string; measure: "throughput" | "e2e" | "first_token" | "attainment" | "rejected";
  points: PublishedPoint[]; ours: PublishedErrors | null; one_run: PublishedErrors | null;
}

/** What was read of a file. */
export interface SourceInfo {
  name: string; format: string; requests: number; span_s: number; rate_rps: number | null;
  input_tokens_mean: number; output_tokens_mean: number;
  /** Prompt tokens for each output token (P:D). */
  pd_ratio: number | null;
  /** The file's own number for each parameter of the workload that it decides, where it has one. */
  settings: { [id: string]: number };
  warnings: Failure[];
  traffic: Traffic;
  /** Rows that could not be read and were left out: all are counted, the first are listed. */
  bad_rows: { total: number; listed: { row: number; column: string; failure: Failure }[] };
  /** Requests whose output length the file does not have, and the length in tokens that each was given; 0 = none. */
  assumed_outputs: number; assumed_output_tokens: number;
}

/** The columns of a table of no known format, and what each role could be: its column and unit are a guess, or "". */
export interface Peeked {
  columns: { name: string; values: string[] }[];
  roles: { name: string; help: string; required: boolean; units: string[]; column: string; unit: string }[];
}

/** A field of a step. */
export interface StepField {
  name: string; help: string; unit: string; kind: "number" | "whole" | "choice" | "text";
  min: number; max: number; default: string;
  /** Whether it may be empty. */
  optional: boolean;
  options: string[];
}

export interface StepKind { name: string; help: string; fields: StepField[] }

/** The table of steps, and of joins of several sources. */
export interface StepKinds { steps: StepKind[]; joins: StepKind[] }

/** A trace in four numbers. */
export interface TraceShape { requests: number; span_s: number; rate_rps: number | null; gap_cv: number | null }

/** Something to tell: `code` and `params` fill a message of the page, `message` is the English text. */
export interface Fact { code: string; message: string; params: Record<string, number> }

/** What a step did. */
export interface StepNote { step: string; before: TraceShape; after: TraceShape; facts: Fact[] }

/** What the steps made of the sources. */
export interface Shaped { info: SourceInfo; notes: StepNote[] }

/** How far a twin is from its source: Kolmogorov distances, and its index of dispersion over the source's at 1, 10 and 60 s. */
export interface FitRow {
  model: string; about: string;
  gaps: number | null; input: number | null; output: number | null; users: number | null;
  dispersion: (number | null)[];
}

export interface FitReply {
  models: FitRow[];
  noticed: Fact[];
  laws: {
    rate_rps: number; cv: number | null; cv_within_minutes: number | null;
    gamma_shape: number | null; weibull_shape: number | null; dispersion: (number | null)[];
    input: { law: string; distance: number | null } | null;
    output: { law: string; distance: number | null } | null;
    length_correlation: number | null;
    users: { law: string; parameter: number | null; divergence_nats: number | null } | null;
  };
}

/** A trace, one entry a request in order of arrival in every column that does not say otherwise. */
export interface TraceColumns {
  arrival_us: Float64Array;
  user: Uint32Array;
  /** 4294967295 is the base model. */
  adapter: Uint32Array;
  input_tokens: Uint32Array; output_tokens: Uint32Array; max_tokens: Uint32Array;
  /** The request whose end is waited for, 4294967295 for none, and the time after it; empty where no request waits. */
  after: Uint32Array; think_us: Float64Array;
  /** One time, from which on nothing that waited is sent; it may be infinite. */
  until_us: Float64Array;
  /** Who belongs to one session (4294967295: none), and what the original system took; each may be empty. */
  session: Uint32Array; took_s: Float64Array;
  /** Rank by adapter. */
  adapter_rank: Uint32Array;
  /** Pairs of microseconds and request. */
  cancellations: Float64Array;
}

export interface Axis {
  unit: string;
  scale: "linear" | "log";
  /** "time" axes share one clock, one cursor and one zoom. */
  kind: "time" | "value" | "index";
  min: number;
  max: number;
}

export interface Series {
  /** Colour, dash and marker of charts::role; also the legend's message key ("role.arrivals"). */
  role: string;
  mark: "line" | "step" | "area" | "band" | "bars" | "points" | "rule_x" | "rule_y";
  x: Float64Array;
  y: Float64Array;
  /** Lower edge of areas, bands and stacked bars; right edge of bars is `x2`. Empty = 0. */
  y0: Float64Array;
  /** Right edge of bars. Empty otherwise. */
  x2: Float64Array;
  /** Request ids of points, for selection. Empty otherwise. */
  id: Float64Array;
}

/** The data of one chart, already down-sampled. */
export interface ChartData {
  name: string;
  x: Axis;
  y: Axis;
  series: Series[];
  /** Message key that says why there is nothing to draw, or "". */
  empty: string;
  /** Names of categories on an index axis (adapter or length class), or []. */
  categories: string[];
}

/** Where a chart's data lies on its canvas, CSS pixels and data units: hover is arithmetic on this. */
export interface PlotFrame { left: number; top: number; right: number; bottom: number; x_min: number; x_max: number; y_min: number; y_max: number }

/** One request: its lengths, its times in seconds, and what it found when it arrived. */
export interface RequestFacts {
  id: number; user: number; adapter: number; rank: number;
  input_tokens: number; output_tokens: number; max_tokens: number; outcome: string;
  arrival_s: number; scheduled_s: number | null; first_token_s: number | null; finish_s: number | null;
  queue_s: number; adapter_load_s: number; prefill_s: number; stalled_s: number; decode_s: number;
  /** Waiting requests in front of it when it arrived, running ones, and KV tokens in use. */
  ahead: number; running_at_arrival: number; kv_tokens_at_arrival: number;
}

/** Seconds of one cause (`kv_memory`, `token_budget`, …). */
export interface CauseTime { cause: string; seconds: number }

/** A delay of a request: when it began, behind whom, and what the test that failed compared. */
export interface RequestDelay extends CauseTime {
  at_s: number;
  behind: { user: number; requests: number; of_all: number; share: number } | null;
  need: number | null; have: number | null;
}

/** One request's time by cause, and its delays, the longest first. */
export interface RequestWhy { id: number; total_s: number; delayed_s: number; causes: CauseTime[]; delays: RequestDelay[] }

/** Requests of one user or adapter; index -1: the base model, null: all further ones. */
export interface WhyGroup {
  index: number | null; requests: number; causes_s: number[];
  /** By the group that held what was waited for, in the order of the groups; the last: no request did. */
  delayed_by_s: number[];
}

export interface Why { causes: CauseTime[]; users: WhyGroup[]; adapters: WhyGroup[] }

export interface Delayed { id: number; delayed_s: number }

export interface RunOptions {
  /** Columns of the time charts, about one a pixel. */
  columns: number;
  /** Zoom of the time charts in seconds, or null for the whole run. */
  window: [number, number] | null;
  /** Split of `time_split`: "adapter", "user" or "length". */
  split_by: string;
  /** Names of the charts that are looked at just now: they come with the summary, the others when asked for. Null: all. */
  in_sight: string[] | null;
}

/** The headline numbers of a run by key path; null where the run has too few requests for one. */
export type Headline = Record<string, number | null>;

/** The axes that bands over seeds are drawn on: ends in seconds. */
export interface SeedSpans { time_s: [number, number]; latency_s: [number, number] }

/** A run of a further seed: its headline numbers, and its curves on those axes. */
export interface SeedRun { headline: Headline; curves: { chart: string; role: string; y: number[] }[] }

/**
 * A number over the seeds that have it, from its lowest to its highest value; `difference` is what it differs by from the setting
 * before over common seeds, with its interval.
 */
export interface SeedRange {
  low: number; high: number; seeds: number; is_clear: boolean;
  difference: { a: number; b: number; difference: number; low: number; high: number; seeds: number } | null;
}
