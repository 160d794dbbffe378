import type { Translation } from '../area.js';
import type { help as english } from '../en/help.js';

export const help: Translation<typeof english> = {
  'title': '帮助',
  'intro': '拖动滑块，服务就按新的数值重新运行一遍；每张图都把之前的结果淡淡地留在新结果后面。',
  'cite': '如何引用',
  'documentation': '文档（英文）：入门教程、模型、全部参数、文件格式、验证',
  'offline.kept': '没有网络时本页面也能使用：浏览器中保存了一份副本。',
  'offline.failed': '本页面需要网络：无法保存副本（{message}）。',
  'shortcuts': '快捷键',
  'undo': '撤销、重做',
  'cancel': '结束正在进行的模拟；在图表上则还原缩放',
  'search': '搜索参数、图表和术语',
  'help': '打开本帮助',
  'arrows': '滑块微调，按住 Shift 粗调，翻页键大步调；在图表上则移动光标',
  'double': '在滑块或其名称上：恢复默认值；在图表上：还原缩放',
  'key_double': '双击',
  'key_arrows': '方向键',
  'glossary': '术语表',
  'close': '关闭',
};
