import type { Translation } from '../area.js';
import type { ownRequest as english } from '../en/own_request.js';

export const ownRequest: Translation<typeof english> = {
  'about': '设定一个额外请求的长度、发送时间、用户和适配器。系统会带上它重新模拟，其他请求不变。',
  'input_tokens': '提示词（token）',
  'output_tokens': '输出（token）',
  'time_s': '发送时间（秒）',
  'user': '用户（编号）',
  'adapter': '适配器（编号；−1 为基座模型）',
  'send': '发送',
  'send_again': '改为发送这个',
  'take_back': '移除',
  'completed': '你的请求（编号 {id}）到达时，有 {ahead} 个请求在排队，{running} 个在运行。首 token 用时 {ttft}，全部输出用时 {e2e}。',
  'ended': '你的请求（编号 {id}）未完成：{outcome}。',
  'follow': '在图中跟随它',
  'card': '为何用了这么久',
};
