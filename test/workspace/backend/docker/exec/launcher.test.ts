import { fc } from '../../../../support/fast-check.ts'
import { expect, test } from 'vitest'
import { encodeRequest } from '../../../../../src/workspace/backend/docker/exec/launcher.ts'

/** Limit of `native/run/control.h`. */
const MOST_BYTES = 2 * 2 ** 20
const word = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.constant(''), fc.constant('a=b=c'))

test('a launcher receives the requested environment and arguments exactly, or nothing', () => {
  const requests = fc.record({
    argv: fc.array(word, { minLength: 1, maxLength: 8 }),
    environment: fc.option(
      fc.dictionary(
        word.filter((name) => !name.includes('=')),
        word,
      ),
      { nil: undefined },
    ),
    stdin: fc.option(fc.boolean(), { nil: undefined }),
  })
  fc.assert(
    fc.property(requests, ({ argv, environment, stdin }) => {
      const encoded = encodeRequest({
        argv,
        ...(environment && { environment }),
        ...(stdin !== undefined && { stdin }),
      })
      const variables = Object.entries(environment ?? {}).map(([name, value]) => `${name}=${value}`)
      const wanted = [...variables, ...argv]
      const isPossible = !wanted.some((each) => each.includes('\0'))
      expect(encoded !== undefined).toBe(isPossible)
      if (encoded === undefined) return
      const { strings, ...rest } = encoded
      expect(strings.endsWith('\0')).toBe(true)
      expect(strings.slice(0, -1).split('\0')).toEqual(wanted)
      expect(rest).toEqual({
        variables: variables.length,
        hasInput: stdin ?? true,
        bytes: Buffer.from(strings).length,
      })
    }),
  )
})

test.each([
  ['one byte', 'x'],
  ['two bytes', 'é'],
])('a request has at most 2 MiB including zero bytes: characters of %s', (_what, character) => {
  const size = Buffer.byteLength(character)
  const most = Math.floor((MOST_BYTES - 1) / size)
  const request = (length: number) => encodeRequest({ argv: [character.repeat(length)] })
  expect(request(most)?.bytes).toBe(most * size + 1)
  expect(request(most + 1)).toBeUndefined()
})

test('a request is accepted once, however often it is sent', () => {
  const reads = { argv: 0, environment: 0 }
  const request = {
    get argv() {
      reads.argv++
      return ['true']
    },
    get environment() {
      reads.environment++
      return { A: 'b' }
    },
  }
  encodeRequest(request)
  expect(reads).toEqual({ argv: 1, environment: 1 })
})
