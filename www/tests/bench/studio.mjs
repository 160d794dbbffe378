// Runs in the page: how long the studio takes to read, change and fit a long file, and what memory it needs.

const ROWS = 1_000_000;

function text() {
  const lines = ['arrival_s,user,adapter,rank,input_tokens,output_tokens,max_tokens'];
  let seed = 1;
  const draw = (most) => {
    seed = (Math.imul(seed, 48271) >>> 0) % 2147483647;
    return seed % most;
  };
  for (let row = 0; row < ROWS; row += 1) lines.push(`${(row / 200).toFixed(6)},${draw(1000)},${draw(100)},8,${draw(4096) + 1},${draw(512) + 1},1024`);
  return new TextEncoder().encode(`${lines.join('\n')}\n`);
}

export async function measureStudio() {
  const { default: init, Studio } = await import('/pkg/studio.js');
  const { memory } = await init();
  const bytes = text();
  const studio = new Studio();
  const times = {};
  const timed = (name, work) => {
    const start = performance.now();
    const value = work();
    times[name] = performance.now() - start;
    return value;
  };
  timed('read_ms', () => {
    studio.reserve('long.csv', bytes.length);
    for (let at = 0; at < bytes.length; at += 1 << 16) studio.feed(bytes.subarray(at, at + (1 << 16)));
    return studio.open('long.csv', false, '', false, 0, () => undefined);
  });
  // The memory of a module never shrinks, so this is its most.
  const read_mb = memory.buffer.byteLength / 1e6;
  timed('select_ms', () => { studio.select({}); });
  timed('charts_ms', () => studio.charts(600));
  timed('steps_ms', () => studio.apply_pipeline('concat', ['window:start_s=100', 'thin:keep=0.5', 'scale_lengths:input=2']));
  timed('hand_over_ms', () => studio.columns());
  return { rows: ROWS, file_mb: bytes.length / 1e6, read_mb, ...times };
}
