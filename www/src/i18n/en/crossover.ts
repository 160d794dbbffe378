// Where the better of two settings changes.
import { area } from '../area.js';

export const crossover = area('crossover', {
  'title': 'Crossover: where does the winner change?',
  'about': 'A and B are simulated at values of one parameter, with the seeds of the comparison. Between values at which the intervals show opposite differences, the crossover is found by bisection.',
  'parameter': 'Parameter',
  'from': 'From',
  'to': 'To',
  'log': 'by ratio',
  'find': 'Find the crossover',
  'stop': 'Stop',
  'again': 'Start again',
  'progress': '{done} of {all} runs so far',
  'told': '{metric}: {below} is better up to {name} {value}, {above} above (95 % interval {low} to {high}, {seeds} seeds).',
  'told.none': '{metric}: no crossover of {name} from {from} to {to}: {better} is better at each of the {n} of {all} values that show a significant difference.',
  'told.no_difference': '{metric}: no significant difference ({seeds} seeds) at any of {all} values of {name} from {from} to {to}.',
  'chart': 'A and B over the parameter, with the crossover',
  'chart.about': 'The mean over the seeds of A and of B at every value that was simulated. The vertical line is the crossover, the band its 95 % interval.',
  'role.crossover': 'crossover, 95 % interval',
  'command': 'Copy the command',
});
