import { expect, test } from 'vitest'
import { parseDevContainer } from '../../../src/workspace/devcontainer/dev-container.ts'
import { withBuild } from '../../../src/workspace/devcontainer/load-build.ts'
import { found } from '../../support/workspace/dev-container.ts'

const MISSING = Object.assign(new Error('it does not exist'), { code: 'ENOENT' })

/** Reads a devcontainer.json in `.devcontainer` beside other files, given by their paths. */
async function load(content: object, files: Readonly<Record<string, string>> = {}) {
  const parsed = parseDevContainer(JSON.stringify(content), '/workspace', '.devcontainer')
  const reading = await withBuild(parsed, (path) => {
    const text = files[path]
    return text === undefined ? Promise.reject(MISSING) : Promise.resolve(text)
  })
  if (reading.is !== 'found') throw new Error(JSON.stringify(reading))
  return reading.config
}

const FILES = { '.devcontainer/Dockerfile': 'FROM a', Dockerfile: 'FROM b', 'sub/Dockerfile': 'FROM c' }

test.each([
  { content: { build: { dockerfile: 'Dockerfile' } }, from: 'a', context: '.devcontainer' },
  { content: { build: { dockerfile: '../Dockerfile', context: '..' } }, from: 'b', context: '.' },
  { content: { build: { dockerfile: '../sub/Dockerfile', context: '../sub/' } }, from: 'c', context: 'sub' },
  { content: { dockerFile: '../Dockerfile', context: '..' }, from: 'b', context: '.' },
  { content: { dockerFile: 'no', build: { dockerfile: 'Dockerfile' } }, from: 'a', context: '.devcontainer' },
])('the Dockerfile and its context are found: $content', async ({ content, from, context }) => {
  const { build, invalid, notes } = await load(content, FILES)
  expect(build).toMatchObject({ context, dockerfile: { stages: [{ from }] } })
  expect([...invalid, ...notes]).toEqual([])
})

test('arguments and the target are texts', async () => {
  const args = { A: 'x ${containerWorkspaceFolder}', B: 1, C: null, D: [1, 2], E: { f: 1 }, F: '\0' }
  const { build, invalid } = await load({ build: { dockerfile: 'Dockerfile', args, target: 5 } }, FILES)
  expect(build?.arguments).toEqual(
    new Map([
      ['A', 'x /workspace'],
      ['B', '1'],
      ['C', 'null'],
      ['D', '1,2'],
    ]),
  )
  expect(build?.target).toBeUndefined()
  expect(invalid).toEqual([
    'build.target is not a text and is ignored',
    'build.args.E is an object and is ignored',
    'build.args.F is a string and is ignored',
  ])
})

test.each([
  [
    { build: { dockerfile: '../../Dockerfile' } },
    'the Dockerfile or its context is not a path in the workspace',
  ],
  [{ build: { dockerfile: 'Dockerfile', context: '../..' } }, 'not a path in the workspace'],
  [{ build: { dockerfile: 'Dockerfile', context: '/etc' } }, '.devcontainer/etc'],
  [{ build: { dockerfile: 'a\nb' } }, 'not a path in the workspace'],
  [{ build: { dockerfile: 5 } }, 'not a path in the workspace'],
  [{ build: 5 }, 'build is a number, not an object'],
  [
    { build: { dockerfile: 'none' } },
    '.devcontainer/none is unusable, and no image is built: it does not exist',
  ],
])('%j builds nothing outside of the workspace', async (content, why) => {
  const { build, buildReference, invalid } = await load(content, FILES)
  const texts = [...invalid, buildReference?.context ?? '']
  expect(texts).toContainEqual(expect.stringContaining(why))
  expect(build?.context ?? '').not.toMatch(/^\/|^\.\./)
})

test('what is not supported is noted', async () => {
  const build = { dockerfile: 'Dockerfile', cacheFrom: 'x', options: ['--network=host'] }
  expect((await load({ build }, FILES)).notes).toEqual([
    'build.cacheFrom is not supported',
    'build.options is not supported',
  ])
  expect(found({ build })).toMatchObject({
    build: undefined,
    notes: ['build is not supported in a template; set image'],
  })
})

test('.dockerignore of the context counts', async () => {
  const build = { dockerfile: 'Dockerfile', context: '..' }
  const files = { ...FILES, '.dockerignore': '*.log', '.devcontainer/.dockerignore': '*' }
  const { build: loaded } = await load({ build }, files)
  expect(['a.log', 'a.txt'].map((path) => loaded?.isIgnored(path))).toEqual([true, false])
})

test('a .dockerignore that cannot be read ends the build, because it may name secrets', async () => {
  const content = JSON.stringify({ build: { dockerfile: 'Dockerfile' } })
  const parsed = parseDevContainer(content, '/workspace', '.devcontainer')
  const reading = await withBuild(parsed, (path) =>
    path.endsWith('ignore')
      ? Promise.reject(new Error('it is larger than 256 KiB'))
      : Promise.resolve('FROM a'),
  )
  expect(reading).toMatchObject({
    config: {
      build: undefined,
      invalid: [expect.stringContaining('.dockerignore: it is larger than 256 KiB')],
    },
  })
})
