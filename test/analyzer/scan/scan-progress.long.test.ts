import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { loadAnalyzerConfig } from '../../../src/analyzer/config.ts'
import { ProjectScanner } from '../../../src/analyzer/scan/project-scanner.ts'
import type { ScanProgress } from '../../../src/analyzer/scan/scan-progress.ts'
import { createLogger } from '../../../src/lib/log/logger.ts'
import { projectOf } from '../../support/analyzer/analyzer-server.ts'
import { smallJdk } from '../../support/analyzer/jdk.ts'
import { tempDir } from '../../support/temp-dir.ts'

test('a scan counts what it reads, up to all classes of a JDK', async () => {
  const config = loadAnalyzerConfig(
    { XDG_CACHE_HOME: tempDir(), ANALYZER_JVM_HOME: smallJdk() },
    { server: { mode: 'jar' } },
  )
  const scanner = new ProjectScanner(
    config,
    projectOf('shop'),
    createLogger({ level: 'silent', format: 'json' }),
  )
  const seen: ScanProgress[] = []
  const scan = scanner.scan(undefined)
  scan.catch(() => undefined)
  for (let { view } = scanner.progress; view !== undefined; { view } = scanner.progress) {
    if (view !== seen.at(-1)) seen.push(view)
    await turn()
  }
  try {
    const { readCount } = await scan
    expect([...new Set(seen.map(({ step }) => step))]).toEqual(['resolving', 'listing', 'reading'])
    const reading = seen.filter(({ step }) => step === 'reading')
    expect(reading[0]).toMatchObject({ readCount: 0, path: null })
    expect(reading.map((each) => each.readCount)).toEqual(
      reading.map((each) => each.readCount).toSorted((a, b) => a - b),
    )
    expect(new Set(reading.slice(1).map(({ path }) => path))).toEqual(new Set([`${smallJdk()}/lib/modules`]))
    expect(reading[0]?.classCount).toBeGreaterThan(5_000)
    expect(reading[0]?.classCount).toBeLessThanOrEqual(readCount)
    expect(scanner.progress.view).toBeUndefined()
  } finally {
    await scanner.close()
  }
})
