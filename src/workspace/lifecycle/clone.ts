import type { Backend } from '../backend/backend.ts'
import { hangUpOnAbort, followProgram } from '../backend/follow-program.ts'
import { DEV_CONTAINER_FILES } from '../devcontainer/dev-container.ts'
import { fault } from '../errors.ts'
import { WORKSPACE_DIR } from '../workspace.ts'
import type { Repo } from './repo.ts'

const TIMEOUT_MS = 30 * 60_000
const HAS_DEV_CONTAINER = 'it has a devcontainer.json'
/**
 * Checks for a devcontainer.json in the same program, because each start inside costs the engine some 30 ms.
 */
const CLONE_AND_LOOK = `
"$@" || exit
for file in ${DEV_CONTAINER_FILES.join(' ')}; do
  if [ -e "${WORKSPACE_DIR}/$file" ]; then echo '${HAS_DEV_CONTAINER}'; break; fi
done`

/**
 * Clones a repository inside a workspace as the workspace's user, so that nothing the repository makes git do
 * reaches the host (threat W3). Returns whether it contains a devcontainer.json.
 *
 * @throws CLONE_FAILED with git's last lines of output
 */
export async function cloneInside(
  backend: Backend,
  name: string,
  repo: Repo,
  progress: (message: string) => void,
  signal: AbortSignal,
): Promise<boolean> {
  const git = await backend.exec(name, {
    argv: ['/bin/sh', '-c', CLONE_AND_LOOK, 'sh', ...cloneCommand(repo, WORKSPACE_DIR)],
    environment: gitEnvironment(repo),
    stdin: false,
  })
  const giveUp = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
  const forget = hangUpOnAbort(giveUp, git)
  try {
    const lastLines = await followProgram(git, progress)
    const { status } = await git.exitStatus
    if (status === 0) return lastLines.includes(HAS_DEV_CONTAINER)
    throw fault('CLONE_FAILED', cloneMessage(repo, status, lastLines))
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (giveUp.aborted) throw fault('CLONE_FAILED', `cloning ${repo.url} took longer than 30 minutes`, error)
    throw error
  } finally {
    forget()
  }
}

/**
 * Returns whether a workspace's directory contains anything, as one adopted from an earlier workspace does.
 */
export async function hasFiles(backend: Backend, name: string): Promise<boolean> {
  const ls = await backend.exec(name, { argv: ['ls', '-A', WORKSPACE_DIR], stdin: false })
  const lines = await followProgram(ls, () => undefined)
  return (await ls.exitStatus).status === 0 && lines.length > 0
}

/** Returns the command that clones; run it with `gitEnvironment`. */
export function cloneCommand(repo: Repo, directory: string): readonly string[] {
  const settings = ['-c', 'protocol.file.allow=never', '-c', 'credential.helper=']
  return ['git', ...settings, 'clone', '--progress', '--no-recurse-submodules', '--', repo.url, directory]
}

/** Returns the environment that restricts git to safe protocols and passes the credentials. */
export function gitEnvironment(repo: Repo): Record<string, string> {
  const environment: Record<string, string> = {
    GIT_ALLOW_PROTOCOL: 'https:http:ssh:git',
    GIT_TERMINAL_PROMPT: '0',
    GIT_SSH_COMMAND: 'ssh -o BatchMode=yes -o StrictHostKeyChecking=accept-new',
    LC_ALL: 'C.UTF-8',
  }
  if (repo.credentials === undefined) return environment
  // An argument would be visible in the process list, and a URL would be stored in .git/config.
  const basic = Buffer.from(repo.credentials).toString('base64')
  return {
    ...environment,
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: `http.${new URL(repo.url).origin}/.extraHeader`,
    GIT_CONFIG_VALUE_0: `Authorization: Basic ${basic}`,
  }
}

function cloneMessage(repo: Repo, status: number, lastLines: readonly string[]): string {
  if (status === 126 || status === 127) {
    return `cloning ${repo.url} failed: the image does not contain git; use one that does, such as the default image`
  }
  const words = lastLines.filter((line) => /^(fatal|error|remote|ssh):/i.test(line)).join('; ')
  return `cloning ${repo.url} failed: ${words === '' ? `git exited with status ${status}` : words}`
}
