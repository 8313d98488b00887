import { expect, expectTypeOf, test } from 'vitest'
import { checkSettings } from '../../../src/lib/config/check.ts'
import { type Decoded, decodeSettings } from '../../../src/lib/config/decode.ts'
import {
  duration,
  flag,
  named,
  optionalSection,
  optionalText,
  section,
  size,
} from '../../../src/lib/config/fields.ts'
import { Type } from '../../../src/lib/schema/type.ts'

const schema = section({
  open_metrics: flag(false, 'a flag of two words'),
  key_file: optionalText('a file'),
  log: section({
    keep_for: duration('72h', 'age'),
    tail: size('5MiB', 'bytes kept'),
    max_file_bytes: size('1KiB', 'a name with its unit'),
  }),
  tls: optionalSection({ cert_file: Type.String(), renew_after: duration('90d', 'age') }),
  user_roles: named(Type.Object({ role_name: Type.String() }), 'names that users choose'),
  hosts: Type.Array(Type.Object({ host_name: Type.String() }), { default: [] }),
})
const read = (settings: object) => decodeSettings(schema, checkSettings(schema, settings, 'file'))

test('keys are in camel case with the unit of a duration or size', () => {
  expect(read({})).toEqual({
    openMetrics: false,
    keyFile: undefined,
    log: { keepForMs: 259_200_000, tailBytes: 5_242_880, maxFileBytes: 1024 },
    tls: undefined,
    userRoles: {},
    hosts: [],
  })
})

test('given values are decoded like defaults, in lists and maps too', () => {
  const given = {
    log: { keep_for: '1m30s', tail: 4096 },
    tls: { cert_file: 'cert.pem', renew_after: '1d' },
    hosts: [{ host_name: 'one' }],
  }
  expect(read(given)).toMatchObject({
    log: { keepForMs: 90_000, tailBytes: 4096 },
    tls: { certFile: 'cert.pem', renewAfterMs: 86_400_000 },
    hosts: [{ hostName: 'one' }],
  })
})

test('user-defined names stay unchanged', () => {
  const userRoles = read({
    user_roles: { my_user: { role_name: 'a' }, constructor: { role_name: 'b' } },
  }).userRoles
  expect(Object.entries(userRoles)).toEqual([
    ['my_user', { roleName: 'a' }],
    ['constructor', { roleName: 'b' }],
  ])
})

test('the decoded value has a static type', () => {
  expectTypeOf<Decoded<typeof schema>>().toEqualTypeOf<{
    readonly openMetrics: boolean
    readonly keyFile: string | undefined
    readonly log: { readonly keepForMs: number; readonly tailBytes: number; readonly maxFileBytes: number }
    readonly tls: { readonly certFile: string; readonly renewAfterMs: number } | undefined
    readonly userRoles: Readonly<Record<string, { readonly roleName: string }>>
    readonly hosts: readonly { readonly hostName: string }[]
  }>()
})
