import { readFile, realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { defineFaults } from '../../../../lib/errors/fault.ts'
import { ignoreMissing } from '../../../../lib/fs/ignore-missing.ts'
import { makeDirs } from '../../../../lib/fs/make-dirs.ts'
import { writeFileDurable } from '../../../../lib/fs/write-durable.ts'
import { isWorkspaceName } from '../../../name.ts'
import type { SshTarget } from '../ssh-client.ts'

const configFault = defineFaults({ SSH_CONFIG_DAMAGED: 'conflict' })

const BEGIN = '# >>> workspace ssh-config >>> this block is rewritten; put own settings outside it'
const END = '# <<< workspace ssh-config <<<'
const MARK = /^# (?:>>>|<<<) workspace ssh-config (?:>>>|<<<).*$/gm
const SUFFIX = '.workspace'

/** Returns the host name of a workspace's entry. */
export function sshAlias(workspace: string): string {
  return workspace + SUFFIX
}

/** Returns the path of the user's SSH configuration. */
export function sshConfigPath(): string {
  return join(homedir(), '.ssh', 'config')
}

/** Formats the entries of a server's workspaces. Names that the server should not have are left out. */
export function sshEntries(workspaces: readonly string[], { host, port, options }: SshTarget): string {
  const common = [['HostName', host], ['Port', String(port)], ...options] as const
  const entries = workspaces
    .filter(isWorkspaceName)
    .map((name) =>
      [
        `Host ${sshAlias(name)}`,
        ...[...common, ['User', name] as const].map(([key, value]) => `  ${key} ${quote(key, value)}`),
      ].join('\n'),
    )
  return entries.join('\n')
}

/** Quotes blanks; in paths, a percent sign would start a token of ssh. */
function quote(key: string, value: string): string {
  const text = key.endsWith('File') ? value.replaceAll('%', '%%') : value
  return /\s/.test(text) ? `"${text}"` : text
}

/**
 * Returns a configuration with the block replaced, or removed if `entries` is undefined; everything else keeps its bytes. The
 * block is at the beginning, because ssh uses the first value it finds, and ends with `Host *`, so that settings after it apply to
 * all hosts as before.
 *
 * @throws SSH_CONFIG_DAMAGED when the marks do not form one block
 */
export function withSshBlock(config: string, entries: string | undefined): string {
  const block =
    entries === undefined
      ? ''
      : `${[BEGIN, ...(entries === '' ? [] : [entries, 'Host *']), END].join('\n')}\n`
  const marks = [...config.matchAll(MARK)]
  if (marks.length === 0) return block + config
  const [begin, end] = marks
  const isBlock = marks.length === 2 && begin?.[0].startsWith('# >>>') && end?.[0].startsWith('# <<<')
  if (begin === undefined || end === undefined || isBlock !== true)
    throw configFault(
      'SSH_CONFIG_DAMAGED',
      `the marks of the workspace block do not form one block; remove every line that starts with "# >>> workspace ssh-config" or "# <<< workspace ssh-config", and the entries between them`,
    )
  const after = end.index + end[0].length
  return config.slice(0, begin.index) + block + config.slice(config[after] === '\n' ? after + 1 : after)
}

/**
 * Rewrites the block in a file, atomically and readable only by its owner. A link, as of a dotfiles manager, is kept.
 *
 * @throws SSH_CONFIG_DAMAGED like `withSshBlock`
 */
export async function updateSshConfig(path: string, entries: string | undefined): Promise<boolean> {
  const file = await realpath(path).catch(ignoreMissing)
  // Each byte becomes one character, so that text in any encoding is kept.
  const before = file === undefined ? '' : await readFile(file, 'latin1')
  const after = withSshBlock(
    before,
    entries === undefined ? undefined : Buffer.from(entries).toString('latin1'),
  )
  if (after === before) return false
  makeDirs(dirname(file ?? path), 0o700)
  await writeFileDurable(file ?? path, Buffer.from(after, 'latin1'), { mode: 0o600 })
  return true
}
