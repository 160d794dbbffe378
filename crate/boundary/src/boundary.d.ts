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
  /** One standard deviation of the rate, as a share of it; none where the runs do not tell it. */
  deviation: number | null,
  /** Where the runs were too short for the tolerance: how long they should be, seconds. */
  needs_s: number | null,
  /** What a reader of the rate should know: that the runs were too short, or that their rate is not the one asked for. */
  notes: Array<Failure>,
  /** What the GPUs cost. */
  price: Price,
  /**
   * The scenario's own load, requests a second: the mean over its duration where the rate changes, and that of a file at
   * its own speed.
   */
  load_rps: number,
  /** Every run, in the order in which they were made. */
  probes: Array<CapacityProbe>,
};

/** What a check showed. */
export type CapacityChecked = {
  /** Replicas that were simulated. */
  replicas: number,
  /** The load that the run had, requests a second. */
  rate_rps: number,
  /** Requests of the run. */
  requests: number,
  /** The goal's quantile of each of [`METRICS`], seconds; missing where it is infinite or there is no sample. */
  quantile_s: [number | null, number | null, number | null, number | null],
  /** Why the goal is not met; none where it is. */
  miss: CapacityMiss | null,
};

/** What the order of a configuration depends on. */
export type CapacityEntry = {
  /** The rate found. */
  rate_rps: number | null,
  /** The load to be served. */
  load_rps: number,
  /** GPUs. */
  gpus: number,
  /** Replicas that they make. */
  replicas: number,
  /** Which GPUs; "" where the cost model names none. */
  gpu: string,
  /** What one of them costs. */
  usd_per_gpu_hour: number | null,
  /** The goal's quantile of TTFT at that rate, seconds. */
  ttft_s: number | null,
  /** The same of TBT. */
  tbt_s: number | null,
};

/** The load of a setting beside its capacity. */
export type CapacityLoad = {
  /** The scenario's own load, requests a second. */
  load_rps: number,
  /** The capacity of these settings by the goal of the capacity search, requests a second. */
  capacity_rps: number,
  /** The first over the second; above 1 more arrives than can be served. */
  share: number,
};

