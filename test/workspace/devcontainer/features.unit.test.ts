import { expect, test } from 'vitest'
import { parseDevContainer } from '../../../src/workspace/devcontainer/dev-container.ts'
import { splitVariables, withVariables } from '../../../src/workspace/devcontainer/resolve-references.ts'
import { withFeatures } from '../../../src/workspace/devcontainer/load-features.ts'

/** Reads a devcontainer.json in `.devcontainer` with features, whose descriptions are given by their folder. */
async function load(content: object, descriptions: Readonly<Record<string, unknown>> = {}) {
  const parsed = parseDevContainer(JSON.stringify(content), '/workspace', '.devcontainer')
  const reading = await withFeatures(parsed, '/workspace', async (path) => {
    const description = descriptions[path.replace(/\/devcontainer-feature\.json$/, '')]
    if (description === undefined) throw new Error('it does not exist')
    return typeof description === 'string' ? description : JSON.stringify(description)
  })
  if (reading.is !== 'found') throw new Error(JSON.stringify(reading))
  return reading.config
}

const ONE = '.devcontainer/one'

test.each([
  ['a folder', './one', '.devcontainer/one'],
  ['a folder with a slash', './a/../one/', '.devcontainer/one'],
  ['a folder by its way from above', '../.devcontainer/one', '.devcontainer/one'],
])('%s is a feature', async (_what, name, folder) => {
  const config = await load({ features: { [name]: {} } }, { [folder]: { id: 'one' } })
  expect(config.features).toEqual([{ id: 'one', content: folder, options: {} }])
  expect([...config.invalid, ...config.notes]).toEqual([])
})

test.each([
  ['of a registry', 'ghcr.io/devcontainers/features/node:1', 'is not supported'],
  ['of an address without encryption', 'http://host.test/devcontainer-feature-x.tgz', 'is not supported'],
  ['of an address with another name', 'https://host.test/feature-x.tgz', 'is not supported'],
  ['by an absolute path', '/etc', 'is not supported'],
  ['outside of the folder', '../src', 'is not a folder below .devcontainer'],
  ['outside of the workspace', '../../etc', 'is not a folder below .devcontainer'],
  ['with a line feed', './a\nb', 'is not a folder below .devcontainer'],
])('a feature %s is left out', async (_what, name, why) => {
  const { features, notes, invalid } = await load({ features: { [name]: {}, './one': {} } }, { [ONE]: {} })
  expect(features.map(({ content }) => content)).toEqual([ONE])
  expect([...invalid, ...notes]).toEqual([expect.stringContaining(`features: ${name} ${why}`)])
})

test('archives come first, and only if they can be downloaded', async () => {
  const address = 'https://host.test/a/devcontainer-feature-x.tgz?b'
  const content = { features: { './one': {}, [address]: '2' } }
  const parsed = parseDevContainer(JSON.stringify(content), '/workspace', '.devcontainer')
  const bytes = Buffer.from('archive')
  const description = JSON.stringify({
    id: 'x',
    options: { version: { default: '1' } },
    containerEnv: { A: 'b' },
  })
  const read = () => Promise.resolve('{}')
  const without = await withFeatures(parsed, '/workspace', read)
  const reading = await withFeatures(parsed, '/workspace', read, (url) =>
    url === address ? Promise.resolve({ description, bytes }) : Promise.reject(new Error(url)),
  )
  expect(without).toMatchObject({ config: { features: [{ content: ONE }] } })
  expect(reading).toMatchObject({
    config: {
      features: [{ id: 'x', content: bytes, options: { VERSION: '2' } }, { content: ONE }],
      featureEnvironment: { A: 'b' },
      notes: [],
    },
  })
})

test('features of a text that is no file of a workspace are left out', () => {
  const reading = parseDevContainer(JSON.stringify({ features: { './one': {} } }), '/workspace')
  expect(reading).toMatchObject({
    is: 'found',
    config: { featureReferences: [], notes: [expect.stringContaining('features: ./one is not supported')] },
  })
})

test.each([
  ['missing', undefined, 'it does not exist'],
  ['not JSON', 'x', 'it is not valid JSON'],
  ['a list', '[]', 'it is not an object'],
  ['hostile', '{"__proto__": {}}', '"__proto__" is not a valid property'],
])('a feature whose description is %s is left out', async (_what, description, why) => {
  const { features, invalid } = await load(
    { features: { './one': {}, './two': {} } },
    { [ONE]: description, '.devcontainer/two': {} },
  )
  expect(features.map(({ id }) => id)).toEqual(['two'])
  expect(invalid).toEqual([
    expect.stringContaining(`features: ${ONE}: devcontainer-feature.json is unusable`),
  ])
  expect(invalid[0]).toContain(why)
})

