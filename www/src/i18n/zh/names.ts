import type { Translation } from '../area.js';
import type { names as english } from '../en/names.js';

export const names: Translation<typeof english> = {
  'mark.uniform': '均匀',
  'mark.poisson': '泊松',
  'mark.base_model': '基座模型',

  'outcome.input_too_long': '提示词太长',
  'outcome.request_too_long': '请求太长',
  'outcome.pool_too_small': '超过KV 池',
  'outcome.never_fits': 'KV 缓存与适配器合计超出KV 池',
  'outcome.prompt_over_batch': '提示词超过预填充 token 预算',
  'outcome.lora_rank': '秩超过 LoRA 槽位的秩',
  'outcome.rate_limit': '超出每分钟请求数（RPM）',
  'outcome.token_quota': '超出 token 配额（TPM）',
  'outcome.concurrency': '并发请求数已满',
  'outcome.early_abort': '提前中止：赶不上首 token 期限',
  'outcome.queue_full': '网关队列已满',
  'outcome.late_first_token': '预计首 token 延迟超过期限',
  'outcome.overload': '过载，拒绝新请求',
  'held_by.rpm': '每分钟请求数（RPM）',
  'held_by.tpm': '每分钟 token 数（TPM）',
  'held_by.concurrency': '并发请求上限',
  'held_by.queue': '网关队列',
  'held_by.kv': 'KV 检查',
  'held_by.ttft': 'TTFT 检查',
  'held_by.behind': '网关队列中排在前面的请求',
  'held_by.fair_share': '其客户端的公平份额',
  'setting': '{name} {value}',
  'outcome.completed': '完成',
  'outcome.rejected': '被拒绝',
  'outcome.timed_out': '超时',
  'outcome.unfinished': '未完成',
  'outcome.cancelled': '已取消',

};
