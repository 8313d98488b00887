import { type Command, Option } from 'commander'
import type { Static } from 'typebox'
import { durationSeconds, portNumber } from '../../../../lib/cli/arguments.ts'
import { counted } from '../../../../lib/cli/counted.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { defineFaults } from '../../../../lib/errors/fault.ts'
import { findProgram } from '../../../../lib/process/find-program.ts'
import type { ticketSchema } from '../../../api/ticket.ts'
import type { WireWorkspace } from '../../../api/workspace.ts'
import { socketPathOf } from '../../../client/server-address.ts'
import { addServerOption, type CliContext, contextOf } from '../context.ts'
import { type Editor, EDITORS, type EditorTarget } from '../../../editors.ts'
import { sshAlias, sshConfigPath, sshEntries, updateSshConfig, withSshBlock } from '../desktop/ssh-config.ts'
import { startDetached, urlOpener } from '../desktop/start-program.ts'
import { findSshTarget, type SshTarget } from '../ssh-client.ts'

interface CodeOptions {
  readonly editor: keyof typeof EDITORS
  readonly print?: boolean
}

const desktopFault = defineFaults({ SERVER_HAS_NO_PORT: 'unsupported' })

/** Adds the commands `open`, `ssh-config` and `code`, which connect this machine's programs to workspaces. */
export function addDesktop(program: Command): void {
  addOpen(program)
  addSshConfig(program)
  addCode(program)
}

function addOpen(program: Command): void {
  addServerOption(program.command('open'))
    .description('open a port of a workspace in the browser')
    .argument('<name>', 'workspace')
    .argument('<port>', 'port inside', portNumber)
    .option('--print', 'only print the URL')
    .option('--valid-for <duration>', 'print a URL for others, valid for this long', durationSeconds)
    .addHelpText('after', examples('workspace open demo 3000', 'workspace open demo 3000 --valid-for 2h'))
    .action(async (name: string, port: number, options: OpenOptions, command: Command) => {
      const { client, server, output } = await contextOf(command)
      if (socketPathOf(server) !== undefined)
        throw desktopFault(
          'SERVER_HAS_NO_PORT',
          `browsers cannot reach a server on a Unix socket; use: workspace connect ${name} ${port} --local ${port}`,
        )
      // With a token, the URL contains a single-use ticket.
      const { url = '' } = await client.post<Static<typeof ticketSchema>>(
        `/api/workspaces/${encodeURIComponent(name)}/passes`,
        { for: 'port', port, valid_s: options.validFor },
      )
      const isPrinted = options.print === true || options.validFor !== undefined
      const opener = isPrinted ? undefined : urlOpener(process.env)
      const isOpened = opener !== undefined && /^https?:/.test(url) && (await startDetached(opener, [url]))
      output.result({ url, opened: isOpened }, () => url)
    })
}

interface OpenOptions {
  readonly print?: boolean
  /** In seconds. */
  readonly validFor?: number
}

function addSshConfig(program: Command): void {
  addServerOption(program.command('ssh-config'))
    .description(`maintain a block in ~/.ssh/config with a host NAME.workspace for each workspace`)
    .option('--print', 'print the block instead of writing it')
    .addOption(new Option('--remove', 'remove the block').conflicts('print'))
    .option('--file <path>', 'file to maintain instead of ~/.ssh/config')
    .addHelpText('after', examples('workspace ssh-config', 'workspace ssh-config --remove'))
    .action(async (options: { print?: boolean; remove?: boolean; file?: string }, command: Command) => {
      const path = options.file ?? sshConfigPath()
      const context = await contextOf(command)
      if (options.remove === true) {
        const isChanged = await updateSshConfig(path, undefined)
        return context.output.result({ file: path, changed: isChanged }, () =>
          isChanged ? `removed the block from ${path}` : `${path} has no block`,
        )
      }
      const { names, entries } = await readEntries(context)
      const hosts = names.map(sshAlias)
      if (options.print === true) {
        const block = withSshBlock('', entries)
        return context.output.result({ hosts, block }, () => block.trimEnd())
      }
      const isChanged = await updateSshConfig(path, entries)
      context.output.result({ file: path, changed: isChanged, hosts }, () =>
        isChanged ? `${path} has ${counted(names.length, 'workspace')}` : `${path} is up to date`,
      )
    })
}

async function readEntries(
  context: CliContext,
): Promise<{ readonly names: readonly string[]; readonly entries: string; readonly target: SshTarget }> {
  const [{ workspaces }, target] = await Promise.all([
    context.client.get<{ workspaces: WireWorkspace[] }>('/api/workspaces'),
    findSshTarget(context),
  ])
  const names = workspaces.map(({ name }) => name)
  return { names, entries: sshEntries(names, target), target }
}

function addCode(program: Command): void {
  addServerOption(program.command('code'))
    .description('open a workspace in an editor over SSH')
    .argument('<name>', 'workspace')
    .addOption(
      new Option('--editor <editor>', 'editor to use').choices(Object.keys(EDITORS)).default('vscode'),
    )
    .option('--print', 'only print the URL, without changing ~/.ssh/config')
    .addHelpText('after', examples('workspace code demo', 'workspace code demo --editor zed'))
    .action(async (name: string, options: CodeOptions, command: Command) => {
      const editor: Editor = EDITORS[options.editor]
      const context = await contextOf(command)
      // Reports a wrong name before anything is written.
      const workspace = await context.client.get<WireWorkspace>(`/api/workspaces/${encodeURIComponent(name)}`)
      const { entries, target } = await readEntries(context)
      const { name: own } = workspace
      const forEditor = { alias: sshAlias(own), host: target.host, port: target.port, name: own }
      const url = editor.url(forEditor)
      let started: string | undefined
      if (options.print !== true) {
        await updateSshConfig(sshConfigPath(), entries)
        started = await startEditor(editor, forEditor)
      }
      context.output.result({ url, editor: options.editor, started: started ?? null }, () =>
        started === undefined ? url : `starting ${editor.title}: ${url}`,
      )
    })
}

/** Starts an editor, or opens its URL on a desktop; returns the program, or undefined if there is none. */
async function startEditor(editor: Editor, target: EditorTarget): Promise<string | undefined> {
  const [program, ...argv] = editor.command?.(target) ?? []
  const found = program === undefined ? undefined : await findProgram(program)
  if (found !== undefined) return (await startDetached(found, argv)) ? program : undefined
  const opener = urlOpener(process.env)
  if (opener === undefined) return undefined
  return (await startDetached(opener, [editor.url(target)])) ? opener : undefined
}
