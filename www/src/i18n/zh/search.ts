import type { Translation } from '../area.js';
import type { search as english } from '../en/search.js';

export const search: Translation<typeof english> = {
  'label': '搜索页面与文档',
  'placeholder': '搜索，例如 H100、最便宜、投机解码',
  'found': '{count} 个结果',
  'none': '没有找到“{query}”。',
  'hint': '方向键选择，回车键前往，Esc 关闭。',
  'kind.parameter': '参数',
  'kind.chart': '图表',
  'kind.preset': '预设',
  'kind.term': '术语',
  'kind.limit': '局限',
  'kind.section': '栏目',
  'kind.lesson': '课程',
  'kind.docs': '文档',
};
