import { expect, test } from 'vitest'
import { parseManifest } from '../../../src/lib/guest/extension.ts'

const GOOD = 'namespace: demo\nsystemd_unit: workspace-ext-demo.service\n'
const bomb = `a: &a [x, x, x, x, x, x, x, x]
${['b', 'c', 'd', 'e', 'f', 'g', 'h'].map((name, i) => `${name}: &${name} [${Array(8).fill(`*${'abcdefg'[i]}`).join(', ')}]`).join('\n')}
${GOOD}`

test('a manifest defines its namespace, its unit and the environment of programs', () => {
  const manifest = parseManifest(
    `${GOOD}description: shows how\nenvironment: {DEMO_URL: "http://x"}\n`,
    'demo',
  )
  expect(manifest).toEqual({
    namespace: 'demo',
    unit: 'workspace-ext-demo.service',
    description: 'shows how',
    environment: { DEMO_URL: 'http://x' },
  })
})

test.each([
  ['nothing', ''],
  ['a text', 'demo'],
  ['a list', '- demo'],
  ['invalid YAML', '{'],
  ['a tab', 'namespace:\tdemo\n\tsystemd_unit: x'],
  ['NULs', '\0\0\0'],
  ['another namespace than its file', GOOD.replace('demo', 'other')],
  ['no namespace', 'systemd_unit: workspace-ext-demo.service'],
  ['no unit', 'namespace: demo'],
  ['a unit in a parent folder', GOOD.replace('workspace-ext-demo.service', '../x.service')],
  ['a unit that is an option', GOOD.replace('workspace-ext-demo.service', '--now')],
  ['another extension’s unit', GOOD.replace('-ext-demo', '-ext-other')],
  ['a unit of the machine', GOOD.replace('workspace-ext-demo', 'ssh')],
  ['a unit with a newline', `namespace: demo\nsystemd_unit: "workspace-ext-demo.service\\nssh.service"`],
  ['a unit that is a list', 'namespace: demo\nsystemd_unit: [workspace-ext-demo.service]'],
  ['a target', GOOD.replace('.service', '.target')],
  ['an unknown key', `${GOOD}exec: /bin/sh`],
  ['a key twice', GOOD + GOOD],
  ['two documents', `${GOOD}---\n${GOOD}`],
  ['__proto__', `${GOOD}__proto__: {x: 1}`],
  ['a description that is a list', `${GOOD}description: [1]`],
  ['a YAML merge', `a: &a {namespace: demo}\n<<: *a\nsystemd_unit: workspace-ext-demo.service`],
  ['a bomb of aliases', bomb],
  ['64 KiB and more', `${GOOD}description: ${'x'.repeat(64 * 1024)}`],
  ['a tag of code', `${GOOD}description: !!js/function "function () {}"`],
  ['an invalid variable name', `${GOOD}environment: {"A B": x}`],
  ['a variable with a newline', `${GOOD}environment: {A: "x\\ny"}`],
  ['a variable that is a number', `${GOOD}environment: {A: 1}`],
])('W11 a manifest with %s is refused', (_, text) => {
  expect(() => parseManifest(text, 'demo')).toThrow(/./)
})
