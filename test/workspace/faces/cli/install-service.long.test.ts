import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { packageRoot } from '../../../../src/lib/process/package.ts'
import { run } from '../../../../src/lib/process/run.ts'
import { launchdPlist } from '../../../../src/workspace/faces/cli/service/launchd-plist.ts'
import {
  commandOf,
  type Service,
  SERVICE_PROGRAMS,
} from '../../../../src/workspace/faces/cli/service/service.ts'
import { systemdUnit } from '../../../../src/workspace/faces/cli/service/systemd-unit.ts'
import { tempDir } from '../../../support/temp-dir.ts'

const hasSystemd = await run('systemd-analyze', ['--version']).then(
  () => true,
  () => false,
)

/** Maximum exposure level of 10, as systemd-analyze(1) computes it; without hardening it is 9.6. */
const MOST_EXPOSED = { workspace: 8.3, supervisor: 8.6, 'content-server': 2.7 } as const

function service(program: Service['program'], more: Partial<Service> = {}): Service {
  return {
    program,
    node: process.execPath,
    entry: join(packageRoot, `src/bin/${program}.ts`),
    config: undefined,
    directory: '/tmp',
    path: '/usr/bin:/bin',
    isSystemWide: true,
    ...more,
  }
}

describe.each(SERVICE_PROGRAMS)('the unit of %s', (program) => {
  // Contains every character that systemd's quoting treats specially.
  const config = '/nowhere/a "b" \\c %d $HOME.yaml'

  test('runs a command line that its program accepts, including the config file', async () => {
    const [node = '', ...words] = commandOf(service(program, { config }))
    const { status, stderr } = await run(node, words)
    expect(status).not.toBe(0)
    expect(stderr).toContain(config)
  })

  test.runIf(hasSystemd)('is valid for systemd, for the machine and for a user', () => {
    for (const isSystemWide of [true, false]) {
      const file = join(tempDir(), `${program}.service`)
      writeFileSync(file, systemdUnit(service(program, { config, isSystemWide })))
      const user = isSystemWide ? [] : ['--user']
      const said = execFileSync('sh', ['-c', '"$@" 2>&1', '-', 'systemd-analyze', 'verify', ...user, file], {
        encoding: 'utf8',
        env: { ...process.env, XDG_RUNTIME_DIR: tempDir() },
      })
      expect(said.split('\n').filter((line) => line.includes(file))).toEqual([])
    }
  })

  test.runIf(hasSystemd)('has an exposure level within its limit', async () => {
    const file = join(tempDir(), `${program}.service`)
    writeFileSync(file, systemdUnit(service(program)))
    const { stdout } = await run('systemd-analyze', ['security', '--offline=true', '--no-pager', file])
    const exposure = Number(/exposure level for .*: (\d+\.\d)/.exec(stdout)?.[1])
    expect(exposure).toBeGreaterThan(0)
    expect(exposure).toBeLessThanOrEqual(MOST_EXPOSED[program])
  })

  test('of a user drops no capabilities, which requires root', () => {
    const unit = systemdUnit(service(program, { isSystemWide: false }))
    expect(unit).not.toMatch(
      /^(?:CapabilityBoundingSet|ProtectClock|ProtectKernelLogs|ProtectKernelModules)=/m,
    )
    // System call filters in a user unit imply NoNewPrivileges, which breaks sudo.
    if (program !== 'content-server') expect(unit).not.toMatch(/^(?:SystemCall|Restrict|LockPersonality)/m)
  })

  test('of a user reads its environment file from the config directory', () => {
    expect(systemdUnit(service(program, { isSystemWide: false }))).toContain(
      `\nEnvironmentFile=-%h/.config/${program}/environment\n`,
    )
  })

  test('quotes the config file as one argument', () => {
    expect(systemdUnit(service(program, { config }))).toContain(' "/nowhere/a \\"b\\" \\\\c %%d $$HOME.yaml"')
  })

  test('is a valid property list on macOS', () => {
    const list = launchdPlist(service(program, { config: '/a & b/<c>.yaml' }), '/var/log/x.log')
    expect(list).toContain('<string>/a &amp; b/&lt;c&gt;.yaml</string>')
    const parse = 'import plistlib, sys, json; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))'
    const read = JSON.parse(execFileSync('python3', ['-c', parse], { input: list, encoding: 'utf8' }))
    expect(read).toMatchObject({ RunAtLoad: true, KeepAlive: { SuccessfulExit: false } })
    expect(read.ProgramArguments).toEqual(commandOf(service(program, { config: '/a & b/<c>.yaml' })))
  })
})

describe('workspace install-service', () => {
  const cli = (home: string, ...words: string[]) => {
    const entry = join(packageRoot, 'src/bin/workspace.ts')
    const argv = [entry, 'install-service', '--user', ...words]
    return run(process.execPath, argv, { environment: { ...process.env, HOME: home } })
  }

  test.runIf(process.platform === 'linux')(
    'writes a user unit and does not overwrite a different one',
    async () => {
      const home = tempDir()
      const file = join(home, '.config/systemd/user/workspace.service')
      const { status, stdout } = await cli(home)
      expect(status).toBe(0)
      expect(JSON.parse(stdout)).toMatchObject({
        file,
        next: expect.arrayContaining(['systemctl --user daemon-reload']),
      })
      const written = readFileSync(file, 'utf8')
      expect(written).toContain('WantedBy=default.target')
      expect(await cli(home)).toMatchObject({ status: 0 })
      writeFileSync(file, `${written}# mine\n`)
      expect(await cli(home)).toMatchObject({
        status: 1,
        stderr: `workspace: ${file} already exists with different content; review it, then overwrite it with --force\n`,
      })
      expect(readFileSync(file, 'utf8')).toBe(`${written}# mine\n`)
      expect(await cli(home, '--force')).toMatchObject({ status: 0 })
      expect(readFileSync(file, 'utf8')).toBe(written)
    },
  )

  test('lists the available programs', async () => {
    expect(await cli(tempDir(), 'analyzer')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('Allowed choices are workspace, supervisor, content-server'),
    })
  })
})
