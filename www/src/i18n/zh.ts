// Chinese, whole: a script of its own, fetched only where Chinese is chosen.
import type { AreaName } from './area.js';
import type { Tables } from './text.js';
import { capacity } from './zh/capacity.js';
import { compare } from './zh/compare.js';
import { debuggerTexts } from './zh/debugger.js';
import { deployment } from './zh/deployment.js';
import { diagnostics } from './zh/diagnostics.js';
import { gateway } from './zh/gateway.js';
import { help } from './zh/help.js';
import { hero } from './zh/hero.js';
import { lessons } from './zh/lessons.js';
import { measured } from './zh/measured.js';
import { measuredRun as measured_run } from './zh/measured_run.js';
import { metrics } from './zh/metrics.js';
import { module } from './zh/module.js';
import { monitor } from './zh/monitor.js';
import { names } from './zh/names.js';
import { options } from './zh/options.js';
import { ownModel as own_model } from './zh/own_model.js';
import { ownRequest as own_request } from './zh/own_request.js';
import { page } from './zh/page.js';
import { parameters } from './zh/parameters.js';
import { profile } from './zh/profile.js';
import { replicas } from './zh/replicas.js';
import { search } from './zh/search.js';
import { sweep } from './zh/sweep.js';
import { turn } from './zh/turn.js';
import { validation } from './zh/validation.js';
import { why } from './zh/why.js';
import { workload } from './zh/workload.js';

export const zh = {
  areas: { capacity, compare, debugger: debuggerTexts, deployment, diagnostics, gateway, help, hero, lessons, measured, measured_run, metrics, monitor, names, options, own_model, own_request, page, profile, replicas, search, sweep, turn, validation, why, workload } satisfies Record<AreaName, unknown>,
  parameters,
  module,
} satisfies Tables;
