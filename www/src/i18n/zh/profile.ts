import type { Translation } from '../area.js';
import type { profile as english } from '../en/profile.js';

export const profile: Translation<typeof english> = {
  'title': '使用自己的测量数据',
  'about': '选择或一起拖入 Vidur 性能测量工具生成的文件：必需 mlp.csv，另可加 attention.csv、all_reduce.csv、send_recv.csv、cpu_overheads.csv；也可以是以前拟合好的 profile。文件只留在本机，链接不会带上它们。',
  'model': '模型',
  'layers': '层数',
  'gpu': 'GPU',
  'choose': '选择文件…',
  'fitting': '正在拟合…',
  'in_use': '正在使用 {name}：{model}，{gpu}，张量并行度 {degrees}。',
  'download': '下载 profile',
  'back': '改回内置 profile',
  'table': '拟合结果与实测中位数的误差',
  'unknown': '这份 profile 是以前拟合好的，其中没有各算子的误差。',
  'degree': 'TP',
  'operator': '算子',
  'origin': '来源',
  'median': '中位数',
  'p95': 'P95',
  'percent': '{share}%',
  'none': '–',
  'measured': '实测',
  'reconstructed': '重建',
  'synthetic': '合成',
  'modelled': '推算',
};
