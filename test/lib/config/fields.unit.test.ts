import { expect, test } from 'vitest'
import { checkSettings } from '../../../src/lib/config/check.ts'
import { environmentKeys } from '../../../src/lib/config/environment.ts'
import { duration, section, size } from '../../../src/lib/config/fields.ts'
import { workspaceSchema } from '../../../src/workspace/config.ts'

const schema = section({
  log: section({ until: duration('72h', 'age'), tail: size('5MiB', 'bytes kept') }),
})

test('an invalid duration or size is refused with an example', () => {
  expect(() => checkSettings(schema, { log: { until: '3 moons', tail: 'much' } }, 'file')).toThrow(
    'file: "log.until" must be a duration such as 72h\nfile: "log.tail" must be a size such as 5MiB',
  )
})

test('a map with user-defined names has no variable', () => {
  const variables = environmentKeys('WORKSPACE', workspaceSchema).map(({ variable }) => variable)
  expect(variables).toContain('WORKSPACE_HTTP__PORT')
  expect(variables.filter((variable) => variable.includes('ALIASES'))).toEqual([])
})
