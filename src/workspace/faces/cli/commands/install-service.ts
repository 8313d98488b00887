import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { Argument, type Command } from 'commander'
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
  /** Commands that start the service now, and with the machine or at the user's login. */
  readonly next: readonly string[]
}

/** Writes what systemd or launchd needs to run a program of this package. */
export function addInstallService(program: Command): void {
  program
    .command('install-service')
    .description('write a unit for systemd, or on macOS for launchd, that runs a program of this package')
    .addArgument(
      new Argument('[program]', 'which; default workspace').choices(SERVICE_PROGRAMS).default('workspace'),
    )
    .option('--config <file>', "the program's config file; default the usual places")
    .option('--user', 'for this user, also where root runs it')
    .option('--print', 'print the unit instead of writing it')
    .option('--force', 'write over a unit that is another')
    .addHelpText(
      'after',
      '\nAs root it is for the whole machine, else for this user. It starts nothing: that is for the commands it prints.',
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
          `${file} is written. What starts it, now and with every start:`,
          ...next.map((line) => `  ${line}`),
        ].join('\n'),
      )
    })
}

function describe(program: ServiceProgram, { config, user }: Options): Service {
  return {
    program,
    node: process.execPath,
    // The entries of all programs are beside the one that runs.
    entry: (process.argv[1] ?? '').replace(/workspace(\.[jt]s)?$/, `${program}$1`),
    config: config === undefined ? undefined : resolve(config),
    // Where a supervisor looks for its config; the others do not look there.
    directory: program === 'supervisor' ? process.cwd() : homedir(),
    path: process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
    isOfMachine: user !== true && process.getuid?.() === 0,
  }
}

function serviceFile(service: Service): ServiceFile {
  const { program, isOfMachine } = service
  if (process.platform === 'darwin') {
    const folder = isOfMachine ? '/Library' : join(homedir(), 'Library')
    const file = join(
      folder,
      isOfMachine ? 'LaunchDaemons' : 'LaunchAgents',
      `${launchdLabel(service)}.plist`,
    )
    const content = launchdPlist(service, join(folder, 'Logs', `${program}.log`))
    return {
      file,
      content,
      next: [`launchctl bootstrap ${isOfMachine ? 'system' : 'gui/$(id -u)'} '${file}'`],
    }
  }
  const folder = isOfMachine ? '/etc/systemd/system' : join(homedir(), '.config/systemd/user')
  const systemctl = isOfMachine ? 'systemctl' : 'systemctl --user'
  return {
    file: join(folder, `${program}.service`),
    content: systemdUnit(service),
    next: [
      `${systemctl} daemon-reload`,
      `${systemctl} enable --now ${program}.service`,
      ...(isOfMachine ? [] : ['loginctl enable-linger   # so that it also runs while you are not logged in']),
    ],
  }
}

async function write({ file, content }: ServiceFile, isForced: boolean): Promise<void> {
  const found = await readFile(file, 'utf8').catch(ignoreMissing)
  if (found === content) return
  if (found !== undefined && !isForced) {
    throw new Error(`${file} is there and is another: look at it, then use --force to write over it`)
  }
  makeDirs(dirname(file))
  await writeFileDurable(file, content)
}
