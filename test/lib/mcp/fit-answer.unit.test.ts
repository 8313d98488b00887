import { fc } from '../../support/fast-check.ts'
import { describe, expect, test } from 'vitest'
import { fitAnswer } from '../../../src/lib/mcp/fit-answer.ts'
import { rounds } from '../../support/rounds.ts'

const rows = Array.from({ length: 40 }, (_, at) => ({ name: `Class${at}`, source: 'PROJECT', line: at }))

describe('an answer as text', () => {
  test('has single values first, columns once, and shared values above the rows', () => {
    expect(fitAnswer({ classes: rows.slice(0, 2), totalCount: 2, reason: null, tags: [] }, 1_000)).toBe(
      [
        'totalCount: 2',
        'reason: none',
        'tags: none',
        'classes:',
        '(all: source=PROJECT)',
        '(name | line)',
        'Class0 | 0',
        'Class1 | 1',
      ].join('\n'),
    )
  })

  test('lists the true flags of each row', () => {
    const classes = [
      { fqn: 'a.B', isFinal: true, isEnum: false },
      { fqn: 'a.C', isFinal: false, isEnum: false },
    ]
    expect(fitAnswer({ classes }, 1_000)).toBe('classes:\n(fqn | flags)\na.B | isFinal\na.C | ')
  })

  test('gives the offset that continues a truncated list, and the pieces contain all rows', () => {
    const seen: string[] = []
    let offset: number | undefined = 0
    while (offset !== undefined) {
      const window = { offset, total: rows.length }
      const text = fitAnswer({ classes: rows.slice(offset) }, 100, window)
      seen.push(...(text.match(/^Class\d+/gmu) ?? []))
      const next: string | undefined = /continue with offset=(\d+)$/u.exec(text)?.[1]
      offset = next === undefined ? undefined : Number(next)
    }
    expect(seen).toEqual(rows.map(({ name }) => name))
  })

  test('exceeds its budget only by the notes about omissions', () => {
    const answer = fc.dictionary(fc.string({ maxLength: 12 }), fc.jsonValue({ maxDepth: 4 }), { maxKeys: 6 })
    fc.assert(
      fc.property(answer, fc.integer({ min: 100, max: 500 }), (value, maxTokens) => {
        const lists = Object.keys(value).length
        expect(fitAnswer(value, maxTokens).length).toBeLessThanOrEqual(3 * maxTokens + 400 * (lists + 1))
      }),
      { numRuns: rounds(60, 300) },
    )
  })
})
