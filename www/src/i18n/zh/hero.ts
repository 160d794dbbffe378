import type { Translation } from '../area.js';
import type { hero as english } from '../en/hero.js';

export const hero: Translation<typeof english> = {
  'label': '运行中某一时刻的服务状态',
  'time': '所示时刻',
  'play': '播放本次运行',
  'pause': '暂停',
  'at': '{time} / {end}',
  'why.longest': '队列最长时',
  'why.fullest': '批次最大时',
  'phase.queue': '排队',
  'phase.prefill': '预填充',
  'phase.decode': '解码',
  'phase.stalled': '被其他请求的预填充阻塞',
  'user': '用户 {id}',
  'kv': 'KV {share}',
  'adapters': '适配器',
  'idle': '空闲',
  'loading': '加载适配器',
  'iteration': '{time}',
  'sentence': '{time}：网关暂留 {held} 个请求，排队 {waiting} 个，批次中 {running} 个（其中 {prefill} 个预填充），显存占用 {share}',
};
