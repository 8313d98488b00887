import { expect, test } from 'vitest'
import { parseDevContainer } from '../../../src/workspace/devcontainer/dev-container.ts'
import {
  resolveVariables,
  splitVariables,
  withDevContainerId,
  withinLimits,
} from '../../../src/workspace/devcontainer/resolve-references.ts'
import { substituteText } from '../../../src/workspace/devcontainer/substitute.ts'
import { fc } from '../../support/fast-check.ts'

const read = (content: object) => {
  const reading = parseDevContainer(JSON.stringify(content), '/workspace')
  if (reading.is !== 'found') throw new Error(JSON.stringify(reading))
  return reading.config
}

// Measured with the official CLI 0.89.0, with the folder /workspace and no variable NOPE.
test.each([
  ['${localEnv:NOPE:dflt}', 'dflt'],
  ['x${localEnv:NOPE}y', 'xy'],
  ['${env:NOPE:d:e}', 'd'],
  ['${env:NOPE:}', ''],
  ['${containerWorkspaceFolder}/x', '/workspace/x'],
  ['${containerWorkspaceFolderBasename}', 'workspace'],
  ['${unknown} ${unknown:x} $NOT ${} ${', '${unknown} ${unknown:x} $NOT ${} ${'],
  ['${ containerWorkspaceFolder}', '${ containerWorkspaceFolder}'],
  ['${localEnv:${localEnv:X}:z}', 'X:z}'],
  ['${localEnv:NOPE\n:x}', '${localEnv:NOPE\n:x}'],
  ['${containerEnv:PATH}', '${containerEnv:PATH}'],
  ['${localEnv}', '${localEnv}'],
])('%j of containerEnv is %j', (text, expected) => {
  expect(read({ containerEnv: { A: text } }).environment).toEqual({ A: expected })
})

test('references are those of the regular expression of the official CLI', () => {
  const part = fc.constantFrom('$', '{', '}', '${', ':', 'a', '\n', '\u2028', ' ', '${a}', '${b:c}')
  const resolve = (_name: string, _args: readonly string[], reference: string) =>
    `<${reference.slice(2, -1)}>`
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
      const text = parts.join('')
      expect(substituteText(text, resolve)).toBe(text.replaceAll(/\$\{(.*?)\}/g, '<$1>'))
    }),
    { numRuns: 2_000 },
  )
})

test('W12 a variable of the server is not exposed', () => {
  process.env['WORKSPACE_TEST_CANARY'] = 'canary'
  const hidden = '${localEnv:WORKSPACE_TEST_CANARY} ${env:WORKSPACE_TEST_CANARY}'
  const content = {
    image: hidden,
    containerEnv: { A: hidden, [hidden]: 'x' },
    remoteEnv: { A: hidden },
    postCreateCommand: hidden,
    onCreateCommand: [hidden],
    postStartCommand: { a: hidden },
    forwardPorts: [hidden],
  }
  const config = read(content)
  delete process.env['WORKSPACE_TEST_CANARY']
  expect(JSON.stringify(config)).not.toContain('canary')
  expect(config.environment['A']).toBe(' ')
  expect(config.notes).toContain(
    "containerEnv: ${localEnv:WORKSPACE_TEST_CANARY} is its default or empty, because the server's environment is not exposed",
  )
})

test('references in commands are resolved, except those to the container', () => {
  const text = '${containerEnv:A} ${containerWorkspaceFolder} ${localEnv:NOPE:d} ${PATH}'
  const { steps } = read({
    onCreateCommand: text,
    postCreateCommand: ['sh', text],
    postStartCommand: { a: text },
  })
  const expected = '${containerEnv:A} /workspace d ${PATH}'
  expect(steps.map(({ programs }) => programs[0]?.argv.at(-1))).toEqual([expected, expected, expected])
})

test('remoteEnv refers to the environment of the container', () => {
  const config = read({
    containerEnv: { W: '/w', H: 'h' },
    remoteEnv: {
      C: '${containerEnv:W}/x',
      P: '${containerEnv:PATH}:/x',
      D: '${containerEnv:NOPE:def}',
      E: 'a${containerEnv:NOPE}b',
      R: '${remoteEnv:P} ${containerEnv}',
      O: '${containerEnv:toString}',
    },
  })
  const { known, dependent } = splitVariables(config)
  expect(known).toEqual({ C: '/w/x', R: '${remoteEnv:P} ${containerEnv}' })
  expect(resolveVariables(dependent, { PATH: '/bin' })).toEqual({ P: '/bin:/x', D: 'def', E: 'ab', O: '' })
})

test('${devcontainerId} is the one that the official CLI computes', () => {
  const content = { containerEnv: { A: '${devcontainerId}' }, remoteEnv: { B: 'x${devcontainerId}' } }
  const config = read({ ...content, postCreateCommand: 'echo ${devcontainerId}' })
  const labels = {
    'devcontainer.local_folder': '/srv/app',
    'devcontainer.config_file': '/srv/app/.devcontainer.json',
  }
  const id = '1802an765rpcq268uqmntq87gscmv1982inuf99m0ibop837p959'
  expect(withDevContainerId({ is: 'found', config }, labels)).toMatchObject({
    config: {
      environment: { A: id },
      remoteEnvironment: { B: `x${id}` },
      steps: [{ programs: [{ argv: ['/bin/sh', '-c', `echo ${id}`] }] }],
    },
  })
})

test('H9 references do not multiply a text without bound', () => {
  const references = '${containerEnv:A}'.repeat(2_000)
  const remoteEnv = Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`B${i}`, references]))
  const { known } = splitVariables(read({ containerEnv: { A: 'x'.repeat(80_000) }, remoteEnv }))
  expect(Math.max(...Object.values(known).map((each) => each.length))).toBeLessThan(300_000)
  expect(withinLimits({ OK: 'yes', ...known })).toEqual({
    kept: { OK: 'yes' },
    tooLong: Object.keys(remoteEnv),
  })
  const many = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`C${i}`, 'x'.repeat(100_000)]))
  expect(withinLimits(many).tooLong).toEqual(['C5', 'C6', 'C7', 'C8', 'C9'])
})
