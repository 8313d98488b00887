import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { packageRoot } from '../../../../src/lib/process/package.ts'
import { analyzerUser, builtProject } from '../../../support/analyzer/analyzer-cli.ts'

const ESCAPE = '\u001b'

test('source is printed unchanged when piped, highlighted on a terminal, and with control characters escaped', async () => {
  const user = analyzerUser()
  const root = builtProject('kinds')
  cpSync(join(packageRoot, 'test/fixtures/java/kinds'), join(root, 'src/main/java'), { recursive: true })
  const file = join(root, 'src/main/java/kinds/Point.java')
  // A tab, a line end of Windows, and what would clear the screen.
  writeFileSync(
    file,
    readFileSync(file, 'utf8').replace('    public Point {', `\t// ${ESCAPE}[2J\r\n\tpublic Point {`),
  )
  const text = readFileSync(file, 'utf8')
  const at = ['-p', root]
  expect((await user.analyzer('start', ...at, '--mode', 'jar')).status).toBe(0)

  const piped = await user.analyzer('source', 'show', 'kinds.Point', '--table', ...at)
  expect([piped.status, piped.stdout]).toEqual([0, text])
  const { source } = await user.json<{ source: { content: string } }>('source', 'show', 'kinds.Point', ...at)
  expect(source.content).toBe(text)

  const shown = await user.onTerminal('source', 'show', 'kinds.Point', ...at)
  expect(shown).toContain(`${ESCAPE}[35mpublic${ESCAPE}[0m ${ESCAPE}[35mrecord${ESCAPE}[0m Point`)
  expect(shown).toContain(`${ESCAPE}[32m"x"${ESCAPE}[0m`)
  expect(shown).toContain(`\t${ESCAPE}[90m// �[2J${ESCAPE}[0m`)
  const plain = stripVTControlCharacters(shown).replaceAll('\r\n', '\n')
  expect(plain).toBe(text.replaceAll('\r\n', '\n').replace(ESCAPE, '�'))

  const method = await user.analyzer('source', 'method', 'kinds.Point', 'sum', '--table', ...at)
  expect(method.stdout).toBe('    int sum() {\n        return x + y;\n    }\n')
  expect(await user.analyzer('source', 'method', 'kinds.Point', 'nope', ...at)).toMatchObject({
    status: 1,
    stdout: '',
    stderr: 'analyzer: kinds.Point has no method "nope"\n',
  })
})
