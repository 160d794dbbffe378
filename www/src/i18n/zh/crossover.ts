import type { Translation } from '../area.js';
import type { crossover as english } from '../en/crossover.js';

export const crossover: Translation<typeof english> = {
  'title': '优劣在哪个取值处反转？',
  'about': '在某个参数的若干取值上，以对比所用的随机种子模拟 A 与 B。相邻取值的区间给出相反的差异时，用二分法求出反转点。',
  'parameter': '参数',
  'from': '从',
  'to': '到',
  'log': '按比例',
  'find': '求反转点',
  'stop': '停止',
  'again': '重新开始',
  'progress': '目前 {all} 次运行中已完成 {done} 次',
  'told': '{metric}：{name}不超过 {value} 时 {below} 更好，超过时 {above} 更好（95% 置信区间 {low} 至 {high}，{seeds} 个随机种子）。',
  'told.none': '{metric}：{name}从 {from} 到 {to} 没有反转点：{all} 个取值中有 {n} 个差异显著，都是 {better} 更好。',
  'told.no_difference': '{metric}：{name}从 {from} 到 {to} 的 {all} 个取值上都没有显著差异（{seeds} 个随机种子）。',
  'chart': 'A 与 B 随参数的变化及反转点',
  'chart.about': '每个模拟过的取值上 A 与 B 对随机种子的平均值。竖线为反转点，色带为其 95% 置信区间。',
  'role.crossover': '反转点，95% 置信区间',
  'command': '复制命令',
};
