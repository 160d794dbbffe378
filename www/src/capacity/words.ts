// The capacity view's own words, in both languages; the compiler compares the tables.
import { ownWords } from '../i18n/own-words.js';
import { chinese } from './words-zh.js';

export const english = {
  'goal.title': 'How much can it take?',
  'goal.about': 'The rate R is raised and lowered, with the same requests closer together or further apart, until the highest one is found that keeps every bound. Rates are those that the runs had. Where the duration is too short for the tolerance, the runs go on for longer. A loaded file is played faster or slower.',
  'goal.running': 'Searching…',
  'goal.found': '{rate} req/s keep every bound; at {missed} req/s {reason}.',
  'goal.most': '{rate} req/s keep every bound; more cannot be asked for.',
  'goal.none': 'No rate keeps every bound: even at {missed} req/s {reason}.',
  'goal.never': 'No rate keeps every bound: {reason}.',
  'goal.stopped': 'Stopped.',
  'goal.stop': 'Stop',
  'goal.again': 'Search again',
  'goal.run': 'From runs of {run}.',
  'goal.precision': 'From runs of {run}; the standard deviation of the rate is {deviation}.',

  'miss.bound': '{share} of {what} is {value}, above {limit}',
  'miss.never': '{share} of {what} has no end within {limit}',
  'miss.unserved': '{requests} of {offered} requests are not served',
  'miss.too_long': '{share} of the requests are too long for the service at any rate',
  'miss.growing': 'the queue grows by {growth} of the arrivals',
  'metric.ttft_s': 'the time to first token',
  'metric.tbt_s': 'the gaps between tokens',
  'metric.e2e_s': 'the end-to-end time',
  'metric.queue_s': 'the time in the waiting line',

  'grid.title': 'Which configuration is the cheapest?',
  'grid.about': 'Name some settings with the values to try: every combination is searched, on all cores of this machine.',
  'grid.add': 'Vary another setting',
  'grid.values': 'Values of {name}, with commas between',
  'grid.remove': 'Do not vary {name}',
  'grid.progress': '{done} of {all} configurations',
  'grid.csv': 'Table as CSV',
  'grid.command': 'The same in a terminal',
  'grid.use': 'Use',
  'grid.use_these': 'Use the settings of this configuration',
  'grid.show': 'Show the curve of this configuration',
  'grid.caption': '{all} configurations, the cheapest first',

  'column.rate': 'req/s',
  'column.gpus': 'GPUs',
  'column.usd': 'USD/h',
  'column.per_usd': 'req/USD',
  'column.ttft': 'TTFT {quantile}',
  'column.tbt': 'TBT {quantile}',
  'column.front': 'Front',
  'column.reason': 'Why not more',
  'front.ttft': 'TTFT',
  'front.tbt': 'TBT',
  'cannot_run': 'cannot be run: {message}',

  'chart.capacity_curve': 'What the rate does to the bounded times',
  'chart.capacity_curve.about': 'Every run of the search: the quantile of each bounded time over the rate, with its bound.',
  'chart.capacity_ttft': 'TTFT over the USD that 1,000 requests cost',
  'chart.capacity_ttft.gpu': 'TTFT over the GPU seconds of a request',
  'chart.capacity_ttft.about': 'Each configuration at its capacity. The line joins those that no other beats in both.',
  'chart.capacity_tbt': 'TBT over the USD that 1,000 requests cost',
  'chart.capacity_tbt.gpu': 'TBT over the GPU seconds of a request',
  'chart.capacity_tbt.about': 'Each configuration at its capacity. The line joins those that no other beats in both.',
  'role.capacity_curve.slo': 'bound',
  'role.capacity_ttft.expected': 'front',
  'role.capacity_ttft.ttft': 'configurations',
  'role.capacity_tbt.expected': 'front',
  'role.capacity_tbt.tbt': 'configurations',
} as const;

export type WordKey = keyof typeof english;
export type Words = Readonly<Record<WordKey, string>>;

export const { wordsOf, isWord } = ownWords<WordKey>(english, chinese);
