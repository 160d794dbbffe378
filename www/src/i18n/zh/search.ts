import type { Translation } from '../area.js';
import type { search as english } from '../en/search.js';

export const search: Translation<typeof english> = {
  'label': '搜索参数、图表和术语',
  'placeholder': '搜索，例如 H100、抢占、TTFT',
  'found': '{count} 个结果',
  'none': '没有找到“{query}”。',
  'hint': '方向键选择，回车键前往，Esc 关闭。',
  'kind.parameter': '参数',
  'kind.chart': '图表',
  'kind.preset': '预设',
  'kind.term': '术语',
};