/** What a run showed. */
export type CapacityMeasures = {
  /** Requests offered. */
  requests: number,
  /**
   * The goal's quantile of each of [`METRICS`], seconds, over everything that was offered: who was refused, timed out or
   * was never served counts as infinitely late. Missing where it is infinite or there is no sample.
   */
  quantile_s: [number | null, number | null, number | null, number | null],
  /** Completed requests over the makespan. */
  throughput_rps: number,
  /** Tokens produced over the makespan. */
  output_tokens_per_s: number,
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

/** What serves the load: as many replicas as a replica's share of the capacity goes into it. */
export type CapacityNeed = {
  /** The load, requests a second. */
  load_rps: number,
  /** Replicas: the load over the capacity of one, rounded up. */
  replicas: number,
  /** Their GPUs. */
  gpus: number,
  /** What these cost an hour. */
  usd_per_hour: number | null,
  /** The load as a share of their capacity; what is left to 1 is headroom. */
  load_share: number,
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
  /** Whether that is to be simulated: [`Check`](super::Check). */
  is_checked: boolean,
  /** Requests for a dollar, at the rate found. */
  requests_per_usd: number | null,
  /** Whether no other has a shorter TTFT at the same or a lower cost of a request. */
  is_on_ttft_front: boolean,
  /** Whether no other has shorter TBT at the same or a lower cost of a request. */
  is_on_tbt_front: boolean,
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

/** A request and all its delays. */
export type Delayed = {
  /** Which request. */
  id: number,
  /** How long it was delayed in all. */
  delayed_s: number,
};

/** What a page shows. */
export type DeploymentView = {
  /** GPU. */
  gpu: string,
  /** Model. */
  model: string,
  /** Its layers. */
  layers: number,
  /** GPUs of a replica. */
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

/** Median absolute errors against measured deployments of vLLM, shares of what was measured. */
export type ExpectedError = {
  /** Of the mean TTFT. */
  ttft: number,
  /** Of the mean TPOT. */
  tpot: number,
  /** Measured rows. */
  rows: number,
  /** Which they are: `model_and_gpu`, `gpu`, or `all` where neither was measured. */
  of: 'model_and_gpu' | 'gpu' | 'all',
};

/** One thing that is wrong. */
export type Failure = {
  /** One of [`CODES`]. */
  code: string,
  /** The parameter's path, or the file's name, or "". */
  path: string,
  /** In English, with the place, the bound and the value. */
  message: string,
  /** What the page fills its own message with. */
  params: { [key in string]: MessageParameter },
};

/** Requests that needed no second attempt. */
export type FirstAttempt = {
  /** Served to the end. */
  completed: number,
  /** Those within every bound of the SLO, requests a second of the makespan. */
  goodput_rps: number | null,
  /** Share of all requests that come once and have a first token within the bound on TTFT. */
  attainment: number | null,
  /** Share of all requests that come once and meet every bound. */
  attainment_all: number | null,
};

/** What a summary says of a fleet. Times of requests are over completed ones. */
export type FleetSummary = {
  /** GPU seconds of all replicas by class of operator; of several stages their mean. Classes without time are left out. */
  operators_s: { [key in string]: number },
  /** Every replica. */
  per_replica: Array<ReplicaRow>,
  /** How long the iterations of a request were worked on. */
  execution_s: Distribution,
  /** How long it stood still, waited between stages, or waited again, from its first iteration on. */
  preempted_s: Distribution,
  /** From its first iteration to its first token, over the tokens of its prompt. */
  prefill_per_token_s: Distribution,
  /** From its first token to its last, over its tokens. */
  decode_per_token_s: Distribution,
};

/** What became of what the proxy held, over time. */
export type GatewaySummary = {
  /** Attempts of all requests. */
  attempts: number,
  /** Attempts that were refused, by reason; every reason that a proxy knows is listed. */
  refusals: { [key in string]: number },
  /** Attempts that waited too long. */
  timeouts: number,
  /** Requests that came more than once. */
  retried: number,
  /** Attempts that no file lists, because there were too many. */
  unlisted_attempts: number,
  /** Requests that needed no second attempt. */
  first_attempt: FirstAttempt,
  /** Requests that had to wait at the gateway, by what held them last. */
  held: { [key in string]: number },
  /** Wait of the last attempt at the gateway, of the requests let through, seconds. */
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
};

/** Use of the GPU over the makespan. */
export type GpuUse = {
  /** Share of time in iterations (adapter loading is not counted). */
  busy: number | null,
  /** FLOPs over the peak's, where the cost model knows them; of a calibration 2 x parameters a token. */
  mfu: number | null,
  /** Bytes read and written over what the memory can do; missing where the cost model does not know it. */
  bandwidth: number | null,
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
  /** Requests refused. */
  rejected: number,
  /** Prompt tokens of completed requests. */
  input_tokens: number,
  /** Tokens produced for completed requests. */
  output_tokens: number,
  /** Requests sent in a second of the time up to the last arrival of all; `None` where that time is 0. */
  rate_rps: number | null,
  /** Share of requests that the workload's law gives it, if there is a law. */
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

/** What a deployment's times are off by where nothing was timed. */
export type HeldOutError = {
  /** `products`, `decode` or `prompts`. */
  name: 'products' | 'decode' | 'prompts',
  /** What the fit had not seen: every other of the `points`, or, where attention is a law, the `heads`. */
  unseen: 'points' | 'heads',
  /** Median of the relative errors; of heads that of the best predicted. */
  from: number,
  /** Their 95th percentile; of heads the median of the worst predicted. */
  to: number,
};

/** Requests of one user that delayed another. */
export type Holders = {
  /** The user with the largest part in the delay. */
  user: number,
  /** How many of this user's requests held what was waited for. */
  requests: number,
  /** How many of all users'. */
  of_all: number,
  /** The user's part of the delay. */
  share: number,
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

/** How a series is drawn. */
export type Mark = "line" | "step" | "area" | "band" | "bars" | "points" | "rule_x" | "rule_y";

/** One part of the memory. */
export type MemoryPart = {
  /** `weights`, `activations`, `adapters`, `kv` or `margin`. */
  name: 'weights' | 'activations' | 'adapters' | 'kv' | 'margin',
  /** Gigabytes (1e9). */
  gb: number,
};

/** A parameter of a message. */
export type MessageParameter = number | string;

/** The service at one time. Users are those of the trace; columns of one station have one entry a request. */
export type Moment = {
  /** When, seconds. */
  time_s: number,
  /** When the last request arrived, and when the run ended, seconds. */
  last_arrival_s: number,
  /** End of the run, seconds. */
  end_s: number,
  /** How long it is until the next requests arrive, seconds, the first first. */
  coming_s: Array<number>,
  /** Their users. */
  coming_users: Array<number>,
  /** Requests that the gateway holds. */
  at_gateway: number,
  /** Requests rejected so far. */
  rejected: number,
  /** Requests that wait at the engine, those that were preempted included. */
  waiting: number,
  /** Their users, in the order of arrival. */
  waiting_users: Array<number>,
  /** Requests in the batches of all replicas. */
  running: number,
  /** Their users, in the order of admission. */
  running_users: Array<number>,
  /** What each of them does: 0 prefill, 1 decode, 2 stalled. */
  running_phases: Array<number>,
  /** Replicas that compute an iteration, that load adapters before one, and all. */
  computing: number,
  /** Replicas that load adapters before an iteration. */
  loading: number,
  /** All replicas. */
  replicas: number,
  /** Prompt tokens of the iterations under way. */
  prompt_tokens: number,
  /** Requests that decode a token in them. */
  decodes: number,
  /** How long they take, on average, seconds. */
  iteration_s: number,
  /** KV tokens in use on all replicas. */
  kv_tokens: number,
  /** Pool tokens that adapters take on all replicas. */
  adapter_tokens: number,
  /** The pools of all replicas, tokens. */
  pool_tokens: number,
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

/** Predicted against true outputs of the requests that were let through. */
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
  /** The id of the GPU; "" where the cost model names none. */
  gpu: string,
  /** USD for one of them and an hour; `None` where no price of this kind is known. */
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

/** One replica over the makespan. */
export type ReplicaRow = {
  /** Index. */
  id: number,
  /** Requests that the router gave it. */
  requests: number,
  /** Of these, served to the end. */
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
  /** Requests thrown out of a batch, each time counted. */
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
  /** Refused, by reason (every reason is listed). */
  rejected: { [key in string]: number },
  /** Refused for any reason. */
  rejected_total: number,
  /** Left the waiting queue because they had waited too long. */
  timed_out: number,
  /** Still waiting when nothing more could happen. */
  unfinished: number,
  /** Clients that went away. */
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

/** One request's time. */
export type RequestWhy = {
  /** Which request. */
  id: number,
  /** From its arrival to its end, or to the end of the run. */
  total_s: number,
  /** All its delays; the rest is its own prompt and its own output. */
  delayed_s: number,
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
  problems: Array<Failure>,
};

/** How values become lengths. */
export type ScaleKind = "linear" | "log";

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

/** The axes that the bands are drawn on, those of the run that is shown. */
export type SeedSpans = {
  /** The ends of the clock, seconds. */
  time_s: [number, number],
  /** The ends of the axis of latencies, seconds, above 0. */
  latency_s: [number, number],
};

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

/** Mean of each part of E2E, seconds. */
export type SplitMeans = {
  /** waiting queue. */
  queue: number | null,
  /** Loading adapters. */
  adapter_load: number | null,
  /** Own prefill. */
  prefill: number | null,
  /** Standing still for others. */
  stalled: number | null,
  /** Decode iterations. */
  decode: number | null,
};

/** The summary with what should be known beside it. */
export type Summary = {
  /** Where prompts are told in blocks: what a cache without limit would find. */
  prefix: PrefixSummary | null,
  /** Of a fleet: what else is to be said of it. */
  fleet: FleetSummary | null,
  /** What the proxy did, if there was one. */
  gateway: GatewaySummary | null,
  /** How far these times are to be expected from a real server's. */
  expected_error: ExpectedError | null,
  /** What a reader of the numbers should know. */
  warnings: Array<Failure>,
  /** 64-bit digest of all outcomes, hexadecimal. */
  digest: string,
  /** Requests by outcome. */
  requests: RequestCounts,
  /** From time 0 to the end of the last iteration, seconds. */
  makespan_s: number,
  /** Completed requests over the makespan. */
  throughput_rps: number | null,
  /** S-LoRA's throughput without ramp up and down; missing on runs of 20 s and less and where no rate was asked for. */
  strip_throughput_rps: number | null,
  /** Tokens produced a second. */
  output_tokens_per_s: number | null,
  /** Prompt and produced tokens a second. */
  total_tokens_per_s: number | null,
  /** Prompt tokens for each output token of the requests offered (P:D); missing without requests. */
  pd_ratio: number | null,
  /** Time to first token. */
  ttft_s: Distribution,
  /** Every gap between two tokens of a request. */
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
  /** The GPU. */
  gpu: GpuUse,
  /** Requests thrown out of the batch; S-LoRA has none. */
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

/** What the conditions of the parameter table ask of a trace. */
export type Traffic = {
  /** Different adapters that are asked for, up to 2. */
  adapters: number,
  /** Whether their ranks differ. */
  has_ranks: boolean,
  /** Different users, up to 2. */
  users: number,
  /** Whether requests belong to sessions. */
  has_sessions: boolean,
  /** Whether requests wait for others. */
  is_closed: boolean,
  /** Whether prompts are told in blocks. */
  has_prefixes: boolean,
  /** Whether some request sends another `max_tokens` than the length of its output. */
  has_caps: boolean,
};

/** Why a configuration has no rank. */
export type Unranked = "no_rate" | "no_price";

/** Where the time of all requests went, and who delayed whom. */
export type Why = {
  /** Every cause with the time of all requests. */
  causes: Array<CauseTime>,
  /** By user. */
  users: Array<WhyGroup>,
  /** By adapter. */
  adapters: Array<WhyGroup>,
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
