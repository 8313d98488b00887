import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { run, type RunResult } from '../../../src/lib/process/run.ts'
import type { Check } from '../../../src/workspace/check.ts'
import { tempDir } from '../../support/temp-dir.ts'

const SENTENCE = (program: string): string =>
  `${program} needs the native addon, which cannot be loaded (WORKSPACE_NATIVE is "off"): run "npm run build:native" in ${packageRoot}`

function withoutAddon(home: string, program: string, ...argv: readonly string[]): Promise<RunResult> {
  const environment = {
    PATH: dirname(process.execPath),
    HOME: home,
    XDG_CACHE_HOME: join(home, 'cache'),
    XDG_RUNTIME_DIR: join(home, 'run'),
    WORKSPACE_NATIVE: 'off',
  }
  return run(process.execPath, [join(packageRoot, `src/bin/${program}.ts`), ...argv], { environment })
}

describe('without the native addon, one error names the command that builds it', () => {
  test('analyzer serve', async () => {
    const home = tempDir()
    writeFileSync(join(home, 'pom.xml'), '<project/>')
    const { status, stdout, stderr } = await withoutAddon(home, 'analyzer', 'serve', '-p', home)
    const message = SENTENCE('the analyzer')
    expect({ status, stderr }).toEqual({ status: 1, stderr: `analyzer: ${message}\n` })
    expect(stdout).toBe(
      `ANALYZER_ERROR reason=NATIVE_ADDON_MISSING message="${message.replaceAll('"', "'")}"\n`,
    )
  })

  test('analyzer start', { tags: ['long'] }, async () => {
    const home = tempDir()
    writeFileSync(join(home, 'pom.xml'), '<project/>')
    const { status, stderr } = await withoutAddon(home, 'analyzer', 'start', '-p', home)
    expect(status).toBe(4)
    expect(stderr).toContain(SENTENCE('the analyzer').replaceAll('"', "'"))
    expect(stderr.trimEnd()).not.toContain('\n')
  })

  test('analyzer diff', { tags: ['long'] }, async () => {
    const home = tempDir()
    for (const name of ['old', 'new']) mkdirSync(join(home, name))
    const builds = ['old', 'new'].map((name) => join(home, name))
    const { status, stderr } = await withoutAddon(home, 'analyzer', 'diff', ...builds)
    expect({ status, stderr }).toEqual({ status: 1, stderr: `analyzer: ${SENTENCE('the analyzer')}\n` })
  })

  test('supervisor up', { tags: ['long'] }, async () => {
    const home = tempDir()
    const config = join(home, 'supervisor.yaml')
    writeFileSync(config, 'api: {port: 0}\nprocesses: {web: {cmd: exit 0}}\n')
    const { status, stderr } = await withoutAddon(home, 'supervisor', '--config', config, 'up')
    expect(status).toBe(1)
    expect(stderr).toBe(`supervisor: ${SENTENCE('the supervisor')}\n`)
  })

  test('workspace doctor', async () => {
    const { status, stdout } = await withoutAddon(tempDir(), 'workspace', 'doctor', '--json')
    expect(status).toBe(1)
    const { checks } = JSON.parse(stdout) as { readonly checks: readonly Check[] }
    expect(checks.find(({ name }) => name === 'native addon')).toEqual({
      name: 'native addon',
      ok: false,
      found:
        'missing: the analyzer and the supervisor do not start, and the workspace server is slower (WORKSPACE_NATIVE is "off")',
      remedy: `run "npm run build:native" in ${packageRoot}, with g++, make and python3 installed`,
      repair: { argv: ['npm', '--prefix', packageRoot, 'run', 'build:native'] },
    })
  })
})
