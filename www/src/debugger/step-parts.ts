// What a decision was taken on: queue, batch, memory test, limits, adapters, counters, gateway, replicas; a table or a list each.
import { html, nothing, svg, type TemplateResult } from 'lit';
import { debuggerTexts } from '../i18n/en/debugger.js';
import type { Text } from '../i18n/text.js';
import type { StepAdapters, StepCounters, StepGateway, StepKv, StepLimits, StepPeak, StepQueue, StepQueueRow, StepRadix, StepRated, StepReplica, StepView } from '../simulation/types.js';

type Cell = string | number | TemplateResult;
type Row = readonly Cell[];

/** Share of the pool from which a piece has room for its request's number. */
const NAMED_SHARE = 0.045;

/** An adapter by its index; -1 is the base model. */
export function adapterName(text: Text, index: number): string {
  const say = text.say(debuggerTexts);
  return index < 0 ? say('base') : say('adapter', { index });
}

export function partsOfStep(text: Text, view: StepView): unknown[] {
  return [
    view.queue === null ? nothing : queue(text, view.queue),
    view.kv === null ? nothing : batch(text, view.kv, view.candidate?.request ?? null),
    view.memory_test === null ? nothing : memoryTest(text, view.memory_test),
    view.limits === null ? nothing : limits(text, view.limits),
    view.adapters === null ? nothing : adapters(text, view.adapters, view.candidate?.adapter ?? null),
    view.counters === null ? nothing : counters(text, view.counters),
    view.gateway === null ? nothing : gateway(text, view.gateway),
    view.router === null ? nothing : router(text, view.router),
    view.replicas.length > 1 || view.kv === null ? replicas(text, view.replicas) : nothing,
  ];
}

/** A part with its heading. */
function part(name: string, title: string, content: unknown): TemplateResult {
  return html`<section class="step-part" data-part=${name} aria-label=${title}><h4>${title}</h4>${content}</section>`;
}

function table(caption: string, heads: readonly string[], rows: readonly Row[], mark: (place: number) => string = () => ''): TemplateResult {
  return html`<div class="step-scroll" tabindex="0" role="group" aria-label=${caption}><table>
    <thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
    <tbody>${rows.map((cells, place) => html`<tr data-mark=${mark(place)}>${cells.map((cell, column) => (column === 0 ? html`<th scope="row">${cell}</th>` : html`<td>${cell}</td>`))}</tr>`)}</tbody>
  </table></div>`;
}

function list(rows: readonly (readonly [string, string] | null)[]): TemplateResult {
  return html`<dl class="step-list">${rows.map((row) => (row === null ? nothing : html`<div><dt>${row[0]}</dt><dd>${row[1]}</dd></div>`))}</dl>`;
}

function short(text: Text, adapter: number): string {
  return adapter < 0 ? text.say(debuggerTexts)('base') : String(adapter);
}

function queue(text: Text, { at, key, count, rows, rule }: StepQueue): TemplateResult {
  const say = text.say(debuggerTexts);
  const title = say(at === 'gateway' ? 'queue.gateway' : 'queue');
  const by = text.find(debuggerTexts, `key.${key}`) ?? key;
  const values = { count, key: by, rule: text.ofModule(`rule.${rule.code}`) ?? rule.name };
  const about = rows.length < count ? say('queue.listed', { ...values, listed: rows.length }) : say('queue.about', values);
  const shown = (row: StepQueueRow): Row => [
    String(row.request), row.user, short(text, row.adapter), row.key === null ? say('preempted_first') : text.format.fixed(row.key, 3), text.format.fixed(row.arrival_s, 3),
    text.format.whole(row.prompt_tokens), stateOf(text, row),
  ];
  const heads = (['request', 'user', 'adapter', 'key', 'arrival', 'prompt', 'state'] as const).map((column) => say(`column.${column}`));
  return part('queue', title, html`<p class="hint">${about}</p>
    ${rows.length === 0 ? html`<p class="hint">${say('queue.empty')}</p>` : table(title, heads, rows.map(shown), (place) => rows[place]?.state ?? '')}`);
}

function stateOf(text: Text, { state, was_preempted }: StepQueueRow): string {
  const say = text.say(debuggerTexts);
  const name = state === '' ? '' : (text.find(debuggerTexts, `state.${state}`) ?? state);
  if (!was_preempted) return name;
  return name === '' ? say('state.preempted_before') : say('state.before', { state: name });
}

