import { expect, test } from 'vitest'
import { codingsOf } from '../../../src/content/page/accepts.ts'
import { isSame, isUnchanged } from '../../../src/content/page/conditional.ts'
import { parseRange } from '../../../src/content/page/range.ts'

test.each([
  ['bytes=0-0', { first: 0, last: 0 }],
  ['bytes=3-', { first: 3, last: 9 }],
  ['bytes=-3', { first: 7, last: 9 }],
  ['bytes=-30', { first: 0, last: 9 }],
  ['bytes=5-100', { first: 5, last: 9 }],
  ['bytes= 1 - 2', { first: 1, last: 2 }],
  ['bytes=10-', 'unsatisfiable'],
  ['bytes=-0', 'unsatisfiable'],
  ['bytes=5-3', 'none'],
  ['bytes=0-1,3-4', 'none'],
  ['bytes=-', 'none'],
  ['items=0-1', 'none'],
  ['bytes=a-b', 'none'],
  [`bytes=${'9'.repeat(40)}-`, 'none'],
  [undefined, 'none'],
])('range %s of ten bytes is %j', (header, expected) => {
  expect(parseRange(header, 10)).toEqual(expected)
})

test.each([
  [{ 'if-none-match': '"a"' }, true],
  [{ 'if-none-match': 'W/"a"' }, true],
  [{ 'if-none-match': '"x", W/"a"' }, true],
  [{ 'if-none-match': '*' }, true],
  [{ 'if-none-match': '"b"' }, false],
  [{ 'if-none-match': '"b"', 'if-modified-since': 'Thu, 01 Jan 1970 00:00:10 GMT' }, false],
  [{ 'if-modified-since': 'Thu, 01 Jan 1970 00:00:10 GMT' }, true],
  [{ 'if-modified-since': 'Thu, 01 Jan 1970 00:00:09 GMT' }, false],
  [{ 'if-modified-since': 'rubbish' }, false],
  [{}, false],
])('a client with %j has "a" of second 10.5: %s', (headers, expected) => {
  expect(isUnchanged(headers, '"a"', 10_500)).toBe(expected)
})

test.each([
  [undefined, true],
  ['"a"', true],
  ['W/"a"', false],
  ['"b"', false],
  ['Thu, 01 Jan 1970 00:00:10 GMT', true],
  ['Thu, 01 Jan 1970 00:00:11 GMT', false],
])('If-Range %s matches "a" of second 10.5: %s', (header, expected) => {
  expect(isSame(header, '"a"', 10_500)).toBe(expected)
})

test.each([
  ['gzip, deflate, br, zstd', ['br', 'gzip']],
  ['gzip', ['gzip']],
  ['br;q=0, gzip', ['gzip']],
  ['gzip;q=1, br;q=0.5', ['gzip', 'br']],
  ['*', ['br', 'gzip']],
  ['*;q=0', []],
  ['identity', []],
  [undefined, []],
])('a client that accepts %s gets %j', (header, expected) => {
  expect(codingsOf(header)).toEqual(expected)
})
