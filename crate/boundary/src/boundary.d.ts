// Written by `cargo xtask generate` from the structs that cross the boundary; a change here is lost.
// Times are in the unit of their name, counts are numbers; `null` is a value that does not exist.

/** Adapter swapping. */
export type AdapterUse = {
  /** Times an adapter was loaded. */
  loads: number,
  /** Time average of the number on the GPUs, all replicas together. */
  mean_resident: number | null,
  /** Times that an adapter was evicted. */
  evictions: number,
  /** Time for which iterations waited for adapters to be loaded, seconds. */
  load_s: number,
  /** Different adapters asked for, the base model not counted. */
  asked_for: number,
};

/** What all requests waited, and the few that most of it was behind. */
export type AllWaiting = {
  /** Seconds of all requests together. */
  seconds: number,
  /** Their part of the time of all requests. */
  share: number,
  /** The requests that at least half of it was behind; none where less than half was behind any. */
  behind: WaitedFor | null,
};

/** One axis of a chart. */
export type Axis = {
  /** Unit, or "". */
  unit: string,
  /** How values become lengths. */
  scale: ScaleKind,
  /** What the values are; decides on the ticks. */
  kind: AxisKind,
  /** Value at the left or lower end. */
  min: number,
  /** Value at the right or upper end. */
  max: number,
};

/** What an axis counts. */
export type AxisKind = "time" | "value" | "index";

/** Iterations, prefills and decodes alike. */
export type BatchMeans = {
  /** How many. */
  iterations: number,
  /** Mean number of requests in one. */
  mean_size: number | null,
  /** Mean duration, seconds. */
  mean_time_s: number | null,
};

/** How one run was divided. */
export type Batches = {
  /** Requests cut at the start, in the order of arrival. */
  cut_requests: number,
  /** Requests of a batch. */
  batch_requests: number,
  /** Whether neighbouring batches depend on one another: the interval is too narrow then. */
  is_dependent: boolean,
};

/** The distribution that fits best. */
export type BestDistribution = {
  /** Its name. */
  distribution: string,
  /** Kolmogorov's distance. */
  distance: number | null,
};

/** The distribution of users that fits best. */
export type BestUsers = {
  /** Its name. */
  distribution: string,
  /** Its parameter. */
  parameter: number | null,
  /** Divergence of the shares from it, nats. */
  divergence_nats: number | null,
};

/** Thrown by every call that can fail. */
export type CallErrors = {
  /** What is wrong. */
  errors: Array<Diagnostic>,
};

/** What a search found. */
export type Capacity = {
  /** The highest rate that was seen to meet the goal, as the run had it; none when the lowest fails already. */
  rate_rps: number | null,
  /** The rate that was asked for in that run: `workload.rate_rps`. */
  asked_rps: number | null,
  /** The lowest rate that was seen to fail, as the run had it; none when the highest that can be asked for passes. */
  missed_rps: number | null,
  /** Why that rate fails. */
  miss: CapacityMiss | null,
  /** What the run at `rate_rps` showed. */
  measures: CapacityMeasures | null,
  /** How long that run was, seconds. */
  run_s: number | null,
  /** One standard deviation of the rate, as a share of it; none where the runs do not give it. */
  deviation: number | null,
  /** Where the runs were too short for the tolerance: how long they should be, seconds. */
  needs_s: number | null,
  /** What a reader of the rate should know: that the runs were too short, or that their rate is not the one asked for. */
  notes: Array<Diagnostic>,
  /** What the GPUs cost. */
  price: Price,
  /** The limit of the scheduler without which it serves clearly more; none where none was found, or none was looked for. */
  binding: CapacityBinding | null,
  /** How far the iteration times are to be expected from a real server's. */
  expected_error: ExpectedError | null,
  /**
   * The scenario's own load, requests a second: the mean over its duration where the rate changes, and that of a file at
   * its own speed.
   */
  load_rps: number,
  /** What the replicas serve when they are saturated, requests a second; missing where that was not simulated. */
  saturated_rps: number | null,
  /** Every run, in the order in which they were made. */
  probes: Array<CapacityProbe>,
};

/** A limit of the scheduler without which the service serves clearly more. */
export type CapacityBinding = {
  /** The path of the parameter. */
  parameter: string,
  /** Its value. */
  value: number,
  /** A value with which it serves more. */
  raised: number,
  /** The rate that then meets the goal, requests a second; the rate that fails is lower. */
  rate_rps: number,
};

/** The replicas that serve the load, simulated. */
export type CapacityChecked = {
  /** The terminal's words for it. */
  described: CheckedDescribed,
  /** Replicas that were simulated. */
  replicas: number,
  /** The load that the run had, requests a second. */
  rate_rps: number,
  /** Requests of the run. */
  requests: number,
  /** The goal's quantile of each of [`METRICS`], seconds; missing where it is infinite or there is no sample. */
  quantile_s: [number | null, number | null, number | null, number | null, number | null],
  /** The share of all requests that were completed within every bound of the SLO. */
  in_slo: number,
  /** The digest of the run, hexadecimal. */
  digest: string,
  /** How long its traffic was asked to go on, seconds: with it the same run can be made again. */
  duration_s: number,
  /** Why the goal is not met; none where it is. */
  miss: CapacityMiss | null,
  /** What limits the deployment at the rate that the search saw fail; none where no rate failed, or nothing was delayed. */
  limit: CapacityLimit | null,
};

/** Why no higher rate passes, the notes, and the limit that binds, in English. */
export type CapacityDescribed = {
  /** For a configuration whose price is known or not asked for. */
  priced: string,
  /** Behind why there is no price. */
  unpriced: string,
  /** The limit of the scheduler that binds; empty where none was found. */
  binding: string,
};

/** What the order of a configuration depends on. */
export type CapacityEntry = {
  /** The values of the axes of the workload: configurations of one workload are compared with each other. */
  workload: Array<string>,
  /** The rate found. */
  rate_rps: number | null,
  /** The load to be served. */
  load_rps: number,
  /** GPUs. */
  gpus: number,
  /** Replicas that they make. */
  replicas: number,
  /** Whether the fleet is taken as it is, with no replica more or fewer. */
  is_fixed: boolean,
  /** Which GPUs; "" where the cost model names none. */
  gpu: string,
  /** What one of them costs. */
  usd_per_gpu_hour: number | null,
  /** Tokens of a request on average, its prompt and its output; none where that is not known. */
  tokens_per_request: number | null,
  /** How far times are to be expected from a real server's: the larger error of TTFT and TPOT; none where it is not known. */
  error: number | null,
  /** The goal's quantile of TTFT at that rate, seconds. */
  ttft_s: number | null,
  /** The same of TBT. */
  tbt_s: number | null,
  /** What was simulated at the load. */
  tried: Array<CapacityTried>,
};

/** The configurations of a grid. */
export type CapacityGrid = {
  /** Paths of the axes. */
  axes: Array<string>,
  /** Columns of the ranking's CSV. */
  columns: Array<string>,
  /** Names the axes that have no effect. */
  notes: Array<Diagnostic>,
  /** Every combination of the axes. */
  configurations: Array<GridConfiguration>,
};

/** The cause with the largest part in the delays of requests. */
export type CapacityLimit = {
  /** Its name ([`Cause::name`]). */
  cause: string,
  /** Its part of all delays. */
  share: number,
};

/** What a run showed. */
export type CapacityMeasures = {
  /** Requests offered. */
  requests: number,
  /**
   * The goal's quantile of each of [`METRICS`], seconds, over all requests offered: one that was rejected, timed out or
   * never served counts as infinitely late. Missing where it is infinite or there is no sample.
   */
  quantile_s: [number | null, number | null, number | null, number | null, number | null],
  /** Completed requests over the makespan. */
  throughput_rps: number,
  /** Tokens produced over the makespan. */
  output_tokens_per_s: number,
  /** Tokens of a completed request on average, its prompt and its output; missing where none was completed. */
  tokens_per_request: number | null,
  /** Outputs that are shorter than asked for. */
  cut_outputs: CutOutputs,
  /** By how much the number in the system grew once the first requests had left, as a share of the arrivals since. */
  growth: number,
  /** Growth up to this share is none, or may be chance. */
  growth_noise: number,
};

/** Why a rate does not meet the goal. */
export type CapacityMiss = { "kind": "bound",
  /** One of [`METRICS`]. */
  metric: string,
  /** The quantile, seconds; missing where it is infinite. */
  value_s: number | null,
  /** The bound, seconds. */
  limit_s: number, } | { "kind": "unserved",
  /** How many. */
  requests: number,
  /** Of how many. */
  offered: number, } | { "kind": "too_long",
  /** How many. */
  requests: number,
  /** Of how many. */
  offered: number, } | { "kind": "growing",
  /** As a share of the arrivals. */
  growth: number,
};

/** What serves the load: as many replicas as a replica's share of the capacity goes into it, or the fleet as it is. */
export type CapacityNeed = {
  /** The load, requests a second. */
  load_rps: number,
  /** Replicas: the load over the capacity of one, rounded up; of a fleet that is taken as it is all that it has. */
  replicas: number,
  /** Their GPUs. */
  gpus: number,
  /** What these cost an hour. */
  usd_per_hour: number | null,
  /** What a million tokens of the load cost, prompts and outputs together. */
  usd_per_million_tokens: number | null,
  /** The load as a share of their capacity. */
  load_share: number,
  /**
   * By which share of itself the load can rise until it is at their capacity, where the goal breaks; negative where a fleet that is
   * taken as it is does not serve it.
   */
  headroom: number,
  /** Whether that is less than 15 %. */
  is_tight: boolean,
  /**
   * Replicas for a load that is larger by the expected error of the times; none where that is not known or the fleet is taken
   * as it is.
   */
  cautious_replicas: number | null,
};

/** A run of the search. */
export type CapacityProbe = {
  /** The rate that the run had: requests that arrived over the time in which they did. */
  rate_rps: number,
  /** The rate that was asked for. */
  asked_rps: number,
  /** How long the traffic was asked to go on, seconds. */
  duration_s: number,
  /** What it showed. */
  measures: CapacityMeasures,
  /** Why it fails; `None` when it passes. */
  miss: CapacityMiss | null,
};

/** What a capacity search found. */
export type CapacityReply = {
  /** The capacity. */
  capacity: Capacity,
  /** The terminal's words for it. */
  described: CapacityDescribed,
  /** The runs of the search. */
  charts: Array<ChartData>,
};

/** How a configuration stands among the others. */
export type CapacityStanding = {
  /** Its place in the list. */
  place: number,
  /** 1 for the cheapest for the load; none where it cannot be compared. */
  rank: number | null,
  /** Why it cannot. */
  unranked: Unranked | null,
  /** What serves the load; none without a rate. */
  need: CapacityNeed | null,
  /** Whether that is to be simulated next: [`CapacityCheck`](super::CapacityCheck). */
  is_next: boolean,
  /** Requests for a dollar, at the rate found. */
  requests_per_usd: number | null,
  /** Whether no other has a shorter TTFT at the same or a lower cost of a request. */
  is_on_ttft_front: boolean,
  /** Whether no other has shorter TBT at the same or a lower cost of a request. */
  is_on_tbt_front: boolean,
};

/** Replicas that were simulated at the load. */
export type CapacityTried = {
  /** How many. */
  replicas: number,
  /** Whether the goal held; none where this many cannot be simulated. */
  holds: boolean | null,
};

/** Seconds of one cause. */
export type CauseTime = {
  /** Its name ([`Cause::name`]). */
  cause: string,
  /** How long. */
  seconds: number,
};

/** The data of one chart, already down-sampled to about two points a pixel column. */
export type ChartData = {
  /** Its name, a key of the page's texts; "" where it has none. */
  name: string,
  /** The horizontal axis. */
  x: Axis,
  /** The vertical axis. */
  y: Axis,
  /** What is drawn, from back to front. */
  series: Array<Series>,
  /** Message key that says why there is nothing to draw, or "". */
  empty: string,
  /** Names of equal slots of an index axis, from left to right, or none. */
  categories: Array<string>,
};