test.each([
  [
    'an object',
    { version: '2', 'my-option': true, '1st': 'x' },
    { VERSION: '2', MY_OPTION: 'true', _ST: 'x', KEPT: 'a' },
  ],
  ['a text', '3', { VERSION: '3', KEPT: 'a' }],
  ['true', true, { VERSION: '1', KEPT: 'a' }],
  ['nothing', {}, { VERSION: '1', KEPT: 'a' }],
  ['values of other types', { version: {}, kept: null }, { VERSION: '1', KEPT: 'a' }],
])('options as %s are over the defaults', async (_what, value, options) => {
  const described = {
    options: { version: { default: '1' }, kept: { default: 'a' }, none: { type: 'string' }, odd: 5 },
  }
  const { features } = await load({ features: { './one': value } }, { [ONE]: described })
  expect(features[0]?.options).toEqual(options)
})

test('a feature that is false is not installed', async () => {
  expect((await load({ features: { './one': false } }, { [ONE]: {} })).features).toEqual([])
})

test('variables of features refer to earlier ones and the image, and are below those of the file', async () => {
  const config = await load(
    { features: { './two': {}, './one': {} }, containerEnv: { MINE: 'file' }, remoteEnv: { REMOTE: 'file' } },
    {
      [ONE]: { containerEnv: { PATH: '/one:${PATH}', MINE: 'one', REMOTE: 'one', A: '$HOME/${B:-b}' } },
      '.devcontainer/two': { containerEnv: { PATH: '/two:$PATH', C: '${A}!', D: 'd' } },
    },
  )
  const { known, dependent } = splitVariables(config)
  expect({ known, dependent }).toEqual({
    known: { REMOTE: 'file', D: 'd' },
    dependent: {
      PATH: '/two:/one:${containerEnv:PATH}',
      A: '${containerEnv:HOME}/${containerEnv:B:b}',
      C: '${containerEnv:HOME}/${containerEnv:B:b}!',
    },
  })
  const { environment, remoteEnvironment } = withVariables(config, { ...known, A: 'a' })
  expect({ environment, remoteEnvironment }).toEqual({
    environment: { MINE: 'file', D: 'd', A: 'a' },
    remoteEnvironment: { REMOTE: 'file' },
  })
})

test('commands of features run before the same command of the file, in their order', async () => {
  const { steps } = await load(
    { features: { './two': {}, './one': {} }, onCreateCommand: 'file', postStartCommand: 'start' },
    {
      [ONE]: { onCreateCommand: 'one', postCreateCommand: '${containerWorkspaceFolder}/made' },
      '.devcontainer/two': { onCreateCommand: ['two'] },
    },
  )
  expect(steps.map(({ command, programs }) => [command, programs[0]?.argv.at(-1)])).toEqual([
    ['onCreateCommand', 'one'],
    ['onCreateCommand', 'two'],
    ['onCreateCommand', 'file'],
    ['postCreateCommand', '/workspace/made'],
    ['postStartCommand', 'start'],
  ])
})

test('what else a feature wants is made or noted', async () => {
  const { placement, notes } = await load(
    { mounts: ['type=volume,target=/own'], features: { './one': {} } },
    { [ONE]: { mounts: [{ type: 'volume', target: '/data' }], privileged: true, entrypoint: '/x' } },
  )
  expect(placement.directories).toEqual(['/own', '/data'])
  expect(notes).toEqual([
    `features: ${ONE}: entrypoint is not supported`,
    `features: ${ONE}: privileged is not supported`,
  ])
})

test('variables that double with each reference are left out when they are too long', async () => {
  const containerEnv = Object.fromEntries(
    Array.from({ length: 60 }, (_, n) => [`A${n}`, n === 0 ? '0123456789' : `$A${n - 1}$A${n - 1}`]),
  )
  const { featureEnvironment, invalid } = await load(
    { features: { './one': {} } },
    { [ONE]: { containerEnv } },
  )
  expect(Object.keys(featureEnvironment)).toEqual(Array.from({ length: 13 }, (_, n) => `A${n}`))
  expect(featureEnvironment['A1']).toBe('0123456789'.repeat(2))
  expect(invalid).toEqual(['features: their variables are too long; A13 and those after it are not set'])
})
