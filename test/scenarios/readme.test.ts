import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { packageRoot } from '../../src/lib/process/package.ts'
import { run } from '../../src/lib/process/run.ts'
import { docker, uniqueName } from '../support/docker.ts'
import { serveRepository } from '../support/git-daemon.ts'
import { serveCli, userEnvironment } from '../support/workspace-cli.ts'

interface Step {
  readonly command: string
  readonly output: readonly string[]
}

/** The commands and outputs of README.md's one transcript. */
function transcript(): readonly Step[] {
  const readme = readFileSync(join(packageRoot, 'README.md'), 'utf8')
  const [block, ...others] = [...readme.matchAll(/^```console\n(.*?)^```$/gms)].map(([, text]) => text ?? '')
  expect({ block: block !== undefined, others }).toEqual({ block: true, others: [] })
  return (block ?? '')
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = '', ...output] = part.trimEnd().split('\n')
      return { command, output }
    })
}

/** Identifiers, times, ages and column widths differ from run to run. */
function withoutWhatVaries(line: string): string {
  return line
    .replace(/\b[0-9a-f]{64}\b/, 'ID')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/, 'TIME')
    .replace(/ \d+[smhd] /, ' AGE ')
    .replaceAll(/ {2,}/g, '  ')
    .trimEnd()
}

/** A line `…` stands for any lines. */
function pattern(lines: readonly string[]): RegExp {
  const parts = lines.map((line) =>
    line === '…' ? '(?:.*\\n)*?' : `${line.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}\\n`,
  )
  return new RegExp(`^${parts.join('')}$`)
}

/**
 * Three things differ from what a reader does: a local `git daemon` stands for GitHub, so the workspaces are on the
 * host's network and have no address of their own; and the name is one that no other test uses.
 */
test('the transcript of the README is what happens', { timeout: 120_000 }, async () => {
  const daemon = await serveRepository('octocat/Hello-World', { README: 'Hello World!\n' })
  onTestFinished(() => daemon.stop())
  const name = uniqueName('demo')
  onTestFinished(async () => {
    await docker('rm', '-f', `ws-${name}`)
    await docker('volume', 'rm', '-f', `ws-${name}`)
  })
  const user = userEnvironment()
  const { child, httpPort, exit } = await serveCli({ ...user, WORKSPACE_DOCKER__NETWORK: 'host' })
  const environment = {
    ...user,
    WORKSPACE_URL: `http://127.0.0.1:${httpPort}`,
    // npx draws a spinner while it looks for the program.
    npm_config_progress: 'false',
  }

  for (const { command, output } of transcript()) {
    const line = command.replaceAll('demo', name).replace('octocat/', `${daemon.url}octocat/`)
    // On a terminal, as a reader sees it.
    const ran = await run('script', ['-qec', line, '/dev/null'], { environment, cwd: packageRoot })
    const said = ran.stdout
      .replaceAll('\r\n', '\n')
      .replaceAll(daemon.url, 'https://github.com/')
      .replaceAll(name, 'demo')
    const actual = said.split('\n').slice(0, -1).map(withoutWhatVaries)
    const expected = output.filter((each) => !each.startsWith('ip_address')).map(withoutWhatVaries)
    expect(`${actual.join('\n')}\n`, command).toMatch(pattern(expected))
    expect(ran.status, command).toBe(0)
  }
  child.kill('SIGTERM')
  expect(await exit).toBe(0)
})