/** A charted client and its colour. */
export type ChartedClient = {
  /** The role of its series. */
  role: string,
  /** Index of the user or adapter; -1 is the base model. */
  id: number,
};

/** What a check showed, in English. */
export type CheckedDescribed = {
  /** Whether the goal holds. */
  check: string,
  /** What limits the deployment; empty where that is not known. */
  limit: string,
};

/** An obstacle as a page shows it. */
export type ClosedFormObstacle = {
  /** Path of the parameter. */
  path: string,
  /** Its value. */
  value: ParameterValue,
  /** What the closed form requires: one of `wanted`, or a number at least, above or below it. */
  kind: 'is' | 'at_least' | 'above' | 'below',
  /** The values. */
  wanted: Array<ParameterValue>,
};

/** A metric of A and B over the seeds: means, and the difference B - A with its 95 % interval. */
export type ComparedMetric = {
  /** Mean of A. */
  a: number | null,
  /** Mean of B. */
  b: number | null,
  /** B less A. */
  difference: number | null,
  /** Lower end of its interval. */
  low: number | null,
  /** Upper end. */
  high: number | null,
  /** The difference relative to A. */
  relative: number | null,
  /** Lower end of its interval. */
  relative_low: number | null,
  /** Upper end. */
  relative_high: number | null,
  /** Seeds that have the metric in both runs. */
  seeds: number,
  /** Batches of one run in place of seeds. */
  batches: number | null,
  /** How that run was divided. */
  batch_means: Batches | null,
  /** Why one run has no interval. */
  no_batches: NoBatches | null,
  /** By how much common random numbers shrink the interval. */
  common_random_numbers_factor: number | null,
  /** In English, as the terminal prints it. */
  sentence: string,
  /** What a reader should know, in English. */
  note: string | null,
};

/** Two runs with the same seed. */
export type ComparedPair = {
  /** The usual metrics of A. */
  a: MeasuredRun,
  /** Those of B. */
  b: MeasuredRun,
  /** Their requests. */
  requests: ComparedRequests,
  /** Null where every decision is the same. */
  first_difference: DifferingDecisions | null,
  /** Of a file: batches of its one run, by metric. */
  one_run: Comparison | null,
  /** Charts of A. */
  charts_a: Array<ChartData>,
  /** The same of B. */
  charts_b: Array<ChartData>,
  /** Charts of both. */
  charts: Array<ChartData>,
};

/** A request that has a first token in both runs. */
export type ComparedRequest = {
  /** Its place in the order of arrival. */
  id: number,
  /** Arrival in A, seconds. */
  arrival_s: number,
  /** Time to first token in A, seconds. */
  a_ttft_s: number,
  /** The same in B. */
  b_ttft_s: number,
  /** B less A, seconds. */
  difference_s: number,
};

/** The same requests in two runs. */
export type ComparedRequests = {
  /** Ids that both runs have. */
  paired: number,
  /** How many of them come at the same time with the same prompt, output, user and adapter. */
  equal: number,
  /** Ids that one run has. */
  unpaired: UnpairedRequests,
  /** Counts by first token. */
  first_token: FirstTokens,
  /** Requests whose TTFT B lowers most, the first most. */
  gained_most: Array<ComparedRequest>,
  /** Requests whose TTFT B raises most. */
  lost_most: Array<ComparedRequest>,
};

/** By metric, a key path of the summary. */
export type Comparison = { [key in string]: ComparedMetric };

/** A condition on another parameter, or one or all of several. */
export type Condition = {
  /** Its path. */
  parameter: string,
  /** The values. */
  in: Array<string>, } | {
  /** Its path. */
  parameter: string,
  /** The values. */
  not: Array<string>, } | {
  /** Its path. */
  parameter: string,
  /** The bound. */
  above: number, } | {
  /** Its path. */
  parameter: string,
  /** Always true. */
  varied: boolean, } | {
  /** Its path. */
  parameter: string,
  /** The name of the check. */
  check: string, } | {
  /** The conditions. */
  any: Array<Condition>, } | {
  /** The conditions. */
  all: Array<Condition>,
};

/** Where the times come from. */
export type CostOrigin = {
  /** The GPU on which the operators were measured; "" for the data sheet's peaks. */
  measured_on: string,
  /** Whether that is the GPU itself. */
  own: boolean,
  /** Median errors of a layer of models that the corrections were not fitted on: that of the best and of the worst model. */
  best: number,
  /** See `best`. */
  worst: number,
};

/** Where the better of A and B changes, as it is reported. */
export type CrossoverFound = {
  /** Path of the parameter. */
  parameter: string,
  /** Key path of the summary. */
  metric: string,
  /** Seeds of each value. */
  seeds: number,
  /** Every crossover, by value. */
  crossovers: Array<FoundCrossover>,
  /** Every value that was simulated. */
  values: Array<CrossoverValue>,
  /** In English, a sentence for each crossover, or one that says that there is none. */
  sentences: Array<string>,
};

/** The metric at a value of the parameter, by seed. */
export type CrossoverKnown = {
  /** The value. */
  value: number,
  /** The metric in A. */
  a: Array<number | null>,
  /** The metric in B. */
  b: Array<number | null>,
};

/** Both settings with the parameter at a value. */
export type CrossoverNeed = {
  /** The value. */
  value: number,
  /** The settings of A. */
  a: ScenarioPatch,
  /** The settings of B. */
  b: ScenarioPatch,
};

/** What is sought, as the terminal's `compare --crossover` takes it. */
export type CrossoverSpec = {
  /** The settings of A. */
  a: ScenarioPatch,
  /** The settings of B. */
  b: ScenarioPatch,
  /** The parameter and its range: PATH=FROM:TO, or PATH=FROM:TO:log. */
  over: string,
  /** Key path of the summary. */
  metric: string,
  /** Seeds of each value. */
  seeds: number,
};

/** What is to be simulated next, or what was found. */
export type CrossoverStep = {
  /** The seeds of every run. */
  seeds: Array<number>,
  /** Empty where the search is over. */
  needs: Array<CrossoverNeed>,
  /** What was found, once the search is over. */
  found: CrossoverFound | null,
  /** The terminal's command for the same. */
  command: string,
  /** The metric over the parameter, once the search is over. */
  charts: Array<ChartData>,
};

/** The difference B - A at a value of the parameter. */
export type CrossoverValue = {
  /** The value. */
  value: number,
  /** Mean over the seeds. */
  difference: number | null,
  /** Lower end of its interval. */
  low: number | null,
  /** Upper end. */
  high: number | null,
};

/** What differs most. */
export type Culprit = "none" | "overhead" | "prefill_rate" | "kv_blocks" | "decode_time" | "unknown";

/** Outputs that vLLM v1 ended at `max_model_len`, of those of completed requests. */
export type CutOutputs = {
  /** How many were cut. */
  requests: number,
  /** Of how many. */
  of_requests: number,
  /** Tokens that were not made. */
  tokens: number,
  /** Of how many asked for. */
  of_tokens: number,
};

/** The step at which the reader stands. */
export type DebuggerStep = {
  /** The step: what `servescope debug --json` prints of it. */
  view: StepView,
  /** The requests that are in the service at its time. */
  gantt: Gantt,
  /** Until when there is something to look at, seconds. */
  end_s: number,
  /** Requests of the run. */
  requests: number,
  /** The digest of the run. */
  digest: string,
};

/** A decision of gateway or scheduler: which request it is about, what was decided, and which test compared what. */
export type DecisionText = {
  /** When, seconds. */
  time_s: number,
  /** The replica; none of the gateway. */
  replica: number | null,
  /** The request; none where no waiting request was admitted. */
  request: number | null,
  /** What was decided. */
  verdict: string,
  /** The test that decided it. */
  test: string,
  /** What the test needed, in its unit. */
  need: number | null,
  /** What there was. */
  have: number | null,
  /** The request that it was decided for, where that is another one. */
  for_request: number | null,
  /** In English, as the terminal prints it. */
  sentence: string,
};

/** A request and all its delays. */
export type Delayed = {
  /** Which request. */
  id: number,
  /** How long it was delayed in all. */
  delayed_s: number,
};

/** What a page shows. */
export type DeploymentView = {
  /** The pool's name; empty where it has none. */
  name: string,
  /** How many replicas it has at the beginning. */
  replicas: number,
  /** GPU. */
  gpu: string,
  /** Model. */
  model: string,
  /** Its layers. */
  layers: number,
  /** Its data-parallel ranks, each with a KV cache of its own. */
  ranks: number,
  /** GPUs of a replica with all of its ranks. */
  gpus: number,
  /** Nodes that they are on. */
  nodes: number,
  /** Bandwidth of each GPU to those of other nodes, GB/s. */
  node_link_gb_s: number,
  /** Memory of one, gigabytes. */
  memory_gb: number,
  /** What lies in it, from the bottom. */
  parts: Array<MemoryPart>,
  /** Gigabytes that are missing on each GPU; 0 where it fits. */
  missing_gb: number,
  /** KV tokens of a replica; 0 where it does not fit. */
  kv_tokens: number,
  /** US dollars for a replica and an hour at that price; `None` without a known price. */
  usd_per_hour: number | null,
  /** The price of a GPU, of the kind of `capacity.price_kind` where there is one. */
  price: PriceQuote | null,
  /** Where the times come from, for a roofline. */
  cost: CostOrigin,
  /** Where they come from, for timed operators. */
  timed: TimedSource | null,
  /** The other pools of the fleet. */
  others: Array<DeploymentView>,
};

/**
 * What is wrong with an input, or what a reader of a result should know. A function that returns it as its error gives
 * [`Severity::Error`].
 */
export type Diagnostic = {
  /** How much it matters. */
  severity: Severity,
  /** One of [`CODES`]. */
  code: string,
  /** The parameter's path, or the file's name, or "". */
  path: string,
  /** In English, with the place, the bound and the value. */
  message: string,
  /** What the page fills its own message with. */
  params: { [key in string]: MessageParameter },
};

/** Where two runs first decided differently; null where a run decides nothing more. */
export type DifferingDecisions = {
  /** The earlier of both, seconds. */
  time_s: number,
  /** The request that the decision is about: A's, or B's where A decides on none. */
  request: number | null,
  /** In A. */
  a: DecisionText | null,
  /** In B. */
  b: DecisionText | null,
};

/**
 * Mean and quantiles of one quantity. Quantiles interpolate linearly; one that fewer than one sample would lie beyond is
 * missing.
 */
export type Distribution = {
  /** Mean. */
  mean: number | null,
  /** Median. */
  p50: number | null,
  /** 90 % are at most this; from 10 samples on. */
  p90: number | null,
  /** From 20 samples on. */
  p95: number | null,
  /** From 100 samples on. */
  p99: number | null,
  /** Largest. */
  max: number | null,
};

/** Measured rows of a model that ask more of the GPUs than any other server got out of them. */
export type DoubtedRows = {
  /** How many. */
  rows: number,
  /** Median absolute error of the mean TTFT against them. */
  ttft: number,
  /** The same of the mean TPOT. */
  tpot: number,
  /** The share of the GPUs' peak FLOP/s that one of them would need. */
  peak_share: number,
  /** The largest share that a row of another model needs. */
  other_share: number,
};

/** Median absolute errors against measured deployments of the engine, shares of what was measured. */
export type ExpectedError = {
  /** Of the mean TTFT. */
  ttft: number,
  /** Of the mean TPOT. */
  tpot: number,
  /** The engine that was measured. */
  engine: 'vLLM' | 'SGLang',
  /** Measured rows. */
  rows: number,
  /**
   * Which they are: `model_and_gpu`, `gpu`, or `all` where neither was measured; `models` for a model of one's own, with
   * medians over the models.
   */
  of: 'model_and_gpu' | 'gpu' | 'all' | 'models',
  /** Whether constants of the iteration-time model were calibrated on other deployments of the models that the rows are of. */
  is_calibrated: boolean,
  /** How far single models were off, for `models`. */
  models: ModelErrors | null,
  /** Measured rows of the model itself, where they are doubted. */
  doubted: DoubtedRows | null,
  /** The measured model that is most like this one, where this one was not measured on this GPU. */
  nearest: NearestModel | null,
};