/** Which requests hold the KV blocks, as a bar and as a table. */
function batch(text: Text, kv: StepKv, candidate: number | null): TemplateResult {
  const say = text.say(debuggerTexts);
  const { format } = text;
  const title = say('batch');
  const about = [
    say('kv', { used: format.whole(kv.used), total: format.whole(kv.total), free: format.whole(kv.free), block: kv.block_tokens }),
    kv.adapters > 0 ? say('kv.adapters', { blocks: format.whole(kv.adapters) }) : '',
    kv.host > 0 ? say('kv.host', { blocks: format.whole(kv.host) }) : '',
    kv.copied > 0 ? say('kv.copied', { blocks: format.whole(kv.copied) }) : '',
    kv.shared > 0 ? say('kv.shared', { blocks: format.whole(kv.shared) }) : '',
  ].join('');
  const drafting = kv.holders.some(({ drafts, verified_drafts }) => drafts + verified_drafts > 0);
  const heads = ([...['request', 'user', 'adapter', 'phase', 'blocks', 'tokens'] as const, ...(drafting ? ['drafts', 'accepted'] as const : [])]).map((column) => say(`column.${column}`));
  const rows = kv.holders.map((holder): Row => [
    String(holder.request), holder.user, short(text, holder.adapter), say(holder.decodes ? 'phase.decode' : 'phase.prefill'), format.whole(holder.blocks), format.whole(holder.tokens),
    ...(drafting ? [format.whole(holder.drafts), say('drafts.accepted', { accepted: format.whole(holder.accepted_drafts), verified: format.whole(holder.verified_drafts) })] : []),
  ]);
  return part('kv', title, html`<p class="hint">${about}</p>${blocks(text, kv, candidate)}
    ${rows.length === 0 ? html`<p class="hint">${say('batch.empty')}</p>` : table(title, heads, rows, (place) => (kv.holders[place]?.request === candidate ? 'candidate' : ''))}`);
}

/** The pool: a piece for each request, one for adapters, and what is free. Shared blocks are drawn once for each request. */
function blocks(text: Text, kv: StepKv, candidate: number | null): TemplateResult {
  const say = text.say(debuggerTexts);
  const all = Math.max(kv.total, kv.adapters + kv.holders.reduce((sum, holder) => sum + holder.blocks, 0), 1);
  const percent = (count: number): string => `${((100 * count) / all).toFixed(3)}%`;
  let from = 0;
  const piece = (count: number, role: string, name: string, reported: string): TemplateResult | typeof nothing => {
    if (count <= 0) return nothing;
    const before = from;
    from += count;
    return svg`<g data-role=${role} data-mark=${candidate !== null && name === String(candidate) ? 'candidate' : ''}><title>${reported}</title>
      <rect class="face" x=${percent(before)} y="0" height="100%" width=${percent(count)}/>
      ${count / all < NAMED_SHARE ? nothing : svg`<text x=${percent(before + count / 2)} y="50%">${name}</text>`}</g>`;
  };
  const held = kv.holders.map(({ request, blocks: count, decodes }) => piece(
    count, decodes ? 'decode' : 'prefill', String(request),
    say('kv.piece', { request: String(request), blocks: count, phase: say(decodes ? 'phase.decode' : 'phase.prefill') }),
  ));
  const ofAdapters = piece(kv.adapters, 'adapters', say('kv.piece.adapters'), say('kv.piece.adapters'));
  const free = piece(all - from, 'free', say('adapters.free'), say('adapters.free'));
  const roles = [
    kv.holders.some(({ decodes }) => !decodes) ? 'prefill' as const : null, kv.holders.some(({ decodes }) => decodes) ? 'decode' as const : null,
  ].filter((role) => role !== null);
  return html`<svg class="block-bar" role="img" aria-label=${say('kv.drawn')}>${held}${ofAdapters}${free}</svg>
    ${roles.length === 0 ? nothing : html`<ul class="gantt-legend">${roles.map((role) => html`<li data-role=${role}>${say(`phase.${role}`)}</li>`)}</ul>`}`;
}

function memoryTest(text: Text, { rows, need, worst, limit, pool_tokens }: StepPeak): TemplateResult {
  const say = text.say(debuggerTexts);
  const { format } = text;
  const title = say('memory');
  const heads = [...(['request', 'held', 'left', 'sum', 'state'] as const).map((column) => say(`column.${column}`))];
  const shown = rows.map((row, place): Row => [
    row.request === null ? '–' : String(row.request), format.whole(row.used), format.whole(row.left), format.whole(row.tokens),
    [row.joins ? say('memory.joins') : '', place === worst ? say('memory.worst') : ''].filter((word) => word !== '').join(', '),
  ]);
  return part('memory_test', title, html`<p class="hint">${say('memory.about', { need: format.whole(need), limit: limit === null ? '–' : format.whole(limit), pool: format.whole(pool_tokens) })}</p>
    ${table(title, heads, shown, (place) => (place === worst ? 'worst' : rows[place]?.joins === true ? 'candidate' : ''))}`);
}

