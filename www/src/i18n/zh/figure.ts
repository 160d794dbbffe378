import type { Translation } from '../area.js';
import type { figure as english } from '../en/figure.js';

export const figure: Translation<typeof english> = {
  'title': '图：“{chart}”',
  'kind': '尺寸',
  'kind.single': '单栏，84 毫米',
  'kind.double': '双栏，176 毫米',
  'kind.card': '帖子卡片',
  'points': '字号',
  'points.of': '{points} 磅',
  'sentence': '用一句话写出结论',
  'preview': '预览',
  'caption': '图注',
  'caption.of': '{title}。{settings}。{digest}。Servescope {version}。',
  'card.source': 'Servescope {version}，{digest}',
  'svg': '保存 SVG',
  'png': '保存 PNG',
  'copy.caption': '复制图注',
  'copy.html': '复制 HTML',
  'copy.bibtex': '复制 BibTeX',
  'copied': '已复制。',
  'close': '关闭',
};