/** A closed form at a point. */
export type ExpectedValue = {
  /** The queueing model whose closed form it is, or the name of the bound. */
  model: string,
  /** What it says, in the metric's unit. */
  value: number,
};

/** A finding: `code` and `params` fill a message of the page. */
export type Fact = {
  /** Key of the page's message. */
  code: string,
  /** The English text. */
  message: string,
  /** The numbers of the message. */
  params: { [key in string]: number },
};

/** Requests of replicas that failed. */
export type FailureLosses = {
  /** Requests that waited or ran at a replica as it failed, each time. */
  lost_requests: number,
  /** How often a request began again, or got a replica after none was ready. */
  restarts: number,
  /** Output tokens that had been produced and were thrown away. */
  lost_tokens: number,
};

/** Published points beside simulated curves. */
export type FiguresReply = {
  /** The points and how far the curves are from them. */
  figures: Array<PublishedFigure>,
  /** A chart each. */
  charts: Array<ChartData>,
};

/** Requests that needed no second attempt. */
export type FirstAttempt = {
  /** Served to the end. */
  completed: number,
  /** Those within every bound of the SLO, requests a second of the makespan. */
  goodput_rps: number | null,
  /** Share of all requests that have one attempt and have a first token within the bound on TTFT. */
  attainment: number | null,
  /** Share of all requests that have one attempt and meet every bound. */
  attainment_all: number | null,
};

/** Requests by their first token in both runs. */
export type FirstTokens = {
  /** Sooner in B. */
  sooner_in_b: number,
  /** Later in B. */
  later_in_b: number,
  /** After the same time in both. */
  same: number,
  /** A first token in A alone. */
  only_in_a: number,
  /** A first token in B alone. */
  only_in_b: number,
};

/** A fit and its twins. */
export type FitReply = {
  /** How far each twin is from its source. */
  models: Array<FitRow>,
  /** What is to be said of the fit. */
  findings: Array<Fact>,
  /** The distributions. */
  distributions: FittedDistributions,
};

/** How far a twin is from its source: Kolmogorov distances, and its index of dispersion over the source's. */
export type FitRow = {
  /** The model of arrivals. */
  model: string,
  /** What it is, in English. */
  about: string,
  /** Distance of the gaps between arrivals. */
  gaps: number | null,
  /** Of the prompt lengths. */
  input: number | null,
  /** Of the output lengths. */
  output: number | null,
  /** Of the requests by user. */
  users: number | null,
  /** Indices of dispersion over the source's at 1, 10 and 60 s. */
  dispersion: [number | null, number | null, number | null],
};

/** A constant before and after a fit. */
export type FittedConstant = {
  /** As it was set. */
  before: number,
  /** As fitted. */
  after: number,
};

/** The distributions that were fitted. */
export type FittedDistributions = {
  /** Requests a second. */
  rate_rps: number,
  /** Coefficient of variation of the gaps. */
  cv: number | null,
  /** The same within minutes. */
  cv_within_minutes: number | null,
  /** Shape of the gamma distribution of the gaps. */
  gamma_shape: number | null,
  /** Shape of the Weibull distribution. */
  weibull_shape: number | null,
  /** Index of dispersion at 1, 10 and 60 s. */
  dispersion: [number | null, number | null, number | null],
  /** Of the prompt lengths. */
  input: BestDistribution | null,
  /** Of the output lengths. */
  output: BestDistribution | null,
  /** Rank correlation of prompt and output length. */
  length_correlation: number | null,
  /** Of the users. */
  users: BestUsers | null,
};

/** Relative errors of a part of a fitted profile. */
export type FittedError = {
  /** GPUs a layer; 0: all degrees. */
  degree: number,
  /** The operator, or attention. */
  name: string,
  /** Where its times come from. */
  origin: TimedOrigin,
  /** Points that were compared; without any there was nothing to compare with. */
  points: number,
  /** Median. */
  median: number,
  /** 95th percentile. */
  p95: number,
};

/** Metrics of one half of the requests before and after a fit. */
export type FittedHalf = {
  /** With the constants as they were set. */
  before: { [key in string]: OverlaidMetric },
  /** With the fitted ones. */
  after: { [key in string]: OverlaidMetric },
};

/** A profile that was loaded. */
export type FittedProfile = {
  /** The name of its file. */
  name: string,
  /** GPU. */
  gpu: string,
  /** Model. */
  model: string,
  /** The profile as text, for a simulator. */
  text: string,
  /** Numbers of GPUs a layer that it knows. */
  degrees: Array<number>,
  /** How far the fit is from what was measured. */
  errors: Array<FittedError>,
  /** What a reader should know. */
  notes: Array<Diagnostic>,
};

/** What a summary says of a fleet. Times of requests are over completed ones. */
export type FleetSummary = {
  /** GPU seconds of all replicas by class of operator; of several stages their mean. Classes without time are left out. */
  operators_s: { [key in string]: number },
  /** Every pool. */
  per_pool: Array<PoolRow>,
  /** Every replica. */
  per_replica: Array<ReplicaRow>,
  /** Time in iterations of the busiest replica over their mean; missing where nothing ran. */
  imbalance: number | null,
  /** Execution time of the iterations of a request. */
  execution_s: Distribution,
  /** How long it was stalled, waited between stages, or waited after a preemption, from its first iteration on. */
  preempted_s: Distribution,
  /** From its first iteration to its first token, over the tokens of its prompt. */
  prefill_per_token_s: Distribution,
  /** From its first token to its last, over its tokens. */
  decode_per_token_s: Distribution,
};

/** A crossover; all values are those of the parameter. */
export type FoundCrossover = {
  /** Where it is. */
  value: number,
  /** Lower end of its interval. */
  low: number,
  /** Upper end. */
  high: number,
  /** The better one below it. */
  below: 'A' | 'B',
  /** The better one above it. */
  above: 'A' | 'B',
};

/** The requests in the service at a time. */
export type Gantt = {
  /** When the first of the lanes begins, seconds. */
  from_s: number,
  /** When the last of them ends. */
  to_s: number,
  /** Requests in the service. */
  count: number,
  /** The first of them by arrival, and the request of the step. */
  lanes: Array<GanttLane>,
};

/** A request. */
export type GanttLane = {
  /** What it does when; the phases together are all of its time. */
  phases: Array<GanttPhase>,
  /** Which request. */
  request: number,
  /** Its user. */
  user: number,
  /** Its adapter; -1: the base model. */
  adapter: number,
};

/** Times of one phase. */
export type GanttPhase = {
  /** Which one. */
  phase: 'gateway' | 'queue' | 'prefill' | 'decode' | 'stalled' | 'preempted',
  /** Beginning and end of each, in turn, seconds. */
  spans_s: Array<number>,
};

/** What the proxy did. */
export type GatewaySummary = {
  /** Attempts of all requests. */
  attempts: number,
  /** Attempts that were rejected, by reason; every reason that a proxy knows is listed. */
  refusals: { [key in string]: number },
  /** Attempts that timed out. */
  timeouts: number,
  /** Requests with more than one attempt. */
  retried: number,
  /** Attempts that no file lists, because there were too many. */
  unlisted_attempts: number,
  /** Requests that needed no second attempt. */
  first_attempt: FirstAttempt,
  /** Requests that had to wait at the gateway, by what held them last. */
  held: { [key in string]: number },
  /** Wait of the last attempt at the gateway, of the requests forwarded, seconds. */
  wait_s: Distribution,
  /** Estimated less true time to first token of the last attempt, seconds. */
  estimate_error_s: Distribution,
  /** Mean of |estimated - true| over the mean of true. */
  estimate_relative_error: number | null,
  /** Predicted against true outputs. */
  prediction: PredictionError,
  /** (time in seconds, state) of each change; the first state is underload. */
  states: Array<[number, string]>,
  /** Share of the time in each state. */
  state_share: { [key in string]: number },
  /** Mean share of KV memory that was reserved and not yet used. */
  mean_reserved: number | null,
  /** Tokens reserved when all was over. */
  reserved_tokens: number,
  /** Those that belong to no request. */
  leaked_tokens: number,
  /** Concurrency slots that requests which have ended keep. */
  leaked_slots: number,
};

/** Use of the GPU over the makespan. */
export type GpuUse = {
  /** Share of time in iterations (adapter loading is not counted). */
  busy: number | null,
  /** Work that reached the replicas over what they serve when they are saturated; missing until that was simulated. */
  load: number | null,
  /** FLOPs over the peak's, where the cost model knows them; of a calibration 2 x parameters a token. */
  mfu: number | null,
  /** Bytes read and written over what the memory can do; missing where the cost model does not know it. */
  bandwidth: number | null,
};

/** A configuration of a grid. */
export type GridConfiguration = {
  /** The value of each axis. */
  values: Array<string>,
  /** All that it changes of the defaults. */
  scenario: ScenarioPatch,
};

/** One user's or adapter's part of a run. Times are means or quantiles over completed requests. */
export type GroupRow = {
  /** Index; -1 is the base model. */
  id: number,
  /** Rank of the adapter (0 for users and the base model). */
  rank: number,
  /** Requests sent. */
  offered: number,
  /** Requests served to the end. */
  completed: number,
  /** Requests rejected. */
  rejected: number,
  /** Prompt tokens of completed requests. */
  input_tokens: number,
  /** Tokens produced for completed requests. */
  output_tokens: number,
  /** Requests sent in a second of the time up to the last arrival of all; `None` where that time is 0. */
  rate_rps: number | null,
  /** Share of requests that the workload's distribution gives it, if there is one. */
  expected_share: number | null,
  /** Its share of the requests sent. */
  share: number,
  /** Mean time to first token, seconds. */
  ttft_mean_s: number | null,
  /** 99th percentile, seconds; from 100 requests on. */
  ttft_p99_s: number | null,
  /** Mean end-to-end time, seconds. */
  e2e_mean_s: number | null,
  /** Mean time in the waiting queue, seconds. */
  queue_mean_s: number | null,
  /** Share of its requests with a first token within the bound on TTFT; rejected ones are missed. */
  attainment: number | null,
  /** Share of its requests that meet every bound of the SLO. */
  attainment_all: number | null,
};

/** The headline numbers of a run by key path; null where the run has too few requests for one. */
export type Headline = { [key in string]: number | null };

/** What a deployment's times are off by where nothing was timed. */
export type HeldOutError = {
  /** `products`, `decode` or `prompts`. */
  name: 'products' | 'decode' | 'prompts',
  /** What the fit had not seen: every other of the `points`, or, where attention is a formula, the `heads`. */
  unseen: 'points' | 'heads',
  /** Median of the relative errors; of heads that of the best predicted. */
  from: number,
  /** Their 95th percentile; of heads the median of the worst predicted. */
  to: number,
};

/** A request that held what another waited for. */
export type Holder = {
  /** Which request. */
  id: number,
  /** Its user. */
  user: number,
  /** Its part of the delay. */
  share: number,
};

/** Requests that held what another waited for. */
export type Holders = {
  /** The user with the largest part in the delay. */
  user: number,
  /** How many of this user's requests held what was waited for. */
  requests: number,
  /** How many of all users'. */
  of_all: number,
  /** The user's part of the delay. */
  share: number,
  /** The requests with the largest parts of the delay, of all users; at most three, the largest first. */
  most: Array<Holder>,
};

/** What tiers of host memory did, of all replicas. */
export type HostCacheUse = {
  /** Prompt tokens that were found in host memory, over those looked up. */
  hit_rate: number | null,
  /** Prompt tokens that were found in host memory, loaded and not computed again. */
  loaded_tokens: number,
  /** KV blocks that were copied to the host. */
  stored_blocks: number,
  /** KV blocks that were copied from the host. */
  loaded_blocks: number,
  /** From the decision to load to the scheduler's knowledge that it has ended, seconds, in the mean of all loads. */
  mean_load_s: number | null,
  /** Share of the makespan in which a replica's blocks were copied to its GPUs, in the mean of all replicas. */
  load_link: number | null,
  /** The same to its host. */
  store_link: number | null,
};