function limits(text: Text, own: StepLimits): TemplateResult {
  const say = text.say(debuggerTexts);
  const { format } = text;
  const budget = format.whole(own.token_budget);
  return part('limits', say('limits'), list([
    [say('limits.running'), say('limits.of', { value: format.whole(own.running), most: format.whole(own.most_running) })],
    [say('limits.budget'), own.token_budget_left === null ? budget : say('limits.left', { budget, left: format.whole(own.token_budget_left) })],
    own.watermark_blocks > 0 ? [say('limits.watermark'), format.whole(own.watermark_blocks)] : null,
    ...(own.radix === null ? [] : radix(text, own.radix)),
    own.decode_steps === null ? null : [say('limits.decode'), say('limits.decode.of', { value: own.decode_steps, most: own.decode_steps_between_prefills ?? '–' })],
  ]));
}

/** A radix tree of prefixes, and by what it admits requests. */
function radix(text: Text, own: StepRadix): ([string, string] | null)[] {
  const say = text.say(debuggerTexts);
  const { format } = text;
  return [
    [say('limits.ratio'), format.fixed(own.new_token_ratio, 3)],
    [say('limits.tree'), say('limits.tree.of', { locked: format.whole(own.locked_tokens), evictable: format.whole(own.evictable_tokens), free: format.whole(own.free_tokens) })],
    own.chunked_request === null ? null : [say('limits.chunked_request'), format.whole(own.chunked_request)],
  ];
}

/** LoRA slots, one by one, or the adapters that are resident. */
function adapters(text: Text, { slots, used, resident, list: all }: StepAdapters, wanted: number | null): TemplateResult {
  const say = text.say(debuggerTexts);
  const free = slots === null ? 0 : Math.max(slots - all.length, 0);
  const about = slots === null ? say('adapters.about', { resident, used }) : say('adapters.slots', { resident, used, slots });
  return part('adapters', say('adapters'), html`<p class="hint">${about}</p>
    ${all.length + free === 0 ? nothing : html`<ul class="slots">
      ${all.map(({ adapter, users }) => html`<li data-used=${users > 0} data-mark=${adapter === wanted ? 'candidate' : ''} title=${say('adapters.one', { adapter: String(adapter), requests: users })}>${adapter}<small>×${users}</small></li>`)}
      ${Array.from({ length: free }, () => html`<li class="free">${say('adapters.free')}</li>`)}</ul>`}`);
}

function counters(text: Text, { by, rows }: StepCounters): TemplateResult {
  const say = text.say(debuggerTexts);
  const name = (client: number): string => (by === 'user' ? say('client.user', { index: client }) : adapterName(text, client));
  return part('counters', say('counters'), table(say('counters'), [say('column.client'), say('column.counter')], rows.map(({ client, counter }): Row => [name(client), text.format.fixed(counter, 1)])));
}

function gateway(text: Text, own: StepGateway): TemplateResult {
  const say = text.say(debuggerTexts);
  const { format } = text;
  const most = own.most_at_engine;
  return part('gateway', say('gateway'), list([
    [say('gateway.at_engine'), most === null ? format.whole(own.at_engine) : say('limits.of', { value: format.whole(own.at_engine), most: format.whole(most) })],
    [say('gateway.reserved'), format.whole(own.reserved_tokens)],
    [say('gateway.room'), say('limits.of', { value: format.whole(own.room_tokens), most: format.whole(own.pool_tokens) })],
    [say('gateway.waiting'), format.whole(own.waiting_tokens)],
    [say('gateway.load'), text.find(debuggerTexts, `load.${own.load}`) ?? own.load],
  ]));
}

/** What the router chose among, as it saw it. */
function router(text: Text, rated: readonly StepRated[]): TemplateResult {
  const say = text.say(debuggerTexts);
  const heads = (['replica', 'cached', 'uncached', 'requests', 'score'] as const).map((column) => say(`column.${column}`));
  const mark = (place: number): string => (rated[place]?.is_chosen === true ? 'candidate' : '');
  return part('router', say('router'), table(say('router'), heads, rated.map((one): Row => [
    one.replica, ...[one.cached_tokens, one.uncached_tokens, one.requests].map((count) => text.format.whole(count)),
    one.score === null ? say('router.left_out') : text.format.fixed(one.score, 3),
  ]), mark));
}

function replicas(text: Text, all: readonly StepReplica[]): TemplateResult {
  const say = text.say(debuggerTexts);
  const heads = (['replica', 'waiting', 'running', 'used', 'free'] as const).map((column) => say(`column.${column}`));
  return part('replicas', say('replicas'), table(say('replicas'), heads, all.map((one, place): Row => [
    place, ...[one.waiting, one.running, one.used_blocks, one.free_blocks].map((count) => text.format.whole(count)),
  ])));
}
