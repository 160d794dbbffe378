// A model of one’s own, from its config.json.
import { area } from '../area.js';

export const ownModel = area('own_model', {
  'title': 'Use your own model (config.json)',
  'about': 'Choose, drop or paste the config.json of a model on Hugging Face. Its dimensions become the settings of “Your own model”, which you can also set one by one. The file stays on this machine; the link carries the dimensions.',
  'choose': 'Choose config.json…',
  'paste': 'Or paste its text',
  'use': 'Use this text',
  'pasted': 'pasted text',
  'in_use': 'Read: {name}. The model’s dimensions are in the controls.',
  'config_too_long': '{file} has {value} bytes; a config.json has at most {max}.',
  'config_no_object': '{file} is no config.json of a model: an object of fields is expected.',
  'config_missing': '{file}: the field {field} is missing.',
  'config_not_a_number': '{file}, {field}: a whole number is expected, got {value}.',
  'config_not_a_flag': '{file}, {field}: true or false is expected, got {value}.',
  'config_not_a_list': '{file}, {field}: a list is expected, got {value}.',
  'config_out_of_range': '{file}, {field}: {value} is not between {min} and {max}.',
  'config_kinds': '{file}, {field}: it lists {value} layers; the model has {layers}.',
  'config_known': '{file} has the dimensions of {model}: that model is taken.',
  'config_encoder': '{file}, {field}: this model has an encoder; only models that generate token by token are simulated.',
  'config_other_layers': '{file}, {field}: this model has layers of a kind whose cost is not known here.',
  'config_type': '{file}: the architecture “{value}” is not known. Its fields are read as Llama’s: gated MLP, attention in every layer.',
  'config_assumed': '{file}: {field} is not there; {value} is taken.',
  'config_weights': '{file}: the weight format “{value}” is not known; the weights stay as they were set.',
  'config_ignored': '{file}: these fields are ignored: {fields}.',
  'config_cost': 'The iteration-time model is now the roofline: the former one does not know dimensions of models.',
});