/** The KV transfers of disaggregated requests, means over those that came to their decode replicas. */
export type KvTransferUse = {
  /** How many. */
  requests: number,
  /** Of all requests that were served to their end, the share of them. */
  share: number,
  /** KV blocks that were pulled. */
  pulled_blocks: number,
  /** From the end of the prompt until the pull began: through the router, and until the decode replica had memory. */
  mean_wait_s: number,
  /** How long a pull took. */
  mean_pull_s: number,
  /** How long it would have taken with the links to itself. */
  mean_alone_s: number,
  /** From the end of the prompt to the first iteration at the decode replica. */
  mean_between_legs_s: number,
};

/**
 * KV memory over pool, over the makespan: the tokens held on average, and at the most; of a fleet the most blocks of any
 * replica, those included that are reserved or not full.
 */
export type KvUsage = {
  /** Time average. */
  mean_usage: number | null,
  /** Largest. */
  peak_usage: number | null,
  /** Tokens that the pool of a replica has room for. */
  pool_tokens: number,
  /** The same in blocks; missing where memory is counted in tokens. */
  pool_blocks: number | null,
};

/** Requests of similar prompt length. */
export type LengthBucket = {
  /** Shortest prompt, tokens. */
  from_tokens: number,
  /** Longest prompt, tokens. */
  to_tokens: number,
  /** How many requests. */
  requests: number,
  /** Bias of the TTFT. */
  ttft_bias: number | null,
  /** Bias of the time between tokens. */
  tpot_bias: number | null,
  /** Bias of the end-to-end time. */
  e2e_bias: number | null,
};

/** A scenario that draws its lengths from a file. */
export type LengthsFile = {
  /** The scenario. */
  scenario: ScenarioPatch,
  /** Pairs of lengths that it draws from. */
  taken: number,
  /** Pairs of the file. */
  pairs: number,
};

/** A row that could not be read. */
export type ListedRow = {
  /** Line of the file, the header included. */
  row: number,
  /** The column, or "" where the row as a whole is bad. */
  column: string,
  /** What is wrong with it. */
  error: Diagnostic,
};

/** How a series is drawn. */
export type Mark = "line" | "step" | "area" | "band" | "bars" | "points" | "rule_x" | "rule_y";

/** Times and rates over all requests, of a file without single requests. */
export type MeasuredMeans = {
  /** Time to first token. */
  ttft_s: MeasuredTime,
  /** Time between tokens: of each request its mean. */
  tpot_s: MeasuredTime,
  /** Gap between tokens: of all requests together. */
  itl_s: MeasuredTime,
  /** End-to-end time. */
  e2e_s: MeasuredTime,
  /** Output tokens a second. */
  output_tokens_per_s: number | null,
  /** Requests a second. */
  throughput_rps: number | null,
};

/** What is measured of one run. */
export type MeasuredRun = {
  /** The key path of each metric. */
  metrics: Array<string>,
  /** The value of each metric; none where the summary has none. */
  values: Array<number | null>,
  /** The run's digest, hexadecimal. */
  digest: string,
};

/** A time over all requests as a file sums it up, seconds. */
export type MeasuredTime = {
  /** Mean. */
  mean: number | null,
  /** Median. */
  p50: number | null,
  /** 90th percentile. */
  p90: number | null,
  /** 95th percentile. */
  p95: number | null,
  /** 99th percentile. */
  p99: number | null,
};

/** One part of the memory. */
export type MemoryPart = {
  /** `weights`, `activations`, `graphs`, `other`, `adapters`, `kv` or `margin`. */
  name: 'weights' | 'activations' | 'graphs' | 'other' | 'adapters' | 'kv' | 'margin',
  /** Gigabytes (1e9). */
  gb: number,
};

/** A parameter of a message. */
export type MessageParameter = number | string;

/** Median absolute errors of single models, none of which is the one that is simulated. */
export type ModelErrors = {
  /** Models. */
  count: number,
  /** The largest of the mean TTFT. */
  worst_ttft: number,
  /** The largest of the mean TPOT. */
  worst_tpot: number,
};

/** The service at one time. */
export type Moment = {
  /** When, seconds. */
  time_s: number,
  /** Tokens of prompt and output that most requests of the run have at most, by which long and short ones are drawn. */
  long_tokens: number,
  /** When the last request arrived, seconds. */
  last_arrival_s: number,
  /** End of the run, seconds. */
  end_s: number,
  /** Requests rejected so far. */
  rejected: number,
  /**
   * Where requests are, in the order in which they go through: on their way, at the gateway, in the queues of the replicas, and in
   * each pool of the fleet.
   */
  places: Array<Place>,
};

/** A column of the table. */
export type MonitorColumn = {
  /** Its name; `refused_…` are those of reasons that occurred. */
  name: string,
  /** What kind of number stands under it. */
  kind: 'count' | 'number' | 'seconds' | 'share',
};

/** How to look at the monitor. */
export type MonitorOptions = {
  /** Whether a client is a user or an adapter. */
  client: 'user' | 'adapter',
  /** The name of a column, or "id". */
  sort: string,
  /** Whether the largest comes first. */
  descending: boolean,
  /** Rows of the table. */
  rows: number,
  /** The part of the run that the charts show, seconds. */
  window: [number, number] | null,
};

/** A client's row. */
export type MonitorRow = {
  /** Index of the user or adapter; -1 is the base model. */
  id: number,
  /** In the order of the columns. */
  values: Array<number | null>,
};

/** What each client used. */
export type MonitorView = {
  /** Whether a client is a user or an adapter. */
  client: 'user' | 'adapter',
  /** How many clients there are. */
  clients: number,
  /** Columns of the table. */
  columns: Array<MonitorColumn>,
  /** The first of the clients as they are sorted. */
  rows: Array<MonitorRow>,
  /** Which client has which colour in the charts; all others are the last series. */
  charted: Array<ChartedClient>,
  /** Jain's index of the service. */
  jain: number | null,
  /** Largest difference between the services of two clients that wait, tokens a second. */
  largest_gap_per_s: number | null,
  /** Tokens that were computed for requests that never completed, or computed again. */
  wasted_tokens: number,
  /** Prompt and output tokens of all clients. */
  computed_tokens: number,
  /** Requests whose KV memory over time is interpolated. */
  kv_interpolated: number,
  /** Service and memory over time. */
  charts: Array<ChartData>,
};

/** The measured model that is most like the one that is simulated. */
export type NearestModel = {
  /** Its name. */
  name: string,
  /** Whether the rows are of the same GPU. */
  is_on_gpu: boolean,
  /** Measured rows. */
  rows: number,
  /** Median absolute error of the mean TTFT against them. */
  ttft: number,
  /** The same of the mean TPOT. */
  tpot: number,
};

/** Why one run has no interval for a metric. */
export type NoBatches = "not_of_requests" | "not_settled" | "too_few";

/** A quantity in a measured run and in its simulation; times in seconds, errors as shares. */
export type OverlaidMetric = {
  /** Mean, or rate, measured. */
  measured: number | null,
  /** The same simulated. */
  simulated: number | null,
  /** Mean of the absolute errors of single requests over what was measured of each. */
  mape: number | null,
  /** Simulated mean over measured mean, less 1. */
  bias: number | null,
  /** Pearson's correlation. */
  correlation: number | null,
};

/** The likeliest culprit, with the numbers that name it. */
export type OverlayCause = {
  /** What differs most. */
  culprit: Culprit,
  /** In a sentence. */
  sentence: string,
  /** Constant part of the TTFT's difference (simulated less measured), seconds. */
  floor_s: number | null,
  /** Its part for each prompt token, seconds. */
  slope_s_per_token: number | null,
  /** Its growth from the first request to the last, seconds. */
  drift_s: number | null,
};

/** Constants that were fitted on one half of the requests, and the errors on both halves. */
export type OverlayFit = {
  /** By path. */
  constants: { [key in string]: FittedConstant },
  /** How many runs it took. */
  runs: number,
  /** Which requests were fitted, in English. */
  rule: string,
  /** The half that was fitted. */
  fitted_half: FittedHalf,
  /** The other half. */
  left_out_half: FittedHalf,
};

/** A measured run over its simulation, with the number of requests in their place. */
export type OverlayReply = {
  /** What wrote the file. */
  tool: string,
  /** Requests in flight, of a closed loop. */
  in_flight: number | null,
  /** Requests in both runs. */
  requests: number,
  /** Requests of the measured run that did not end in the simulated one. */
  unfinished: number,
  /** What a reader should know, in English. */
  notes: Array<string>,
  /** Settings that were taken from the file. */
  taken_over: Array<TakenSetting>,
  /**
   * The settings of the simulation, with the constants as fitted. Traffic that is generated with them has adapters where the
   * measured requests have.
   */
  scenario: ScenarioPatch,
  /** TTFT, TPOT, ITL, E2E, and both throughputs. */
  metrics: { [key in string]: OverlaidMetric },
  /** By prompt length, shortest first. */
  by_input_length: Array<LengthBucket>,
  /** Where the difference comes from; nothing while something is missing. */
  cause: OverlayCause | null,
  /** Paths of what neither the file nor the user says: the GPU, the model. */
  missing: Array<string>,
  /** Whether single requests of both runs belong together. */
  is_matched: boolean,
  /** The runs of the file, where there are several, and which of them this is, from 1 on. */
  benchmarks: Array<string>,
  /** See `benchmarks`. */
  benchmark: number,
  /** Paths of the constants that can be fitted; none where the file has no times to fit to. */
  fittable: Array<string>,
  /** The fit, where one was asked for. */
  fit?: OverlayFit,
  /** Both runs. */
  charts: Array<ChartData>,
};

/** A scenario with the model of a `config.json`. */
export type OwnModel = {
  /** The settings. */
  scenario: ScenarioPatch,
  /** What was assumed or left out. */
  notes: Array<Diagnostic>,
};

/** A calibration of the linear model. */
export type PageCalibration = {
  /** Its id. */
  id: string,
  /** The GPU that it was measured on. */
  gpu: string,
  /** The model. */
  model: string,
  /** Where it is from. */
  source: string,
};

/** A section of the controls. */
export type PageSection = {
  /** Its name. */
  name: string,
  /** Its groups. */
  groups: Array<string>,
  /** The parameters that it begins with. */
  first: Array<string>,
};

/** A number of two settings over common seeds. */
export type PairedDifference = {
  /** Mean of the first setting. */
  a: number,
  /** Mean of the second setting. */
  b: number,
  /** Mean of the second less the first. */
  difference: number,
  /** Lower end of the interval of `difference`. */
  low: number,
  /** Upper end. */
  high: number,
  /** Pairs that have the number in both settings. */
  seeds: number,
};

/** One row of the parameter table. */
export type Parameter = {
  /** Its path. */
  id: string,
  /** Short key of the address. */
  key: string,
  /** Its group. */
  group: string,
  /** What its values are. */
  type: 'number' | 'integer' | 'choice' | 'boolean' | 'list' | 'text',
  /** "" | "req/s" | "s" | "ms" | "tokens" | … */
  unit: string,
  /** Meaningful places on the slider. */
  marks: Array<SliderStop>,
  /** Of a choice. */
  options: Array<string>,
  /** What the options are called in every language; empty where each language has its own names. */
  names: Array<string>,
  /** In the default scenario; `Resolution.moved` has the default beside other settings. */
  default: ParameterValue,
  /** All must hold for the parameter to have an effect. */
  applies: Array<Condition>,
  /** "score": the run stays as it is, only its judgement changes (the SLO). */
  changes: 'run' | 'score',
  /** Smallest value, of a number and of each entry of a list. */
  min?: number,
  /** Largest value. */
  max?: number,
  /** 0 is no value but none: a limit or a bound that is not set. */
  off_at_zero?: boolean,
  /** Where a slider sets it. */
  slider?: SliderRange,
};

/** A parameter's value. */
export type ParameterValue = number | string | boolean | Array<number> | string;

