// The charts of a sweep: their titles, what their roles stand for, and what is read out of a point.
import type { App } from '../app/app.js';
import type { ChartFeed } from '../draw/chart-feed.js';
import type { ReadOut } from '../draw/read-out.js';
import { valueOf } from '../compare/metric-words.js';
import { sweep as words } from '../i18n/en/sweep.js';
import type { ChartData, SweepPlan, SweepPoint, SweepResults, SweepView } from '../simulation/types.js';
import type { Topic } from '../lib/topic.js';
import { cellText, curveName, closedFormName, metricName, parameterName, settingsName } from './sweep-words.js';

/** What is drawn of a sweep, chart by chart. */
export interface Drawn {
  charts: ReadonlyMap<string, ChartData>;
  views: ReadonlyMap<string, SweepView>;
  plan: SweepPlan | null;
  points: readonly SweepPoint[];
}

export const NOTHING_DRAWN: Drawn = { charts: new Map(), views: new Map(), plan: null, points: [] };

/** Several charts of a metric are counted. */
export function drawnOf(plan: SweepPlan | null, results: SweepResults | null): Drawn {
  if (results === null) return { ...NOTHING_DRAWN, plan };
  const { charts, points, views } = results;
  const names = views.map(({ metric }, place) => {
    const before = views.slice(0, place).filter((view) => view.metric === metric).length;
    return before === 0 ? `sweep_${metric}` : `sweep_${metric}_${String(before + 1)}`;
  });
  return {
    charts: new Map(charts.map((chart, place) => [names[place] ?? '', { ...chart, name: names[place] ?? '' }])),
    views: new Map(views.map((view, place) => [names[place] ?? '', view])),
    plan, points,
  };
}

/** The number of a point in its sweep: the last axis moves fastest. */
export function numberOf({ over }: SweepPlan, { point }: SweepPoint): number {
  return over.reduce((number, { path, values }) => number * values.length + values.findIndex((value) => String(value) === String(point[path])), 0);
}

export function sweepFeed(app: App, drawn: Topic<Drawn>, pick: (point: number) => void): ChartFeed {
  const view = (chart: string): SweepView | undefined => drawn.value.views.get(chart);
  const withUnit = (path: string, unit: string): string => {
    const [name, shown] = [parameterName(app, path), app.text.unit(unit)];
    return shown === '' ? name : app.text.say(words)('axis', { name, unit: shown });
  };
  return {
    topic: () => drawn,
    zooms: false,
    chart: (name) => drawn.value.charts.get(name),
    ghost: () => null,
    title: (name) => titleOf(app, view(name)) ?? name,
    about: (name) => app.text.say(words)(isMap(view(name)) ? 'chart.map.about' : 'chart.curves.about'),
    role: (name, role) => roleOf(app, view(name), role),
    xName: (name) => withUnit(view(name)?.x ?? '', drawn.value.charts.get(name)?.x.unit ?? ''),
    yName: (name) => {
      const path = view(name)?.y ?? null;
      return path === null ? undefined : withUnit(path, drawn.value.charts.get(name)?.y.unit ?? '');
    },
    pick: (_name, id) => { pick(id); },
    point: (name, id) => pointOf(app, drawn.value, view(name), id),
  };
}

function isMap(view: SweepView | undefined): boolean {
  return view !== undefined && view.y !== null;
}

function titleOf(app: App, view: SweepView | undefined): string | null {
  if (view === undefined) return null;
  const say = app.text.say(words);
  const values = { metric: metricName(app, view.metric), x: parameterName(app, view.x) };
  if (view.y !== null) {
    const title = say('chart.map', { ...values, y: parameterName(app, view.y) });
    return Object.keys(view.fixed).length === 0 ? title : say('picked', { settings: title, values: curveName(app, view.fixed) });
  }
  const others = Object.keys(view.curves[0]?.point ?? {}).map((path) => parameterName(app, path));
  return others.length === 0 ? say('chart.curves', values) : say('chart.curves.by', { ...values, by: app.text.list(others) });
}

function roleOf(app: App, view: SweepView | undefined, role: string): string {
  const say = app.text.say(words);
  if (view === undefined) return role;
  if (role === 'slo') return say('bound');
  if (role === 'expected') return app.text.list(view.models.map((model) => closedFormName(app, model)));
  const shade = view.shades.find((one) => one.role === role);
  if (shade !== undefined) return say('range', { low: valueOf(app.text, view.metric, shade.low), high: valueOf(app.text, view.metric, shade.high) });
  const point = view.curves.find((curve) => curve.role === role)?.point ?? {};
  return Object.keys(point).length === 0 ? metricName(app, view.metric) : curveName(app, point);
}

function pointOf(app: App, { plan, points }: Drawn, view: SweepView | undefined, id: number): ReadOut {
  const point = plan === null ? undefined : points.find((one) => numberOf(plan, one) === id);
  if (point === undefined || view === undefined) return { at: '', rows: [] };
  const cell = point.metrics[view.metric];
  const mean = cell?.mean ?? 0;
  const is = (curve: SweepView['curves'][number]): boolean => Object.entries(curve.point).every(([path, value]) => String(point.point[path]) === String(value));
  const role = view.curves.find(is)?.role ?? view.shades.find(({ high }) => mean <= high)?.role ?? '';
  const rows = [{ role, label: metricName(app, view.metric), value: cell === undefined ? '' : cellText(app, view.metric, cell) }];
  const reported = point.expected?.[view.metric];
  if (reported !== undefined) rows.push({ role: 'expected', label: closedFormName(app, reported.model), value: valueOf(app.text, view.metric, reported.value) });
  return { at: settingsName(app, point.point), rows };
}
