import type { Translation } from '../area.js';
import type { ownModel as english } from '../en/own_model.js';

export const ownModel: Translation<typeof english> = {
  'title': '使用自己的模型（config.json）',
  'about': '选择、拖入或粘贴 Hugging Face 上模型的 config.json。其中的尺寸会成为“自定义模型”的设置，这些设置也可以逐项填写。文件只留在本机，链接会带上这些尺寸。',
  'choose': '选择 config.json…',
  'paste': '或粘贴文件内容',
  'use': '使用这段内容',
  'pasted': '粘贴的内容',
  'in_use': '已读取“{name}”，模型的尺寸已填入设置。',
  'config_too_long': '{file} 有 {value} 字节；config.json 最多 {max} 字节。',
  'config_no_object': '{file} 不是模型的 config.json：应为由字段组成的对象。',
  'config_missing': '{file}：缺少字段 {field}。',
  'config_not_a_number': '{file} 的 {field}：应为整数，实为 {value}。',
  'config_not_a_flag': '{file} 的 {field}：应为 true 或 false，实为 {value}。',
  'config_not_a_list': '{file} 的 {field}：应为列表，实为 {value}。',
  'config_out_of_range': '{file} 的 {field}：{value} 不在 {min} 与 {max} 之间。',
  'config_kinds': '{file} 的 {field}：列出了 {value} 层，而模型有 {layers} 层。',
  'config_known': '{file} 的各项维度与 {model} 相同：按该模型处理。',
  'config_encoder': '{file} 的 {field}：该模型含编码器；这里只模拟逐个 token 生成的模型。',
  'config_other_layers': '{file} 的 {field}：该模型有些层的种类，这里还不知道其开销。',
  'config_type': '{file}：未知的模型结构“{value}”，按 Llama 的字段读取：MLP 带门控，每层都有注意力。',
  'config_assumed': '{file}：没有 {field}，按 {value} 处理。',
  'config_weights': '{file}：未知的权重格式“{value}”，权重格式保持原来的设置。',
  'config_ignored': '{file}：忽略了这些字段：{fields}。',
  'config_cost': '迭代耗时模型已改为 Roofline：原来的模型不了解这些尺寸。',
};