/** A parsed address. */
export type ParsedLink = {
  /** What is good of it. */
  scenario: ScenarioPatch,
  /** What is not. */
  problems: Array<Diagnostic>,
};

/** The columns of a table of no known format, and what each could be. */
export type Peeked = {
  /** The columns. */
  columns: Array<PeekedColumn>,
  /** Every role with a guess. */
  roles: Array<PeekedRole>,
};

/** A column of a table of no known format. */
export type PeekedColumn = {
  /** Its name. */
  name: string,
  /** Its first values. */
  values: Array<string>,
};

/** What a column can be. */
export type PeekedRole = {
  /** Its name. */
  name: string,
  /** What it means. */
  help: string,
  /** Whether a table must have it. */
  required: boolean,
  /** Its units. */
  units: Array<string>,
  /** The column that it seems to be, or "". */
  column: string,
  /** The unit of that column, or "". */
  unit: string,
};

/** The requests in one place. Columns have an entry for each that is listed, or none. */
export type Place = {
  /** What it is. */
  kind: PlaceKind,
  /** All that are there. */
  requests: number,
  /** Their ids. */
  ids: Array<number>,
  /** Their users, as in the trace. */
  users: Array<number>,
  /** Their adapters; none of a request to the base model. */
  adapters: Array<number | null>,
  /** Their prompts, tokens. */
  prompt_tokens: Array<number>,
  /** Tokens of output that they have; between the first and the last, which are known, as if they had come evenly. */
  output_tokens: Array<number>,
  /** How long it is until they arrive, seconds, the first first; of those on their way. */
  coming_s: Array<number>,
  /** What they do: 0 prefill, 1 decode, 2 stalled; of those in a batch. */
  phases: Array<number>,
  /** Which of the pool's replicas that are there has them, from 0 on; of those in a batch. */
  replicas: Array<number>,
  /** Their seats in its batch, from 0 on; of those in a batch. */
  seats: Array<number>,
  /** The pool that computes them. */
  pool: PoolMoment | null,
};

/** What kind of a place it is. */
export type PlaceKind = "coming" | "gateway" | "queue" | "pool";

/**
 * Where a chart's data lies on its canvas, in CSS px and data units: hover is arithmetic on this. `x_min` lies at
 * `left`, `y_min` at `bottom`; between them values are spaced by the axis' scale. The ranges are those that were drawn,
 * which differ from the asked ones where these were empty or not drawable.
 */
export type PlotFrame = {
  /** Left edge of the plot. */
  left: number,
  /** Upper edge of the plot. */
  top: number,
  /** Right edge of the plot. */
  right: number,
  /** Lower edge of the plot. */
  bottom: number,
  /** Value at the left edge. */
  x_min: number,
  /** Value at the right edge. */
  x_max: number,
  /** Value at the lower edge. */
  y_min: number,
  /** Value at the upper edge. */
  y_max: number,
};

/** The replicas of a pool at one time. */
export type PoolMoment = {
  /** What the pool is called; empty where it has no name. */
  name: string,
  /** Replicas that compute an iteration. */
  computing: number,
  /** Replicas that load adapters before an iteration. */
  loading: number,
  /** Replicas that can compute: those that are ready, and those that drain. */
  replicas: number,
  /** Replicas that are paid and not ready yet. */
  starting: number,
  /** Of `replicas` those that get no new request. */
  draining: number,
  /** Seats that any of its replicas needs in the whole run. */
  seats: number,
  /** Most requests that the batch of a replica may have. */
  most_seats: number,
  /** LoRA slots of all replicas; none where adapters are not kept in slots. */
  lora_slots: number | null,
  /** Prompt tokens of the iterations under way. */
  prompt_tokens: number,
  /** Requests that decode a token in them. */
  decodes: number,
  /** How long they take, on average, seconds. */
  iteration_s: number,
  /** KV tokens in use. */
  kv_tokens: number,
  /** Memory that adapters take, in KV tokens. */
  adapter_tokens: number,
  /** Memory for both, in KV tokens. */
  memory_tokens: number,
};

/** One pool over the run. */
export type PoolRow = {
  /** Index. */
  id: number,
  /** What it is called; empty where it has no name. */
  name: string,
  /** Replicas that there were. */
  replicas: number,
  /** How long they are paid, all together. */
  billed_s: number,
  /** Requests that the router gave them. */
  requests: number,
  /** Of these, served to the end. */
  completed: number,
  /** Share of their time in iterations. */
  busy: number | null,
  /** KV memory in use, mean over their time. */
  mean_kv: number | null,
  /** KV memory of each of them, tokens. */
  kv_tokens: number,
  /** Preemptions of their requests. */
  preemptions: number,
  /** Time to first token of their completed requests. */
  ttft_s: Distribution,
  /** Time per output token of those. */
  tpot_s: Distribution,
};

/** Predicted against true outputs of the requests that were forwarded. */
export type PredictionError = {
  /** Predicted over true. */
  ratio: Distribution,
  /** Tokens that were predicted and never came, of all true tokens. */
  over_share: number | null,
  /** Tokens that came and were not predicted, of all true tokens. */
  under_share: number | null,
};

/** What the prefix caches of all replicas were asked for. */
export type PrefixCacheUse = {
  /** Cached tokens over those looked up. */
  hit_rate: number | null,
  /** Prompt tokens looked up, for each admission. */
  looked_up_tokens: number,
  /** Prompt tokens that were found and not computed again. */
  cached_tokens: number,
};

/** What a cache without limit would find of the prompts, in the order of arrival. */
export type PrefixSummary = {
  /** Tokens in a block. */
  block_tokens: number,
  /** Tokens found over all prompt tokens. */
  hit_share: number,
};

/** GPUs and their price. */
export type Price = {
  /** GPUs of all replicas. */
  gpus: number,
  /** Replicas. */
  replicas: number,
  /** Whether the fleet is planned as it is ([`Scenario::is_fleet_fixed`]). */
  is_fixed: boolean,
  /** The id of the GPU of the first pool; "" where the cost model names none. */
  gpu: string,
  /** USD for one of them and an hour, the mean over the pools; `None` where no price of this kind is known. */
  usd_per_gpu_hour: number | null,
  /** `own` where it was set, otherwise the value of `capacity.price_kind`; "" where the cost model names no GPU. */
  kind: string,
  /** Where that price is from, or, where none of its kind is known, a price of another kind. */
  quote: PriceQuote | null,
};

/** A listed price. */
export type PriceQuote = {
  /** USD for a GPU and an hour. */
  usd_per_gpu_hour: number,
  /** A value of `capacity.price_kind`. */
  kind: string,
  /** A short name of its source. */
  source: string,
  /** Its day, as YYYY-MM-DD; `None` where the source does not say. */
  date: string | null,
  /** Whose price for what. */
  what: string,
};

/** A file's name and text. */
export type ProfileFile = {
  /** Its name. */
  name: string,
  /** Its text. */
  text: string,
};

/** Files of measurements, or one fitted profile, and what they do not say. */
export type ProfileFiles = {
  /** The files. */
  files: Array<ProfileFile>,
  /** The GPU that they were measured on, or "". */
  gpu: string,
  /** The model, or "". */
  model: string,
  /** Its layers, or 0. */
  layers: number,
};

/** Errors of one calibration at the authors' points, without what settled it. */
export type PublishedErrors = {
  /** The largest, without its sign. */
  max: number,
  /** The mean, without signs. */
  mean: number,
  /** How many points are compared. */
  points: number,
  /** What the error of a point may be, and how many keep that; `None` where nothing is asked. */
  bound: number | null,
  /** See `bound`. */
  within: number,
};

/** A figure: points, curves and how far they lie apart. */
export type PublishedFigure = {
  /** "n", "R", "cv", "alpha" or "policies". */
  sweep: string,
  /** What it shows. */
  measure: PublishedMeasure,
  /** The authors' points. */
  points: Array<PublishedPoint>,
  /** Errors with the default calibration. */
  ours: PublishedErrors | null,
  /** Errors with the calibration on one run a GPU. */
  one_run: PublishedErrors | null,
};

/** What a figure shows. */
export type PublishedMeasure = "throughput" | "e2e" | "first_token" | "attainment" | "rejected";

/** One of the authors' points. */
export type PublishedPoint = {
  /** The value of `scheduler.order`. */
  policy: string,
  /** Where it stands. */
  x: number,
  /** Recorded. */
  theirs: number,
  /** With the default calibration, which knows one GPU only. */
  ours: number | null,
  /** With the calibration on one run a GPU. */
  one_run: number,
  /** Whether the default calibration was tuned on this run. */
  is_tuned: boolean,
  /** Whether this run settled the other calibration. */
  is_settling: boolean,
  /** The scenario, as the part of an address behind `#`. */
  link: string,
};

/** What passes cost that all ranks of a replica run together. */
export type RankUse = {
  /** Ranks of all replicas. */
  ranks: number,
  /** Passes of ranks, those without a batch among them. */
  passes: number,
  /** Of the time of all those passes, the share of dummy ones: the rank had no batch. */
  dummy_share: number,
  /** The share in which a rank with a batch waited for a slower one. */
  waited_share: number,
  /** How often the experts of a replica were rearranged. */
  rearrangements: number,
  /** The share in which a rank with a batch waited for weights of experts that moved. */
  rearranging_share: number,
};

/** A measured run. */
export type ReadResult = {
  /** What wrote the file. */
  tool: string,
  /** The requests that were answered, in the order in which they were sent. */
  requests: Array<object>,
  /** How they were sent. */
  sending: Sending,
  /** Means that the file contains in place of requests. */
  means: MeasuredMeans,
  /** Settings of the server in the file, by the names that vLLM and the tools have for it. */
  reported: Array<[string, string]>,
  /** What a reader should know. */
  notes: Array<string>,
  /** The runs of the file, in a few words each, where there are several. */
  benchmarks: Array<string>,
  /** Which of them this is, from 1 on; 0 where there is only one. */
  benchmark: number,
};

/** What a file was found to be. */
export type RecognisedFile = {
  /**
   * Its kind (`scenario`, `trace`, `lengths`, `clients`, `result`, `model_config`, `adapter_config`, `operator_table`,
   * `table`, `curve`, `launch_line`, `link`, `summary`); where it is of no known one, what it looks like (`json`, `yaml`, `table`, `text`, `binary`, `empty`).
   */
  kind: string,
  /** The name of the tool, the format or the server. */
  detail: string,
  /** The keys, columns or words that decided it, or the first ones. */
  keys: Array<string>,
  /** The terminal's command that goes on with it; "" where there is none. */
  command: string,
  /** The scenario with what a launch line or an adapter sets. */
  scenario: ScenarioPatch | null,
  /** Paths of what it sets. */
  set: Array<string>,
  /** Paths of what a launch line does not say, with their values in `scenario`: the GPU, the model, that there are no adapters. */
  assumed: Array<string>,
  /** Flags of a launch line that have no parameter, or whose value has none. */
  unknown_flags: Array<string>,
  /** What is wrong with the values of a launch line or with an adapter, and what should be known about it. */
  told: Array<Diagnostic>,
};

/** Relative errors of a set of predictions; a share of the measured value, 0.1 = 10 %. */
export type RelativeErrors = {
  /** Predictions. */
  count: number,
  /** Mean absolute error. */
  mean: number,
  /** Median absolute error. */
  median: number,
  /** Mean error with its sign: above 0 where predictions are too large. */
  bias: number,
};

/** The load of the replicas. */
export type ReplicaLoad = {
  /** Requests a second that reach the replicas while the traffic goes on. */
  reached_rps: number,
  /** Requests a second of the same kinds that the replicas serve when they are saturated; missing where none reached them. */
  saturated_rps: number | null,
  /** The first over the second; above 1 more arrives than can be served. */
  share: number,
};

