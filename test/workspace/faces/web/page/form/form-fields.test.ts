import { Ajv } from 'ajv'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createBodySchema } from '../../../../../../src/workspace/api/create.ts'
import { settingsBodySchema } from '../../../../../../src/workspace/api/settings.ts'
import {
  type ApiDescription,
  bodyOf,
  creationFields,
  fieldOf,
  type FormField,
  patchOf,
  settingsFields,
  shownValue,
} from '../../../../../../src/workspace/faces/web/page/form/form-fields.ts'
import { FakeBackend } from '../../../../../support/workspace/backend/fake-backend.ts'
import {
  call,
  startWorkspaceServer,
  type TestServer,
} from '../../../../../support/workspace/server/test-server.ts'

let server: TestServer
let fields: readonly FormField[]
let settings: readonly FormField[]
beforeAll(async () => {
  server = await startWorkspaceServer({ backends: () => [new FakeBackend()] })
  const description = (await call(`${server.url}/openapi.json`)).body as ApiDescription
  fields = creationFields(description)
  settings = settingsFields(description)
})
afterAll(() => server.stop())

test('the form has every field that the server accepts, with its type and limits', () => {
  const names = fields.map(({ name }) => name.split('.')[0])
  expect([...new Set(names)]).toEqual(Object.keys(createBodySchema.properties))
  const byName = new Map(fields.map((field) => [field.name, field]))
  expect(byName.get('name')).toMatchObject({ is: 'text', isRequired: true })
  expect(byName.get('repo')).toMatchObject({ is: 'text', isRequired: false })
  expect(byName.get('cpus')).toMatchObject({ is: 'number', minimum: 0, maximum: 512 })
  expect(byName.get('network.egress')).toMatchObject({ is: 'text' })
  expect(byName.get('network.allow_host_ports')).toMatchObject({ is: 'numbers' })
  expect(byName.get('no_provision')).toMatchObject({ is: 'flag', choices: undefined })
  expect(byName.get('expire_action')).toMatchObject({ choices: ['stop', 'delete'] })
  expect(fields.filter(({ description }) => description === '')).toEqual([])
})

const SAMPLES = {
  text: 'text',
  number: '2',
  numbers: '80, 443',
  pairs: 'team=core, tier = a=b',
  flag: 'true',
}

test('the value of each field has a type that the server accepts', () => {
  const check = new Ajv({ strict: false, validateFormats: false }).compile({
    ...createBodySchema,
    required: [],
  })
  for (const field of fields) {
    const body = bodyOf(fields, { [field.name]: SAMPLES[field.is] })
    check(body)
    // A value that breaks another rule is not null either.
    const wrongTypes = check.errors?.filter(({ params }) => !['null', undefined].includes(params['type']))
    expect(wrongTypes ?? [], field.name).toEqual([])
  }
})

test.each([
  ['repo', 'acme/web'],
  ['cpus', '4'],
  ['labels', 'team=web, tier=dev'],
  ['network.allow_host_ports', '80, 443'],
  ['idle.stop_after', '90m'],
  ['schedule.start', 'Mon-Fri 08:00'],
  ['network.egress', undefined],
  ['backend', undefined],
])('forms show the value of %s as %j', (name, shown) => {
  const template = {
    name: 'web',
    repo: 'acme/web',
    cpus: 4,
    labels: { team: 'web', tier: 'dev' },
    idle: { stop_after: 5_400 },
    schedule: { start: '0 8 * * 1-5' },
    network: { allow_host_ports: [80, 443] },
  }
  const field = fields.find((each) => each.name === name)
  expect(field && shownValue(template, field)).toBe(shown)
})

test('empty fields are not sent, and values have the type of their field', () => {
  const entered = {
    name: ' demo ',
    repo: '',
    cpus: '2',
    no_provision: 'true',
    'network.egress': 'none',
    'network.allow_host_ports': '80, 443',
    labels: 'team=core, tier = a=b, empty',
  }
  expect(bodyOf(fields, entered)).toEqual({
    name: 'demo',
    cpus: 2,
    no_provision: true,
    network: { egress: 'none', allow_host_ports: [80, 443] },
    labels: { team: 'core', tier: 'a=b', empty: '' },
  })
})

test('the settings have every field that the server accepts, and each can be unset', () => {
  const names = new Set(settings.map(({ name }) => name.split('.')[0]))
  expect(names).toEqual(
    new Set(Object.keys(settingsBodySchema.properties).filter((name) => name !== 'ttl_s')),
  )
  expect(settings.find(({ name }) => name === 'wake')).toMatchObject({ choices: ['true', 'false'] })
  const check = new Ajv({ strict: false, validateFormats: false }).compile(settingsBodySchema)
  for (const { name } of settings) {
    const patch = patchOf(settings, { [name]: 'before' }, { [name]: ' ' })
    expect(check(patch), name).toBe(true)
    expect(JSON.stringify(patch), name).toContain('null')
  }
})

test('only changed settings are sent', () => {
  const before = { labels: 'team=web, note=a,b, old=1', 'idle.stop_after': '2h', wake: 'true' }
  expect(patchOf(settings, before, before)).toEqual({})
  const entered = {
    ...before,
    labels: 'team=core, note=a,b, new=2',
    'idle.stop_after': '',
    'idle.suspend_after': '30m',
    wake: 'false',
    'checkpoints.keep': '5',
  }
  expect(patchOf(settings, before, entered)).toEqual({
    labels: { team: 'core', old: null, new: '2' },
    idle: { stop_after: null, suspend_after: '30m' },
    wake: false,
    checkpoints: { keep: 5 },
  })
})

test.each([
  [{ name: 'a b' }, 'name'],
  [{ name: 'demo', repo: 'ftp://example.com/a' }, 'repo'],
  [{ name: 'demo', local_dir: 'relative' }, 'local_dir'],
  [{ name: 'demo', local_dir: '/tmp', repo: 'a/b' }, undefined],
])('the server’s error for %j is shown at %s', async (body, field) => {
  const { status, body: answer } = await server.create(body)
  expect(status).toBe(400)
  expect(fieldOf(answer.error.code, answer.error.message, fields)).toBe(field)
})
