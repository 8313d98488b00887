import { fc } from '../../support/fast-check.ts'
import { expect, test } from 'vitest'
import { withImports } from '../../../src/workspace/code/javascript-imports.ts'

const rewritten = async (code: string) =>
  (await withImports(code)).replaceAll('globalThis[Symbol.for("workspace.code.import")]', 'I')

test.each([
  ['import "m"', 'void (await I([], "m", {}));'],
  ['import a from "m"', 'const { default: a } = await I(["default"], "m", {});'],
  ["import * as all from 'm'", "const all = await I([], 'm', {});"],
  ['import a, * as all from "m"', 'const all = await I(["default"], "m", {}), { default: a } = all;'],
  ['import{a as b,c}from"m"\nf()', 'const { a: b, c: c } = await I(["a", "c"], "m", {});\nf()'],
  ['import {\n  a, // first\n} from "m"\nb', 'const { a: a } = await I(["a"], "m", {});\n\n\nb'],
  [
    'import j from "j" with { type: "json" }',
    'const { default: j } = await I(["default"], "j", { with: { type: "json" } });',
  ],
  ['import("a" + (await import("b")).c)', 'I("a" + (await I("b")).c)'],
])('%s', async (code, expected) => {
  expect(await rewritten(code)).toBe(expected)
})

test.each([
  ['in a text', 'const text = `import a from "m"`; "import(1)"'],
  ['in a comment', '// import a from "m"\n/* import("m") */'],
  ['as a name', 'o.import("x"); ({ import(x) { return 1 } })'],
  ['of metadata', 'import.meta.url'],
  ['beside exports', 'import a from "m"; export * from "n"'],
  ['that is not valid', 'import a from "m" import b'],
  ['that is not closed', 'import { a from "m'],
  ['without any', 'await Promise.resolve(1)'],
])('code with an import %s stays as it is', async (_what, code) => {
  expect(await withImports(code)).toBe(code)
})

const name = fc.constantFrom('a', 'b1', '$c', 'ünï', 'from', 'as')
const space = fc.constantFrom('', ' ', '\n', '/* c */', '// c\n')
const clause = fc.oneof(
  name,
  name.map((local) => `* as ${local}`),
  fc.tuple(name, name, space).map(([one, other, gap]) => `{${gap}${one} as ${other}${gap},${gap}}`),
)
const piece = fc.oneof(
  fc.tuple(clause, space).map(([text, gap]) => `import ${text} ${gap}from "m";\n`),
  fc.constantFrom(
    'import("m");\n',
    'f(`${import("m")}`);\n',
    '/[/"]import("x")/.test(1)\n',
    '"import(1)";\n',
  ),
)

test('no line moves, and nothing but imports changes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 8 }), async (pieces) => {
      const code = pieces.join('')
      const result = await rewritten(code)
      expect(result.split('\n').length).toBe(code.split('\n').length)
      for (const kept of pieces.filter((each) => /^["/]/.test(each))) expect(result).toContain(kept)
      if (result !== code) expect(result).not.toMatch(/^import /m)
    }),
  )
})

test('long code is left to the interpreter', async () => {
  const codes = [`import { ${'a, '.repeat(10_000)} } from "m"`, `import("m");${' '.repeat(2 ** 20)}`]
  for (const code of codes) expect(await withImports(code)).toBe(code)
})