/** One replica over the time for which it is billed. */
export type ReplicaRow = {
  /** Index. */
  id: number,
  /** Its pool. */
  pool: number,
  /** When it was asked for; 0 of those of the beginning. */
  start_s: number,
  /** When it could be given its first request. */
  ready_s: number,
  /** When it stopped; missing where it did not. */
  stop_s: number | null,
  /** How long it is billed up to the end of the run. */
  billed_s: number,
  /** Requests that the router gave it; one that is disaggregated counts at both of its replicas. */
  requests: number,
  /** Of these, served to the end, or to the end of the prompt. */
  completed: number,
  /** Iterations. */
  iterations: number,
  /** Share of time in iterations; of several stages their mean. */
  busy: number | null,
  /** Mean number of requests in an iteration. */
  mean_size: number | null,
  /** Mean number of tokens in one: of prompts, and one for each request that decodes. */
  tokens_per_iteration: number | null,
  /** KV memory in use over the pool, mean over the makespan. */
  mean_kv: number | null,
  /** Most KV blocks in use at the end of an iteration, over all. */
  peak_kv: number | null,
  /** Prompt tokens that its prefix cache had, over those looked up; missing without one. */
  prefix_hit_rate: number | null,
  /** Preemptions of its requests. */
  preemptions: number,
  /** FLOPs over those of the peak; missing where the cost model knows either not. */
  mfu: number | null,
  /** Bytes over those of the memory's peak; likewise. */
  bandwidth: number | null,
};

/** Counts of requests by outcome; they add up to `offered`. */
export type RequestCounts = {
  /** Requests sent. */
  offered: number,
  /** Served to the end. */
  completed: number,
  /** Rejected, by reason (every reason is listed). */
  rejected: { [key in string]: number },
  /** Rejected for any reason. */
  rejected_total: number,
  /** Left the waiting queue because they had waited too long. */
  timed_out: number,
  /** Still waiting when nothing more could happen. */
  unfinished: number,
  /** Cancelled by the client. */
  cancelled: number,
};

/** A delay of a request. */
export type RequestDelay = {
  /** Its cause. */
  cause: string,
  /** How long. */
  seconds: number,
  /** When it began. */
  at_s: number,
  /** Behind whom; none where no other request held what was waited for. */
  behind: Holders | null,
  /** What the test that failed needed, in the unit of the cause: KV blocks or tokens, tokens, requests, adapters. */
  need: number | null,
  /** What there was. */
  have: number | null,
};

/** One request: its lengths, its times, and what it found when it arrived. */
export type RequestFacts = {
  /** Its place in the order of arrival. */
  id: number,
  /** Its user. */
  user: number,
  /** Its adapter; -1 is the base model. */
  adapter: number,
  /** Rank of the adapter; 0 of the base model. */
  rank: number,
  /** Prompt tokens. */
  input_tokens: number,
  /** Output tokens. */
  output_tokens: number,
  /** Most output tokens that were asked for. */
  max_tokens: number,
  /** What became of it. */
  outcome: string,
  /** Arrival, seconds. */
  arrival_s: number,
  /** Begin of its first iteration, seconds. */
  scheduled_s: number | null,
  /** First token, seconds. */
  first_token_s: number | null,
  /** End, seconds. */
  finish_s: number | null,
  /** Time in the waiting queue, seconds. */
  queue_s: number,
  /** Loading adapters, seconds. */
  adapter_load_s: number,
  /** Its own prefill, seconds. */
  prefill_s: number,
  /** Stalled while other requests were prefilled, seconds. */
  stalled_s: number,
  /** Decode iterations, seconds. */
  decode_s: number,
  /** Waiting requests in front of it when it arrived. */
  ahead: number,
  /** Running requests then. */
  running_at_arrival: number,
  /** KV tokens in use then. */
  kv_tokens_at_arrival: number,
  /** Prompt tokens that it found in the KV cache when it was first admitted; none where nothing was looked up. */
  cached_tokens: number | null,
  /** Those that it loaded from host memory. */
  host_tokens: number | null,
};

/** One request's time. */
export type RequestWhy = {
  /** Which request. */
  id: number,
  /** From its arrival to its end, or to the end of the run. */
  total_s: number,
  /** All its delays; the rest is its own prompt and its own output. */
  delayed_s: number,
  /** Tokens of its output that were not made, because the request was as long as vLLM v1 lets one be. */
  cut_tokens: number,
  /** Its time by cause, in the order in which a request meets them; those without time are left out. */
  causes: Array<CauseTime>,
  /** Its delays, the longest first. */
  delays: Array<RequestDelay>,
};

/** What a scenario means, as far as it differs from the table: a slider asks for it at every move. */
export type Resolution = {
  /** Values that are set, by path. */
  changed: ScenarioPatch,
  /** Defaults that other settings have moved away from the table's, by path. */
  moved: ScenarioPatch,
  /** Places in the table of what has no effect. */
  inactive: Array<number>,
  /** Why, one entry each: a set of places among the row's conditions, or -1 - the place of a reason in [`REASONS`]. */
  why: Array<number>,
  /** What is wrong. */
  problems: Array<Diagnostic>,
};

/**
 * What a router with an index believed to be cached where it sent requests, beside what they found there when they were first
 * admitted. Prompt tokens of admitted requests.
 */
export type RoutingUse = {
  /** Believed to be cached. */
  believed_tokens: number,
  /** Found. */
  found_tokens: number,
  /** Believed, and not found: false hits. */
  false_tokens: number,
  /** Found, and not believed: missed hits. */
  missed_tokens: number,
  /** False hits over what was believed. */
  false_share: number | null,
};

/** Rows that could not be read and were left out. */
export type RowsLeftOut = {
  /** All of them. */
  total: number,
  /** The first ones. */
  listed: Array<ListedRow>,
};

/** The memory plan of a replica of the first pool, of the GPU that has most to hold. Gigabytes are of 1e9 bytes. */
export type RunMemory = {
  /** Memory of the GPU. */
  gpu_gb: number,
  /** Weights, as the checkpoint has them. */
  weights_gb: number,
  /** Activations of the largest iteration. */
  activations_gb: number,
  /** CUDA graphs. */
  graphs_gb: number,
  /** Context, collectives, and what kernels keep of the weights in their own form. */
  other_gb: number,
  /** Adapters that stay, or LoRA slots. */
  adapters_gb: number,
  /** Weights of the drafter of speculative decoding. */
  drafter_gb: number,
  /** KV cache. */
  kv_gb: number,
  /** What is left alone. */
  margin_gb: number,
  /** Bytes that the GPU keeps for a token, within every window. */
  kv_bytes_per_token: number,
  /** KV tokens of a replica. */
  kv_tokens: number,
};

/** How to look at a run. */
export type RunOptions = {
  /** Columns of the time charts, about one a pixel. */
  columns: number,
  /** Zoom of the time charts in seconds, or null for the whole run. */
  window: [number, number] | null,
  /** Groups of `time_split`. */
  split_by: SplitBy,
  /** Names of the charts in sight: they come with the summary, the others when asked for. Null: all. */
  in_sight: Array<string> | null,
};

/** A finished run. */
export type RunReply = {
  /** Its summary. */
  summary: Summary,
  /** Its charts in sight. */
  charts: Array<ChartData>,
  /** When the last request arrives, seconds. */
  traffic_end_s: number,
};

/** How a slider maps its length to values. */
export type Scale = "linear" | "log";

/** How values become lengths. */
export type ScaleKind = "linear" | "log";

/** The replicas over time, and what autoscalers did about them. */
export type ScalingUse = {
  /** Decisions of autoscalers. */
  decisions: number,
  /** Of these, those that changed the number of replicas. */
  actions: number,
  /** Replicas that started during the run. */
  started: number,
  /** Replicas that began to drain, those cancelled while they started among them. */
  drained: number,
  /** Replicas that failed; each is among those that drained, and another one started in its place. */
  failed: number,
  /** How often an hour an autoscaler added replicas after it had taken some away, or the other way round. */
  turns_per_h: number,
  /** Replica seconds of replicas that were ready. */
  ready_s: number,
  /** Of those that were starting, which are billed, too. */
  starting_s: number,
  /** Of those that were draining, which are billed, too. */
  draining_s: number,
};

/** Values by dotted path ("workload.rate_rps"), in the order of the table; a path that is absent has its default. */
export type ScenarioPatch = { [key in string]: ParameterValue };

/** The parameter table, with what the page knows a priori. */
export type Schema = {
  /** Of this form. */
  version: number,
  /** Groups of parameters. */
  groups: Array<string>,
  /** The sections of the controls. */
  sections: Array<PageSection>,
  /** Names of reasons why a parameter has no effect that are no conditions. */
  reasons: Array<string>,
  /** Every parameter. */
  parameters: Array<Parameter>,
  /** Every calibration of the linear model. */
  calibrations: Array<PageCalibration>,
};

/** A curve at [`POINTS`] places along its axis. */
export type SeedCurve = {
  /** The name of its chart. */
  chart: string,
  /** The name of its role. */
  role: string,
  /** Its values. */
  y: Array<number>,
};

/** What a number is over the seeds of a setting, and by how much it differs from a former setting. */
export type SeedRange = {
  /** Over the seeds that both settings have; none of fewer than two. */
  difference: PairedDifference | null,
  /** Whether the difference is clear at [`CLEAR`]. */
  is_clear: boolean,
  /** The lowest value, in the number's own unit. */
  low: number,
  /** The highest. */
  high: number,
  /** Runs that have the number. */
  seeds: number,
};

/** A run of a further seed. */
export type SeedRun = {
  /** Its headline numbers. */
  headline: Headline,
  /** Its curves on the axes of the run that is shown. */
  curves: Array<SeedCurve>,
};

/** The axes that the bands are drawn on, those of the run that is shown. */
export type SeedSpans = {
  /** The ends of the clock, seconds. */
  time_s: [number, number],
  /** The ends of the axis of latencies, seconds, above 0. */
  latency_s: [number, number],
};

/** How requests were sent. */
export type Sending = "Times" | { "InFlight": number } | "Drawn";

/** One series of a chart. Columns of unequal length are read up to the shortest of `x` and `y`. */
export type Series = {
  /** What it shows; gives its colour, dash and marker. */
  role: string,
  /** How it is drawn. */
  mark: Mark,
  /** Horizontal positions; left edges of bars; the positions of [`Mark::RuleX`]. */
  x: Float64Array,
  /** Vertical positions; the positions of [`Mark::RuleY`]. */
  y: Float64Array,
  /** Lower edges of areas, bands and stacked bars; a missing value is 0. */
  y0: Float64Array,
  /** Right edges of bars; a bar without one is a hairline. */
  x2: Float64Array,
  /** Request ids of points, or none. */
  id: Float64Array,
  /** What stands at the line of a [`Mark::RuleY`], and at the upper edge where its place is above the axis; "" for nothing. */
  label: string,
};

/** How much a [`Diagnostic`] matters. */
export type Severity = "error" | "warning" | "note";

/** What the steps made of the sources. */
export type Shaped = {
  /** The traffic. */
  info: SourceInfo,
  /** A note for each step. */
  notes: Array<StepNote>,
};

/** The usual range of a parameter: what its slider covers. Typed values may go on to the bounds. */
export type SliderRange = {
  /** Left end. */
  min: number,
  /** Right end. */
  max: number,
  /** Mapping. */
  scale: Scale,
  /** Values are multiples of it. */
  step: number,
};

/** A meaningful place on a slider. */
export type SliderStop = {
  /** Where. */
  value: number,
  /** Message key. */
  message: string,
};

/** Judgement by the SLO. Requests that were rejected, timed out or never served count as missed. */
export type SloScore = {
  /** Bound on TTFT, seconds; missing where there is none. */
  ttft_s: number | null,
  /** Bound on a request's mean time per output token, seconds; missing where there is none. */
  tpot_s: number | null,
  /** Bound on a request's largest gap between tokens, seconds; missing where there is none. */
  tbt_s: number | null,
  /** S-LoRA's SLO attainment: share of requests with a first token within the bound on TTFT. */
  attainment: number | null,
  /** Share of requests that were completed within every bound that is set. */
  attainment_all: number | null,
  /** Mean of 1 - (t/bound)^2. */
  satisfaction: number | null,
  /** Goodput: requests completed within every bound, requests a second. */
  goodput_rps: number | null,
};

