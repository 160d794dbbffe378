import { expect, it } from 'vitest';
import { parseTyped } from './typed.js';

it.each([
  ['2.5', { value: 2.5 }],
  [' 1e3 ', { value: 1000 }],
  ['-4', { value: -4 }],
  ['1,5', { value: 1.5 }],
  ['-,5', { value: -0.5 }],
  ['1,500', { wrong: 'not_a_number' }],
  ['1e400', { wrong: 'not_a_number' }],
  ['', { wrong: 'not_a_number' }],
  ['many', { wrong: 'not_a_number' }],
  ['Infinity', { wrong: 'not_a_number' }],
])('reads %j as a number', (text, typed) => {
  expect(parseTyped({ type: 'number', unit: '' }, text, false)).toEqual(typed);
});

it('believes the browser that the input is bad', () => {
  expect(parseTyped({ type: 'integer', unit: '' }, '', true)).toEqual({ wrong: 'not_a_number' });
});

it.each([
  ['8, 16, 32', { value: [8, 16, 32] }],
  ['8 16，32；', { wrong: 'not_a_list' }],
  ['8 16，32、64', { value: [8, 16, 32, 64] }],
  ['8; x', { wrong: 'not_a_list' }],
  ['', { value: [] }],
])('reads %j as a list', (text, typed) => {
  expect(parseTyped({ type: 'list', unit: '' }, text, false)).toEqual(typed);
});

it.each([
  ['5', { value: 5 }],
  ['5g', { value: '5g' }],
  [' 512 MiB', { value: '512 MiB' }],
  ['0,5g', { value: '0.5g' }],
  ['much', { wrong: 'not_a_number' }],
])('leaves the unit of %j of memory to the module', (text, typed) => {
  expect(parseTyped({ type: 'number', unit: 'GiB' }, text, false)).toEqual(typed);
});
