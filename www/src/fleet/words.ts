// The deployment panel's own words, in both languages; the compiler compares the tables.
import { ownWords } from '../i18n/own-words.js';

const english = {
  'memory.title': 'Memory of each GPU',
  'memory.sum': '{gpus} × {gpu}, {memory} GB each; room for {tokens} KV tokens.',
  'memory.short': '{model} does not fit: {missing} GB are missing on each {gpu}. Take more GPUs, a larger one, or smaller weights.',
  'memory.weights': 'weights',
  'memory.activations': 'activations',
  'memory.adapters': 'adapters',
  'memory.kv': 'KV cache',
  'memory.margin': 'margin',
  'memory.part': '{name} {gb} GB',
  'price': 'About ${usd} an hour for a replica ({source}).',
  'cost.own': 'Times: roofline with efficiencies measured on this GPU (Vidur’s profiles; attention on an A100). On models that were held out, a layer is off by {best} to {worst} % (medians).',
  'cost.borrowed': 'Times: roofline with the efficiencies of another GPU, {gpu}: modelled, not measured here. There a layer of a model held out is off by {best} to {worst} % (medians); between GPUs by 5 to 12 %.',
  'cost.peaks': 'Times: the data sheet’s peaks, which no GPU reaches: a lower bound. Measured prompts take about twice as long.',
  'cost.timed': 'Times: operators that Vidur timed ({name}); head, embedding and sampling are not in them. {parts}.',
  'cost.loaded': 'Times: your own measurements ({name}; {file}); head, embedding and sampling are not in them. {parts}.',
  'cost.operators': 'A layer’s operators are {origin}, off by {median} % (median) and {p95} % (P95)',
  'cost.attention': 'attention is {origin}, off by {median} % and {p95} %',
  'origin.measured': 'measured',
  'origin.reconstructed': 'reconstructed from measured samples',
  'origin.synthetic': 'synthetic (another GPU’s, scaled)',
  'origin.modelled': 'modelled',
  'list': '; ',
};

export type Word = keyof typeof english;

const chinese: Record<Word, string> = {
  'memory.title': '每块 GPU 的显存',
  'memory.sum': '{gpus} × {gpu}，每块 {memory} GB；可容纳 {tokens} 个 KV token。',
  'memory.short': '{model} 放不下：每块 {gpu} 还差 {missing} GB。请增加 GPU、换更大的 GPU，或压缩权重。',
  'memory.weights': '权重',
  'memory.activations': '激活',
  'memory.adapters': '适配器',
  'memory.kv': 'KV 缓存',
  'memory.margin': '余量',
  'memory.part': '{name} {gb} GB',
  'price': '每个副本每小时约 {usd} 美元（{source}）。',
  'cost.own': '耗时：屋顶线模型，效率在这款 GPU 上实测得出（Vidur 的数据；注意力在 A100 上测得）。对未参与拟合的模型，单层误差为 {best}% 到 {worst}%（中位数）。',
  'cost.borrowed': '耗时：屋顶线模型，效率借自另一款 GPU（{gpu}），属推算而非实测。在那款 GPU 上，未参与拟合的模型单层误差为 {best}% 到 {worst}%（中位数）；换一款 GPU 则为 5% 到 12%。',
  'cost.peaks': '耗时：直接用规格表上的峰值，任何 GPU 都达不到，因此是下限。实测读提示的时间约为它的两倍。',
  'cost.timed': '耗时：Vidur 实测的算子（{name}），其中不含输出头、嵌入与采样。{parts}。',
  'cost.loaded': '耗时：您自己的测量数据（{name}；{file}），其中不含输出头、嵌入与采样。{parts}。',
  'cost.operators': '单层算子{origin}，误差中位数 {median}%、P95 {p95}%',
  'cost.attention': '注意力{origin}，误差中位数 {median}%、P95 {p95}%',
  'origin.measured': '为实测',
  'origin.reconstructed': '由实测样本重建',
  'origin.synthetic': '为合成（由另一款 GPU 缩放）',
  'origin.modelled': '为推算',
  'list': '；',
};

export const { wordsOf } = ownWords<Word>(english, chinese);