/** What was read of a file. */
export type SourceInfo = {
  /** Its name. */
  name: string,
  /** Its format, or "". */
  format: string,
  /** Number of requests. */
  requests: number,
  /** From the first arrival to the last, seconds. */
  span_s: number,
  /** Requests a second over the span. */
  rate_rps: number | null,
  /** Mean prompt, tokens. */
  input_tokens_mean: number,
  /** Mean output, tokens. */
  output_tokens_mean: number,
  /** Prompt tokens for each output token (P:D). */
  pd_ratio: number | null,
  /** What a reader should know. */
  warnings: Array<Diagnostic>,
  /** The file's own number for each parameter of the workload that it decides, where it has one. */
  settings: { [key in string]: number },
  /** What the requests carry. */
  traffic: Traffic,
  /** Rows that could not be read and were left out. */
  bad_rows: RowsLeftOut,
  /** Requests whose output length the file does not have. */
  assumed_outputs: number,
  /** The length in tokens that each of them was given; 0 = none. */
  assumed_output_tokens: number,
};

/** What speculative decoding did, of all replicas. */
export type SpeculationUse = {
  /** Tokens of a verification in the mean: its right drafts and one more. */
  acceptance_length: number | null,
  /** Right drafts over verified ones. */
  acceptance_rate: number | null,
  /** Times that drafts of a request were verified. */
  verifications: number,
  /** Drafts that were verified. */
  drafted_tokens: number,
  /** Those of them that were right. */
  accepted_tokens: number,
  /** Those that were not: their rows came to nothing. */
  rejected_tokens: number,
  /** The share of verifications in which at least the first, the first two, … drafts were right. */
  accepted_per_position: Array<number>,
};

/** Groups of requests in `time_split`. */
export type SplitBy = "adapter" | "user" | "length";

/** Mean of each part of E2E, seconds. */
export type SplitMeans = {
  /** Time in the waiting queue. */
  queue: number | null,
  /** Loading adapters. */
  adapter_load: number | null,
  /** Own prefill. */
  prefill: number | null,
  /** Stalled while other requests were prefilled. */
  stalled: number | null,
  /** Decode iterations. */
  decode: number | null,
};

/** The order of configurations. */
export type StandingsReply = {
  /** In the order of the configurations. */
  standings: Array<CapacityStanding>,
  /** Their costs. */
  charts: Array<ChartData>,
};

/** An adapter in GPU memory. */
export type StepAdapter = {
  /** Which adapter. */
  adapter: number,
  /** Requests of the batch that use it. */
  users: number,
};

/** Adapters of the replica when it began to look. */
export type StepAdapters = {
  /** LoRA slots, where there are slots. */
  slots: number | null,
  /** Adapters that requests of the batch use. */
  used: number,
  /** Adapters in GPU memory. */
  resident: number,
  /** These one by one; none where all of them stay in GPU memory. */
  list: Array<StepAdapter>,
};

/** The request of a step. */
export type StepCandidate = {
  /** When it came, seconds. */
  arrival_s: number,
  /** Prompt tokens. */
  input_tokens: number,
  /** Bound on its output tokens. */
  max_tokens: number,
  /** Which request. */
  request: number,
  /** Its user. */
  user: number,
  /** Its adapter; -1: the base model. */
  adapter: number,
};

/** A client's counter. */
export type StepCounter = {
  /** The user's or adapter's index; -1: the base model. */
  client: number,
  /** The counter, in the units of the token cost. */
  counter: number,
};

/** The counters of clients. */
export type StepCounters = {
  /** "user" or "adapter". */
  by: string,
  /** Every client seen so far. */
  rows: Array<StepCounter>,
};

/** A field of a step. */
export type StepField = {
  /** Its name. */
  name: string,
  /** What it is. */
  help: string,
  /** Its unit, or "". */
  unit: string,
  /** What may stand in it. */
  kind: 'number' | 'whole' | 'choice' | 'text',
  /** Smallest number. */
  min: number,
  /** Largest number. */
  max: number,
  /** What it is where nothing is said. */
  default: string,
  /** Whether it may be empty. */
  optional: boolean,
  /** The options of a choice. */
  options: Array<string>,
};

/** The gateway when it was about to decide. */
export type StepGateway = {
  /** Prompt and predicted output tokens of all that wait. */
  waiting_tokens: number,
  /** Requests at the engine. */
  at_engine: number,
  /** Most of them; none: any number. */
  most_at_engine: number | null,
  /** Tokens reserved for requests at the engine. */
  reserved_tokens: number,
  /** Tokens of the pool that are free and not reserved. */
  room_tokens: number,
  /** Tokens of the pool. */
  pool_tokens: number,
  /** The load state. */
  load: string,
};

/** A request that holds KV blocks. */
export type StepHolder = {
  /** Its blocks. */
  blocks: number,
  /** Tokens processed. */
  tokens: number,
  /** Whether it decodes; otherwise its prompt is processed. */
  decodes: boolean,
  /** Its drafts, which its next iteration verifies if they fit. */
  drafts: number,
  /** Its drafts that were verified so far. */
  verified_drafts: number,
  /** Those of them that were accepted. */
  accepted_drafts: number,
  /** Which request. */
  request: number,
  /** Its user. */
  user: number,
  /** Its adapter; -1: the base model. */
  adapter: number,
};

/** A step that traffic can take. */
export type StepKind = {
  /** Its name. */
  name: string,
  /** What it does. */
  help: string,
  /** Its fields. */
  fields: Array<StepField>,
};

/** The table of steps, and of joins of several sources. */
export type StepKinds = {
  /** Steps of one trace. */
  steps: Array<StepKind>,
  /** Joins of several. */
  joins: Array<StepKind>,
};

/** KV memory of the replica when it began to look. */
export type StepKv = {
  /** Blocks of the pool. */
  total: number,
  /** Blocks that requests use. */
  used: number,
  /** Blocks in which adapters are. */
  adapters: number,
  /** Blocks that are free. */
  free: number,
  /** Blocks that the host keeps of preempted requests. */
  host: number,
  /** Blocks that are counted at more than one request. */
  shared: number,
  /** Blocks that are held by copies to host memory alone. */
  copied: number,
  /** Tokens in a block. */
  block_tokens: number,
  /** Blocks by request, in the order of admission. */
  holders: Array<StepHolder>,
};

/** Limits of the scheduler and how near the look is to them. */
export type StepLimits = {
  /** Requests that hold memory. */
  running: number,
  /** Most of them. */
  most_running: number,
  /** The token budget of an iteration. */
  token_budget: number,
  /** What earlier prompts of this look leave of it, where prompts alone take from it. */
  token_budget_left: number | null,
  /** KV blocks that stay free for requests that run. */
  watermark_blocks: number,
  /** Decode iterations since the last prefill, where the scheduler goes by them. */
  decode_steps: number | null,
  /** After how many of them prompts may be admitted. */
  decode_steps_between_prefills: number | null,
  /** The radix tree of prefixes, and by what it admits requests, of a scheduler that keeps one. */
  radix: StepRadix | null,
};

/** What a step did. */
export type StepNote = {
  /** The step. */
  step: string,
  /** The trace before; of several the first. */
  before: TraceShape,
  /** The trace after. */
  after: TraceShape,
  /** What else there is to report. */
  facts: Array<Fact>,
};

/** The memory test of S-LoRA and `LightLLM`. */
export type StepPeak = {
  /** Requests by tokens left, descending, the candidate among them. */
  rows: Array<StepPeakRow>,
  /** The largest of the rows' tokens. */
  need: number,
  /** Which row that is, from 0 on. */
  worst: number,
  /** What it has to stay below: the pool without adapters. */
  limit: number | null,
  /** Tokens of the pool. */
  pool_tokens: number,
};

/** A row of the memory test's sorted list. */
export type StepPeakRow = {
  /** Which request; none where that is not known. */
  request: number | null,
  /** Tokens that it holds. */
  used: number,
  /** Tokens that it may produce further. */
  left: number,
  /** Tokens that all down to it hold when it is done: tokens left times its place in the list, and tokens held so far. */
  tokens: number,
  /** Whether it joins with this look. */
  joins: boolean,
};

/** A waiting queue. */
export type StepQueue = {
  /** "replica" or "gateway". */
  at: string,
  /** By what it is ordered. */
  key: string,
  /** How many wait. */
  count: number,
  /** The first of them, in order. */
  rows: Array<StepQueueRow>,
  /** The rule of the order. */
  rule: StepRule,
};

/** A request of a queue. */
export type StepQueueRow = {
  /** What it is ordered by, in the unit of the key (times: seconds); none of one that stands before the order. */
  key: number | null,
  /** When it came, seconds. */
  arrival_s: number,
  /** Prompt tokens that are to be processed. */
  prompt_tokens: number,
  /** Whether it was preempted before. */
  was_preempted: boolean,
  /**
   * What became of it in this look so far: "candidate", the verdict of an earlier decision, "held_back" (by a limit of its
   * client) or "".
   */
  state: string,
  /** Which request. */
  request: number,
  /** Its user. */
  user: number,
  /** Its adapter; -1: the base model. */
  adapter: number,
};

/** A radix tree of prefixes. */
export type StepRadix = {
  /** Tokens of it that running requests use. */
  locked_tokens: number,
  /** Tokens of it that could be evicted. */
  evictable_tokens: number,
  /** Tokens of pages that are free. */
  free_tokens: number,
  /** Which share of its further tokens a running request is expected to need. */
  new_token_ratio: number,
  /** The request whose prompt is prefilled in part. */
  chunked_request: number | null,
};

/** A replica that the router could send the request to, as the router saw it. */
export type StepRated = {
  /** Which one. */
  replica: number,
  /** Tokens of the prompt that are believed to be cached there. */
  cached_tokens: number,
  /** Prompt tokens that are to be computed there before it. */
  uncached_tokens: number,
  /** Requests that wait or run there. */
  requests: number,
  /** Its score, of which the highest is the best; none of one that a filter left out. */
  score: number | null,
  /** Whether the request went there. */
  is_chosen: boolean,
};

/** A replica at the time of the step. */
export type StepReplica = {
  /** Requests that wait. */
  waiting: number,
  /** Requests that hold memory. */
  running: number,
  /** Blocks that requests use. */
  used_blocks: number,
  /** Blocks that are free. */
  free_blocks: number,
};

/** A rule. */
export type StepRule = {
  /** Its name, for the page to put into words. */
  code: string,
  /** In English. */
  name: string,
  /** Page of the documentation, from the root of the repository. */
  doc: string,
  /** Source file, from the root of the repository. */
  source: string,
};

/** What a test compared. */
export type StepTest = {
  /** Its name. */
  name: string,
  /** What was needed, in the unit of the test. */
  need: number | null,
  /** What there was. */
  have: number | null,
  /** In a sentence. */
  sentence: StepText,
};

/** A sentence. */
export type StepText = {
  /** One of [`SENTENCES`]. */
  code: string,
  /** What fills its places. */
  params: { [key in string]: MessageParameter },
  /** In English. */
  text: string,
};

/** A step. */
export type StepView = {
  /** Its number, from 0 on. */
  step: number,
  /** How many steps there are. */
  steps: number,
  /** When, seconds. */
  time_s: number,
  /** The replica; none: before one was chosen. */
  replica: number | null,
  /** What was decided: the name of the verdict, "loaded" or "scaled". */
  verdict: string,
  /** What was decided, in a sentence. */
  sentence: StepText,
  /** The request that it is about; none: the whole queue, or adapters. */
  candidate: StepCandidate | null,
  /** The request for which another one is preempted. */
  for_request: number | null,
  /** What decided it. */
  test: StepTest | null,
  /** The rule. */
  rule: StepRule,
  /** The waiting queue. */
  queue: StepQueue | null,
  /** The sorted list of the memory test. */
  memory_test: StepPeak | null,
  /** Limits of the scheduler. */
  limits: StepLimits | null,
  /** KV memory. */
  kv: StepKv | null,
  /** Adapters. */
  adapters: StepAdapters | null,
  /** Counters of clients. */
  counters: StepCounters | null,
  /** The gateway. */
  gateway: StepGateway | null,
  /** What a router with a rule chose among; none of other steps. */
  router: Array<StepRated> | null,
  /** Every replica just before the step's time. */
  replicas: Array<StepReplica>,
};

