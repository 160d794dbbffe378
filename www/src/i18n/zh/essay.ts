import type { Translation } from '../area.js';
import type { essay as english } from '../en/essay.js';

export const essay: Translation<typeof english> = {
  'failed': '无法取得这篇文章。',
  'again': '重试',
  'fetching': '正在加载文章……',
  'contents': '本文各图',
  'lessons': '课程',
  'explore': '在“探索”中打开',
  'embed': '复制这幅图的嵌入代码（HTML）',
  'embed.copied': '嵌入代码已复制，可在其他网页中显示这幅图。',
  'slower': '放慢 {times} 倍播放',
  'faster': '加快 {times} 倍播放',
  'true_speed': '按真实速度播放',
  'next': '接下来：',
  'next.explore': '在“探索”中修改全部设置',
  'next.plan': '规划自己的服务',
  'next.validation': '在“实测对照”中查看实测部署',
};
