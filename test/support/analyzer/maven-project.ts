import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, relative } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { type AnalyzerUser, analyzerUser } from './analyzer-cli.ts'
import { jdkRelease } from './jdk.ts'
import { madeOnce } from '../made-once.ts'

/** Copy of a Maven project that a test may change. */
export interface MavenProject {
  readonly root: string
  /** Folder next to it that is removed with it. */
  readonly folder: string
  readonly mvn: (...argv: readonly string[]) => void
}

/** Returns the project of test/fixtures/maven, built by Maven, for the tests of one file. */
export function mavenProject(): MavenProject {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'workspace-maven-')))
  const root = join(folder, 'shop')
  const mvn = (...argv: readonly string[]): void => {
    execFileSync('mvn', ['-B', '-ntp', '-q', ...argv], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
  }
  beforeAll(() => cpSync(built(), root, { recursive: true, preserveTimestamps: true }), 600_000)
  afterAll(() => rmSync(folder, { recursive: true }))
  return { root, folder, mvn }
}

/** Builds the sources once; Maven detects stale output by times, which a copy preserves. */
function built(): string {
  const sources = join(packageRoot, 'test/fixtures/maven')
  const files = globSync('**/*', { cwd: sources, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()
  const inputs = [jdkRelease(), ...files.flatMap((file) => [relative(sources, file), readFileSync(file)])]
  return madeOnce('maven', inputs, (out) => {
    cpSync(sources, out, { recursive: true })
    execFileSync('mvn', ['-B', '-ntp', '-q', 'package'], { cwd: out, stdio: ['ignore', 'pipe', 'inherit'] })
  })
}

/** Environment of a user with Maven and a JDK on PATH. */
export function mavenUser(): AnalyzerUser {
  return analyzerUser({ PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter) })
}

/** Names of all classes of the project, sorted. */
export const mavenProjectClasses = [
  'shop.app.Shop',
  'shop.app.SpringSays',
  'shop.core.CoreConfiguration',
  'shop.core.Job',
  'shop.core.MemoryRepository',
  'shop.core.NightlyReport',
  'shop.core.OrderService',
  'shop.model.Item',
  'shop.model.Order',
  'shop.model.Order$State',
  'shop.model.OrderTest',
  'shop.model.Payment',
  'shop.model.Payment$Card',
  'shop.model.Payment$Cash',
  'shop.model.Repository',
  'shop.web.HealthController',
  'shop.web.OrderController',
  'shop.web.ShopApi',
]
