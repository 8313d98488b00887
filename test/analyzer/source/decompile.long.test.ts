import { copyFileSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { projectOf, startAnalyzer, type TestAnalyzer } from '../../support/analyzer/analyzer-server.ts'
import { compiled } from '../../support/analyzer/javac.ts'
import { tempDir } from '../../support/temp-dir.ts'

async function started(environment: Readonly<Record<string, string>>): Promise<TestAnalyzer> {
  const analyzer = await startAnalyzer(projectOf('kinds'), environment)
  onTestFinished(() => analyzer.stop())
  return analyzer
}

test('decompiled text is cached, and decompiled again if the class or the request differs', async () => {
  const cache = tempDir()
  const analyzer = await started({ ANALYZER_CACHE_DIR: cache })
  const show = async (parameters = {}) =>
    (await analyzer.get('/source/kinds.Point', parameters)).source.content
  const text = await show()
  const [file = ''] = globSync('decompiled/*/*.java', { cwd: cache })
  expect(readFileSync(join(cache, file), 'utf8')).toBe(text)
  writeFileSync(join(cache, file), '// kept')
  expect(await show()).toBe('// kept')
  expect(await show({ forceRefresh: true })).toBe(text)
  expect(await show()).toBe(text)
  const other = compiled('kinds', ['-g:none'])
  copyFileSync(join(other, 'kinds/Point.class'), join(analyzer.root, 'target/classes/kinds/Point.class'))
  await show()
  expect(globSync('decompiled/*/*.java', { cwd: cache })).toHaveLength(2)
})

describe('a class that uses too much', () => {
  test('time is aborted, and the server and the next class survive', async () => {
    const analyzer = await started({ ANALYZER_CACHE_DIR: tempDir(), ANALYZER_SOURCE__TIME_LIMIT: '20ms' })
    const { status, body } = await analyzer.ask('/source/kinds.Outer')
    expect([status, body.type]).toEqual([504, 'Timeout'])
    expect(body.message).toBe(
      'kinds.Outer could not be decompiled within 0.02 s; increase source.time_limit, or use format=stub, which does not decompile',
    )
    expect((await analyzer.get('/source/kinds.Outer', { format: 'stub' })).source.isDecompiled).toBe(true)
  })

  test('memory crashes only its own process', async () => {
    const analyzer = await started({ ANALYZER_CACHE_DIR: tempDir(), ANALYZER_SOURCE__MEMORY_LIMIT: '10MiB' })
    const { status, body } = await analyzer.ask('/source/java.util.HashMap')
    expect([status, body.type]).toEqual([500, 'InternalError'])
    expect(body.message).toMatch(/^java.util.HashMap cannot be decompiled: it crashed the decompiler \(SIG/)
    expect((await analyzer.get('/stats')).projectClassCount).toBeGreaterThan(0)
  })
})

test('a damaged class file is reported, not decompiled', async () => {
  const analyzer = await started({ ANALYZER_CACHE_DIR: tempDir() })
  writeFileSync(
    join(analyzer.root, 'target/classes/kinds/Point.class'),
    Buffer.from('cafebabe0000003d', 'hex'),
  )
  const { status, body } = await analyzer.ask('/source/kinds.Point')
  expect([status, body.message]).toEqual([500, expect.stringMatching(/^kinds.Point cannot be decompiled: /)])
})
