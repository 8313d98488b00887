import { MODES } from '../../../choices.ts'
import type { Command } from 'commander'
import { Option } from 'commander'
import { portNumber, wholeNumber } from '../../../../lib/cli/arguments.ts'
import { counted } from '../../../../lib/cli/counted.ts'
import { createOutput } from '../../../../lib/cli/output.ts'
import { formatRecord, formatTable } from '../../../../lib/cli/table.ts'
import { packageVersion } from '../../../../lib/process/package.ts'
import { addProjectOption, projectOf, findProjectToStop } from '../context.ts'
import {
  findAllServerProcesses,
  findAllServers,
  findServerProcess,
  getServerProcess,
  getServer,
  type LiveServer,
} from '../server-client.ts'
import { startServer } from '../start-server.ts'
import { stopServer } from '../stop-server.ts'

interface StopFlags {
  readonly force?: boolean
  readonly all?: boolean
}

export interface StartFlags {
  readonly port?: number
  readonly mode?: string
  readonly projectJvm?: string
  readonly timeout: number
  readonly serverJar?: string
  readonly watch?: boolean
}

/** start, stop, restart, status, list, version, serve. */
export function addServer(program: Command): void {
  addStartOptions(program.command('start'))
    .description("start the project's server and wait until it has read the project")
    .option('--port <port>', 'port to listen on; default a free one', portNumber)
    .action(async (flags: StartFlags, command: Command) => {
      const live = await startServer(projectOf(command), optionsOf(flags))
      createOutput(command.optsWithGlobals()).result(viewOf(live), () => statusTable(live))
    })

  addProjectOption(program.command('stop'))
    .description("end the project's server")
    .option('--force', 'kill it where it does not end by itself')
    .option('--all', "end all of this user's servers")
    .action(async ({ force = false, all = false }: StopFlags, command: Command) => {
      const output = createOutput(command.optsWithGlobals())
      const holders = all
        ? await findAllServerProcesses()
        : [await getServerProcess(findProjectToStop(command))]
      await Promise.all(holders.map((holder) => stopServer(holder, force)))
      const stopped = holders.map(({ record }) => record.projectPath)
      output.result({ stopped: all ? stopped : stopped[0] }, () =>
        stopped.length === 0
          ? 'no server runs'
          : stopped.map((root) => `the server of ${root} has ended`).join('\n'),
      )
    })

  addStartOptions(program.command('restart'))
    .description("end the project's server and start it anew")
    .action(async (flags: StartFlags, command: Command) => {
      const root = projectOf(command)
      const running = await findServerProcess(root)
      if (running !== undefined) await stopServer(running, true)
      const { mode = running?.record.mode, watch = running?.record.watch } = flags
      const kept = { ...(mode !== undefined && { mode }), ...(watch !== undefined && { watch }) }
      const live = await startServer(root, { ...optionsOf(flags), ...kept })
      createOutput(command.optsWithGlobals()).result(viewOf(live), () => statusTable(live))
    })

  addProjectOption(program.command('status'))
    .description("show the project's server")
    .action(async (_flags: unknown, command: Command) => {
      const live = await getServer(projectOf(command))
      createOutput(command.optsWithGlobals()).result(viewOf(live), () => statusTable(live))
    })

  program
    .command('list')
    .description('list all running servers')
    .action(async (_flags: unknown, command: Command) => {
      const servers = await findAllServers()
      createOutput(command.optsWithGlobals()).result({ servers: servers.map(viewOf) }, () =>
        servers.length === 0
          ? 'no server runs; start one with: analyzer start'
          : formatTable(
              ['Project', 'Mode', 'Port', 'PID', 'Status'],
              servers.map(({ info }) => [
                info.projectPath,
                info.mode,
                String(info.port),
                String(info.pid),
                info.status,
              ]),
            ),
      )
    })

  program
    .command('version')
    .description("print the tool's version")
    .action((_flags: unknown, command: Command) => {
      const version = packageVersion()
      createOutput(command.optsWithGlobals()).result({ version }, () => version)
    })

  addProjectOption(program.command('serve', { hidden: true }))
    .description('run the server in the foreground; start runs it so')
    .option('--port <port>', 'port to listen on', portNumber)
    .addOption(new Option('--mode <mode>').choices(MODES))
    .option('--project-jvm <dir>', "JVM of the project's build")
    .option('--watch')
    .option('--no-watch')
    .action(async (flags: StartFlags, command: Command) => {
      const { serve } = await import('../serve.ts')
      await serve(projectOf(command), flags)
    })
}

export function addStartOptions(command: Command): Command {
  return addProjectOption(command)
    .addOption(new Option('--mode <mode>', 'how the class path is found').choices(MODES))
    .option('--project-jvm <dir>', "JVM of the project's build, whose classes it is built on")
    .option('--watch', 'read classes and jars again when a build has written them')
    .option('--no-watch', 'read them again only when asked to')
    .option('--timeout <seconds>', 'how long to wait until the server is ready', wholeNumber, 180)
    .option('--server-jar <file>', 'another build of the server')
}

export function optionsOf({ port, mode, projectJvm, timeout, serverJar, watch }: StartFlags) {
  return {
    timeoutMs: timeout * 1_000,
    ...(port !== undefined && { port }),
    ...(mode !== undefined && { mode }),
    ...(projectJvm !== undefined && { projectJvm }),
    ...(serverJar !== undefined && { serverJar }),
    ...(watch !== undefined && { watch }),
  }
}

function viewOf({ info }: LiveServer) {
  return info
}

function statusTable({ info }: LiveServer): string {
  return formatRecord([
    ['Project', info.projectName],
    ['Path', info.projectPath],
    ['Status', info.status],
    ['Mode', info.mode],
    ['Host', info.host],
    ['Port', String(info.port)],
    ['PID', String(info.pid)],
    ['Version', info.version],
    ...(info.confinement === undefined ? [] : [['Confinement', CONFINEMENTS[info.confinement]] as const]),
    ['Uptime', info.uptime],
    ['Idle', `${info.idleDuration} of ${info.idleTimeout}`],
    ...(info.watch === undefined ? [] : [['Watch', watchText(info.watch)] as const]),
  ])
}

const CONFINEMENTS = {
  files: 'archives are read without network, programs or other files',
  calls:
    'archives are read without network and programs; files are not restricted, which takes Linux 5.13 with Landlock',
  none: 'archives are read with all rights of this user: confinement needs Linux and the native build',
} as const

function watchText({ directories, refreshes, problem }: NonNullable<LiveServer['info']['watch']>): string {
  const said = `${counted(directories, 'directory', 'directories')}, ${counted(refreshes, 'refresh', 'refreshes')}`
  return problem === undefined ? said : `${said}; ${problem}`
}
