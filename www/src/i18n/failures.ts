// What is wrong, in words a newcomer understands. The terminal's own English names paths and files; here the message
// stands beside the control or the file that it is about.
import type { FailureCode } from '../generated/parameters.js';

export const failuresEn: Readonly<Record<FailureCode, string>> = {
  unknown_parameter: '“{value}” is no parameter; the nearest one is {nearest}.',
  not_a_number: '“{value}” is not a number.',
  not_whole: 'A whole number is needed here, not {value}.',
  not_a_flag: 'Only true or false can stand here, not “{value}”.',
  not_a_list: '“{value}” is not a list of numbers with commas between them.',
  unknown_option: '“{value}” is none of the choices: {options}.',
  out_of_range: 'This must lie between {min} and {max}; {value} does not.',
  empty_list: 'At least one number above 0 is needed.',
  bounds_crossed: 'The longest ({value}) would be shorter than the shortest ({min}).',
  bad_curve: 'The rate over time does not work: {reason}.',
  too_many_requests: 'Rate times duration makes {value} requests; at most {max} can be run.',
  no_requests: 'Rate times duration makes less than one request.',
  batch_below_request: 'The original refuses to start when the prompt budget ({value}) is below the longest request ({min}).',
  bad_json: 'This is not a scenario in JSON.',
  bad_link: '“{part}” means nothing here and was left out.',
  empty_file: '{file} is empty.',
  no_rows: '{file} has a header and no rows.',
  no_times: '{file} tells lengths or rates, and not when requests arrive. It can be inspected, not simulated.',
  not_text: '{file} is not a text file (row {row}, byte {byte}).',
  unknown_format: '{file} has the columns {found}, which no known format has. Known are: {known}.',
  cell_count: '{file}, row {row}: {found} cells where the header has {expected}. The file may be cut off.',
  bad_cell: '{file}, row {row}, column {column}: {expected} expected, got “{value}”.',
  cell_out_of_range: '{file}, row {row}, column {column}: {value} is not between {min} and {max}.',
  rank_conflict: '{file}, row {row}: adapter {adapter} has rank {rank} here and {former} further up.',
  too_many_rows: '{file}, row {row}: more than {max} requests cannot be run.',
  no_column: '{file} has no column {column}. It has: {known}.',
  bad_step: 'This step cannot be taken: {reason}.',
  cancelled: 'Reading {file} was stopped.',
  reordered: 'The rows of {file} were not in the order of their times and have been sorted.',
  failed_rows: '{requests} requests of {file} have no prompt or no answer, as where a request failed. They were left out.',
  empty_entries: '{entries} time stamps of {file} have no request.',
  bad_rows: '{rows} rows of {file} could not be read. They were left out.',
  stamped_times:
    '{percent} % of the requests of {file} arrive at the very time of the one before: its times are stamps {interval_s} s apart. Gaps mean nothing before the requests are spread over that interval.',
  zero_gaps:
    '{percent} % of the requests of {file} arrive at the very time of the one before, as where times were rounded or requests come in batches.',
  odd_blocks:
    '{requests} of {of} prompts of {file} have another number of prefix blocks than their length gives at {block_tokens} tokens a block.',
  block_size:
    '{requests} of {of} prompts of {file} have another number of prefix blocks than their length gives at {block_tokens} tokens a block; {likely} tokens a block would fit.',
  no_trace: 'No trace file is open.',
  share_list_short: 'There are fewer shares than adapters; the others get no requests.',
  all_refused: 'All {offered} requests were refused, so there is nothing to measure: {reasons}.',
  some_refused: '{refused} of {offered} requests were refused: {reasons}.',
  overloaded: 'More arrives than can be served: the queue grows for as long as requests arrive, and every wait depends on how long that is.',
  stuck: '{requests} requests wait for ever behind one that can never be admitted, as in the original.',
  file_missing: 'The file is not here.',
};
