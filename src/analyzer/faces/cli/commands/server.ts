import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { MODES } from '../../../choices.ts'
import type { Command } from 'commander'
import { Option } from 'commander'
import { unprivilegedPort, wholeNumber } from '../../../../lib/cli/arguments.ts'
import { counted } from '../../../../lib/cli/counted.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { createOutput } from '../../../../lib/cli/output.ts'
import { formatRecord, formatTable, printable } from '../../../../lib/cli/table.ts'
import { packageVersion } from '../../../../lib/process/package.ts'
import { fault } from '../../../errors.ts'
import { getJvmHome } from '../../../project/find-jvm.ts'
import { addProjectOption, projectOf, findProjectToStop } from '../context.ts'
import {
  findAllServerProcesses,
  findAllServers,
  findServerProcess,
  getServerProcess,
  getServer,
  type LiveServer,
  sendRequest,
} from '../server-client.ts'
import { startServer } from '../start-server.ts'
import { stopServer } from '../stop-server.ts'

interface StopFlags {
  readonly force?: boolean
  readonly all?: boolean
}

/** Flags of the commands that start a server. */
export interface StartFlags {
  readonly port?: number
  readonly mode?: string
  readonly projectJvm?: string
  readonly classes?: readonly string[]
  readonly timeout: number
  readonly serverJar?: string
  readonly watch?: boolean
}

/** Adds the commands start, stop, restart, status, list, version and serve. */
export function addServer(program: Command): void {
  addStartOptions(program.command('start'))
    .description("start the project's server and wait until the project is scanned")
    .addHelpText('after', examples('analyzer start -p ~/src/shop --watch'))
    .option('--port <port>', 'port to listen on; default a free one', unprivilegedPort)
    .action(async (flags: StartFlags, command: Command) => {
      const live = await startServer(projectOf(command), optionsOf(flags))
      printServer(command, live)
      await printProblem(live)
    })

  addProjectOption(program.command('stop'))
    .description("stop the project's server")
    .addHelpText('after', examples('analyzer stop --all'))
    .option('--force', 'kill the server if it does not stop')
    .option('--all', "stop all of this user's servers")
    .action(async ({ force = false, all = false }: StopFlags, command: Command) => {
      const output = createOutput(command.optsWithGlobals())
      const holders = all
        ? await findAllServerProcesses()
        : [await getServerProcess(findProjectToStop(command))]
      await Promise.all(holders.map((holder) => stopServer(holder, force)))
      const stopped = holders.map(({ record }) => record.projectPath)
      output.result({ stopped: all ? stopped : stopped[0] }, () =>
        stopped.length === 0
          ? 'no server is running'
          : stopped.map((root) => `the server of ${root} stopped`).join('\n'),
      )
    })

  addStartOptions(program.command('restart'))
    .description("restart the project's server")
    .addHelpText('after', examples('analyzer restart --mode jar'))
    .action(async (flags: StartFlags, command: Command) => {
      const root = projectOf(command)
      const options = optionsOf(flags)
      const running = await findServerProcess(root)
      if (running !== undefined) await stopServer(running, true)
      const { mode, watch, classes } = { ...running?.record }
      const kept = {
        ...(mode !== undefined && { mode }),
        ...(watch !== undefined && { watch }),
        ...(classes !== undefined && { classes }),
      }
      const live = await startServer(root, { ...kept, ...options })
      printServer(command, live)
      await printProblem(live)
    })

  addProjectOption(program.command('status'))
    .description("show the project's server")
    .addHelpText('after', examples('analyzer status'))
    .action(async (_flags: unknown, command: Command) => {
      const live = await getServer(projectOf(command))
      printServer(command, live)
    })

  program
    .command('list')
    .description('list all running servers')
    .addHelpText('after', examples('analyzer list'))
    .action(async (_flags: unknown, command: Command) => {
      const servers = await findAllServers()
      createOutput(command.optsWithGlobals()).result({ servers: servers.map(viewOf) }, () =>
        servers.length === 0
          ? 'no server is running; start one with: analyzer start'
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
    .description('print the version')
    .addHelpText('after', examples('analyzer version'))
    .action((_flags: unknown, command: Command) => {
      const version = packageVersion()
      createOutput(command.optsWithGlobals()).result({ version }, () => version)
    })

  addProjectOption(program.command('serve', { hidden: true }))
    .description('run the server in the foreground; used by start')
    .addHelpText('after', examples('analyzer serve --mode jar'))
    .option('--port <port>', 'port to listen on', unprivilegedPort)
    .addOption(new Option('--mode <mode>').choices(MODES))
    .option('--project-jvm <dir>', 'JVM the project is built against')
    .option('--classes <dir...>')
    .option('--watch')
    .option('--no-watch')
    .action(async (flags: StartFlags, command: Command) => {
      const { serve } = await import('../serve.ts')
      await serve(projectOf(command), flags)
    })
}

/** Adds the options for starting a server. */
export function addStartOptions(command: Command): Command {
  return addProjectOption(command)
    .addOption(new Option('--mode <mode>', 'how the class path is resolved').choices(MODES))
    .option('--project-jvm <dir>', 'JVM the project is built against')
    .option('--classes <dir...>', 'folders and archives with the classes of the project, instead of a search')
    .option('--watch', 'rescan classes and jars when a build writes them')
    .option('--no-watch', 'rescan only on request')
    .option('--timeout <seconds>', 'how long to wait until the server is ready', wholeNumber, 180)
    .option('--server-jar <file>', 'another build of the server')
}

/**
 * Converts the flags for starting a server to options, with absolute paths.
 *
 * @throws BAD_REQUEST for a path that does not exist or is of another kind
 */
export function optionsOf({ port, mode, projectJvm, classes, timeout, serverJar, watch }: StartFlags) {
  return {
    timeoutMs: timeout * 1_000,
    ...(port !== undefined && { port }),
    ...(mode !== undefined && { mode }),
    ...(projectJvm !== undefined && { projectJvm: getJvmHome(projectJvm, '--project-jvm') }),
    ...(classes !== undefined && { classes: classes.map((path) => existing(path, '--classes')) }),
    ...(serverJar !== undefined && { serverJar: existingFile(serverJar, '--server-jar') }),
    ...(watch !== undefined && { watch }),
  }
}

function existing(path: string, option: string): string {
  if (!existsSync(path)) throw fault('BAD_REQUEST', `${option}: "${path}" does not exist`)
  return resolve(path)
}

function existingFile(path: string, option: string): string {
  const file = existing(path, option)
  if (!statSync(file).isFile()) throw fault('BAD_REQUEST', `${option}: "${path}" is not a file`)
  return file
}

function printServer(command: Command, live: LiveServer): void {
  createOutput(command.optsWithGlobals()).result(viewOf(live), () => statusTable(live))
}

/** Prints why the project has no classes, if so. */
async function printProblem({ record }: LiveServer): Promise<void> {
  const { problem } = await sendRequest<{ readonly problem?: string }>(record, '/api/v1/project')
  if (problem !== undefined) process.stderr.write(`analyzer: ${printable(problem)}\n`)
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
  files: 'archives are read without access to the network, programs or other files',
  calls:
    'archives are read without access to the network and programs; file access is unrestricted because that needs Linux 5.13 with Landlock',
  none: 'archives are read with all permissions of this user: confinement needs Linux and the native build',
} as const

function watchText({ directories, refreshes, problem }: NonNullable<LiveServer['info']['watch']>): string {
  const summary = `${counted(directories, 'directory', 'directories')}, ${counted(refreshes, 'refresh', 'refreshes')}`
  return problem === undefined ? summary : `${summary}; ${problem}`
}