/** The summary with what should be known beside it. */
export type Summary = {
  /** Where prompts are given in blocks: what a cache without limit would find. */
  prefix: PrefixSummary | null,
  /** Of a fleet: what else is to be said of it. */
  fleet: FleetSummary | null,
  /** Replicas that there were, of all pools; data-parallel ranks count each. */
  replicas: number,
  /** GPU seconds for which the replicas are paid, from when each was asked for until it stops or the run ends. */
  gpu_s: number,
  /** What the proxy did, if there was one. */
  gateway: GatewaySummary | null,
  /** What lies in a GPU's memory, where the KV memory is what the plan leaves. */
  memory: RunMemory | null,
  /** How far these times are to be expected from a real server's. */
  expected_error: ExpectedError | null,
  /** The id of the request that `workload.extra_request` asks for; null where it asks for none. */
  extra_request: number | null,
  /** What a reader of the numbers should know. */
  warnings: Array<Diagnostic>,
  /** 64-bit digest of all outcomes, hexadecimal. */
  digest: string,
  /** Requests by outcome. */
  requests: RequestCounts,
  /** Outputs that are shorter than asked for. */
  cut_outputs: CutOutputs,
  /** From time 0 to the end of the last iteration, seconds. */
  makespan_s: number,
  /** Completed requests over the makespan. */
  throughput_rps: number | null,
  /**
   * S-LoRA's throughput without ramp up and down; missing on runs of 20 s and less, where fewer requests were
   * completed than arrive in 20 s, and where no rate was asked for.
   */
  strip_throughput_rps: number | null,
  /** Tokens produced a second. */
  output_tokens_per_s: number | null,
  /** Prompt and produced tokens a second. */
  total_tokens_per_s: number | null,
  /**
   * Prompt tokens for each output token of the requests offered (P:D), without output tokens that were cut; missing without
   * requests.
   */
  pd_ratio: number | null,
  /** Time to first token. */
  ttft_s: Distribution,
  /** Every gap between two tokens of a request; tokens of one verification come together, and have one gap. */
  tbt_s: Distribution,
  /** Mean gap of each request of at least two tokens. */
  tpot_s: Distribution,
  /** End-to-end time. */
  e2e_s: Distribution,
  /** End-to-end time over tokens produced. */
  normalized_s: Distribution,
  /** Time in the waiting queue. */
  queue_s: Distribution,
  /** Mean of each part of E2E. */
  split_s: SplitMeans,
  /** Judgement by the SLO. */
  slo: SloScore,
  /** Iterations. */
  batch: BatchMeans,
  /** KV memory. */
  kv: KvUsage,
  /** The prefix cache; missing where there is none. */
  prefix_cache: PrefixCacheUse | null,
  /** What the tiers of host memory did; missing where there is none. */
  host_cache?: HostCacheUse,
  /** What speculative decoding did; missing where no draft was verified. */
  speculation?: SpeculationUse,
  /** What data-parallel ranks lost by running every pass together; missing where none did. */
  ranks?: RankUse,
  /** What KV transfers from prefill to decode replicas cost; missing where there was none. */
  kv_transfer?: KvTransferUse,
  /** The replicas over time; missing where their number never changed. */
  scaling?: ScalingUse,
  /** What failures of replicas cost; missing where none failed. */
  failures: FailureLosses | null,
  /** What the router believed of it; missing where it keeps no index. */
  routing?: RoutingUse,
  /** The GPU. */
  gpu: GpuUse,
  /** Preemptions of running requests; S-LoRA has none. */
  preemptions: number,
  /** Adapter swapping. */
  adapters: AdapterUse,
  /** Different users that sent requests. */
  users: number,
  /** The busiest users. */
  per_user: Array<GroupRow>,
  /** The busiest adapters. */
  per_adapter: Array<GroupRow>,
};

/** A parameter and the values that it has, in the order in which they come. */
export type SweepAxis = {
  /** The path. */
  path: string,
  /** Its values. */
  values: Array<ParameterValue>,
};

/** A metric of a point over its seeds: the mean with its 95 % interval. */
export type SweepCell = {
  /** The mean. */
  mean: number | null,
  /** Lower end of its interval. */
  low: number | null,
  /** Upper end. */
  high: number | null,
  /** Seeds that have the metric. */
  seeds: number,
};

/** A curve of a sweep. */
export type SweepCurve = {
  /** Its role. */
  role: string,
  /** Its values of the other parameters. */
  point: Record<string, ParameterValue>,
};

/** Values of closed forms for one metric. */
export type SweepExpected = {
  /** A value each point, in the order of the sweep; none where no closed form holds. */
  points: Array<ExpectedValue | null>,
  /** The settings that violate its conditions at the first point where none holds. */
  obstacles: Array<ClosedFormObstacle>,
};

/** What the runs of a sweep have in common. Run `index` is of point `index / seeds`; the last axis moves fastest. */
export type SweepPlan = {
  /** Digest of everything that its results depend on, but for the simulator itself. */
  sweep: string,
  /** How many there are. */
  runs: number,
  /** Seeds of each point. */
  seeds: number,
  /** The axes. */
  over: Array<SweepAxis>,
  /** Key paths of the summary. */
  metrics: Array<string>,
  /** The bound that the SLO sets to each metric. */
  bounds: Array<number | null>,
  /** Values of closed forms of queueing theory for each metric: null where none is known for it. */
  expected: Array<SweepExpected | null>,
  /** The terminal's command for the same. */
  command: string,
};

/** A point of a sweep, as the terminal's `sweep --json` has it. */
export type SweepPoint = {
  /** The value of each axis by path. */
  point: Record<string, ParameterValue>,
  /** The metrics. */
  metrics: { [key in string]: SweepCell },
  /** By metric, where a closed form is known for it. */
  expected?: { [key in string]: ExpectedValue },
  /** Why a run could not be made, of the first that could not. */
  error?: string,
};

/** What the runs so far say. */
export type SweepResults = {
  /** The points. */
  points: Array<SweepPoint>,
  /** What the charts show. */
  views: Array<SweepView>,
  /** A chart each. */
  charts: Array<ChartData>,
};

/** A shade of a heat map. */
export type SweepShade = {
  /** Its role. */
  role: string,
  /** The lowest value that has it. */
  low: number,
  /** The highest. */
  high: number,
};

/** A sweep as the terminal's `sweep` takes it. */
export type SweepSpec = {
  /** The settings that all runs have. */
  scenario: ScenarioPatch,
  /** A text for each parameter: PATH=FROM:TO:N, PATH=FROM:TO:N:log or PATH=VALUE,VALUE. */
  over: readonly string[],
  /** Key paths of the summary. */
  metrics: readonly string[],
  /** Seeds of each point. */
  seeds: number,
};

/** What a chart of a sweep shows, and what its roles stand for. */
export type SweepView = {
  /** The metric. */
  metric: string,
  /** The parameter of the horizontal axis. */
  x: string,
  /** Of a heat map: the parameter of the vertical axis. */
  y: string | null,
  /** The queueing models and bounds whose closed forms are drawn. */
  models: Array<string>,
  /** Of a heat map: its values of the other parameters. */
  fixed: Record<string, ParameterValue>,
  /** Of a heat map: what its shades mean. */
  shades: Array<SweepShade>,
  /** The curves. */
  curves: Array<SweepCurve>,
};

/** A setting that was taken over. */
export type TakenSetting = {
  /** The parameter's path. */
  path: string,
  /** Its value. */
  value: string,
  /** What the file says, or why this is the default here. */
  from: string,
};

/** Where times come from. */
export type TimedOrigin = "measured" | "reconstructed" | "synthetic" | "modelled";

/** Where a part of iteration times comes from, and how far it is from what was measured. */
export type TimedPart = {
  /** `operators` or `attention`. */
  name: string,
  /** `measured`, `reconstructed`, `synthetic` or `modelled`. */
  origin: TimedOrigin,
  /** Median of the relative errors. */
  median_error: number,
  /** Their 95th percentile. */
  p95_error: number,
};

/** Where iteration times come from. */
export type TimedSource = {
  /** The iteration-time model: `profile` or `kernels`. */
  kind: 'profile' | 'kernels',
  /** What was timed: GPU, model, degree. */
  name: string,
  /** The file, for a profile that was loaded. */
  file: string | null,
  /** The parts of a profile. */
  parts: Array<TimedPart>,
  /** What is recorded of a shipped profile where nothing was timed; nothing of a loaded one. */
  held_out: Array<HeldOutError>,
  /** Kernels that were not measured for the deployment, by the names of their tables: related ones stand in. */
  stand_ins: Array<string>,
};

/** A trace in four numbers. */
export type TraceShape = {
  /** Number of requests. */
  requests: number,
  /** From the first arrival to the last, seconds. */
  span_s: number,
  /** Requests a second over the span. */
  rate_rps: number | null,
  /** Standard deviation over mean of the gaps between arrivals. */
  gap_cv: number | null,
};

/** What the conditions of the parameter table ask of a trace. */
export type Traffic = {
  /** Different adapters that are asked for, up to 2. */
  adapters: number,
  /** Whether their ranks differ. */
  has_ranks: boolean,
  /** The largest of their ranks; 0 without adapters. */
  largest_rank: number,
  /** Different users, up to 2. */
  users: number,
  /** Whether requests belong to sessions. */
  has_sessions: boolean,
  /** Whether requests wait for others. */
  is_closed: boolean,
  /** Whether prompts are given in blocks. */
  has_prefixes: boolean,
  /** Whether some request sends another `max_tokens` than the length of its output. */
  has_caps: boolean,
};

/** The charts of traffic. */
export type TrafficCharts = {
  /** Of what is looked at, with its twins. */
  charts: Array<ChartData>,
  /** Of the first source, where steps changed it. */
  before: Array<ChartData>,
};

/** Requests that only one run has. */
export type UnpairedRequests = {
  /** Only A. */
  a: number,
  /** Only B. */
  b: number,
};

/** Why a configuration has no rank. */
export type Unranked = "no_rate" | "no_price" | "fails";

/** Something that makes requests wait: without it they fare better. */
export type WaitCause = {
  /**
   * The name of a gateway's check, "fair_share", "adapter_slots", "batch_cap", "token_budget", "replicas",
   * "cold_start", or "failures".
   */
  suspect: string,
  /** What is better without it: "throughput_rps" or "ttft_s.mean". */
  metric: string,
  /** Its mean as the settings are. */
  with: number,
  /** Its mean without the cause: of replicas and of limits of the scheduler there is twice as much. */
  without: number,
  /** Pairs of runs; 1 of a loaded trace. */
  seeds: number,
};

/** The fewest requests that at least half of all waiting was behind. */
export type WaitedFor = {
  /** The one with the largest part. */
  first: number,
  /** How many. */
  requests: number,
  /** Of how many. */
  of_all: number,
  /** Their part of the waiting. */
  share: number,
  /** The median length of their prompts, tokens. */
  input_tokens: number,
  /** That of all requests. */
  all_input_tokens: number,
  /** The median length of their outputs, tokens. */
  output_tokens: number,
  /** That of all requests. */
  all_output_tokens: number,
};

/** Where the time of all requests went, and who delayed whom. */
export type Why = {
  /** Every cause with the time of all requests. */
  causes: Array<CauseTime>,
  /** By user. */
  users: Array<WhyGroup>,
  /** By adapter. */
  adapters: Array<WhyGroup>,
  /** What requests waited for others. */
  waiting: AllWaiting,
};

/** Requests of one user or adapter. */
export type WhyGroup = {
  /** The user's or adapter's index; -1: the base model; none: all further ones together. */
  index: number | null,
  /** How many requests. */
  requests: number,
  /** Seconds by cause, in the order of [`Why::causes`]. */
  causes_s: Array<number>,
  /** Seconds of delay by the group that held what was waited for, in the order of the groups; the last: no request did. */
  delayed_by_s: Array<number>,
};
