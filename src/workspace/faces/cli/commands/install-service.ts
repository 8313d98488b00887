import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { Argument, type Command } from 'commander'
import { examples } from '../../../../lib/cli/examples.ts'
import { createOutput } from '../../../../lib/cli/output.ts'
import { ignoreMissing } from '../../../../lib/fs/ignore-missing.ts'
import { makeDirs } from '../../../../lib/fs/make-dirs.ts'
import { writeFileDurable } from '../../../../lib/fs/write-durable.ts'
import { launchdLabel, launchdPlist } from '../service/launchd-plist.ts'
import { SERVICE_PROGRAMS, type Service, type ServiceProgram } from '../service/service.ts'
import { systemdUnit } from '../service/systemd-unit.ts'

interface Options {
  readonly config?: string
  readonly user?: boolean
  readonly print?: boolean
  readonly force?: boolean
  readonly json?: boolean
  readonly table?: boolean
}

interface ServiceFile {
  readonly file: string
  readonly content: string
  /** Commands that start the service now and at every boot or login. */
  readonly next: readonly string[]
}

/** Adds the command `install-service`, which writes a systemd unit or launchd property list for a program of this package. */
export function addInstallService(program: Command): void {
  program
    .command('install-service')
    .description(
      'write a systemd unit (on macOS a launchd property list) that runs a program of this package',
    )
    .addArgument(new Argument('[program]', 'program to run').choices(SERVICE_PROGRAMS).default('workspace'))
    .option('--config <file>', "the program's config file (default: the standard locations)")
    .option('--user', 'install for the current user even when run as root')
    .option('--print', 'print the unit instead of writing it')
    .option('--force', 'overwrite an existing unit that differs')
    .addHelpText(
      'after',
      '\nRun as root, it installs for the whole machine, otherwise for the current user. It does not start the service;' +
        ' run the commands it prints.\n' +
        examples('workspace install-service --config config.yaml'),
    )
    .action(async (name: ServiceProgram, _options: unknown, command: Command) => {
      const options: Options = command.optsWithGlobals()
      const service = serviceFile(describe(name, options))
      if (options.print === true) {
        process.stdout.write(service.content)
        return
      }
      await write(service, options.force === true)
      const { file, next } = service
      createOutput(options).result({ file, next }, () =>
        [
          `${file} is written. To start the service now and at every boot:`,
          ...next.map((line) => `  ${line}`),
        ].join('\n'),
      )
    })
}

function describe(program: ServiceProgram, { config, user }: Options): Service {
  return {
    program,
    node: process.execPath,
    // All programs' entry files are in the directory of the running one.
    entry: (process.argv[1] ?? '').replace(/workspace(\.[jt]s)?$/, `${program}$1`),
    config: config === undefined ? undefined : resolve(config),
    // Only the supervisor looks for its config in the working directory.
    directory: program === 'supervisor' ? process.cwd() : homedir(),
    path: process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
    isSystemWide: user !== true && process.getuid?.() === 0,
  }
}

function serviceFile(service: Service): ServiceFile {
  const { program, isSystemWide } = service
  if (process.platform === 'darwin') {
    const folder = isSystemWide ? '/Library' : join(homedir(), 'Library')
    const file = join(
      folder,
      isSystemWide ? 'LaunchDaemons' : 'LaunchAgents',
      `${launchdLabel(service)}.plist`,
    )
    const content = launchdPlist(service, join(folder, 'Logs', `${program}.log`))
    return {
      file,
      content,
      next: [`launchctl bootstrap ${isSystemWide ? 'system' : 'gui/$(id -u)'} '${file}'`],
    }
  }
  const folder = isSystemWide ? '/etc/systemd/system' : join(homedir(), '.config/systemd/user')
  const systemctl = isSystemWide ? 'systemctl' : 'systemctl --user'
  return {
    file: join(folder, `${program}.service`),
    content: systemdUnit(service),
    next: [
      `${systemctl} daemon-reload`,
      `${systemctl} enable --now ${program}.service`,
      ...(isSystemWide ? [] : ['loginctl enable-linger   # keep it running while you are not logged in']),
    ],
  }
}

async function write({ file, content }: ServiceFile, isForced: boolean): Promise<void> {
  const existing = await readFile(file, 'utf8').catch(ignoreMissing)
  if (existing === content) return
  if (existing !== undefined && !isForced) {
    throw new Error(
      `${file} already exists with different content; review it, then overwrite it with --force`,
    )
  }
  makeDirs(dirname(file))
  await writeFileDurable(file, content)
}
