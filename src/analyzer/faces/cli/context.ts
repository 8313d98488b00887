import { resolve } from 'node:path'
import type { Command } from 'commander'
import { createOutput, type Output } from '../../../lib/cli/output.ts'
import { findRecordedProject } from '../../lifecycle/server-record.ts'
import { findProjectRoot } from '../../project/find-root.ts'
import { sendRequest, getServer } from './server-client.ts'

/** Services of a command that queries a project's server. */
export interface CliContext {
  readonly output: Output
  /** Sends a GET request. Query parameters that are undefined or false are omitted. */
  readonly get: <T>(path: string, parameters?: Parameters, timeoutMs?: number) => Promise<T>
  /** Sends a POST request with a JSON body. */
  readonly post: <T>(path: string, body?: object, timeoutMs?: number) => Promise<T>
}

type Parameters = Readonly<Record<string, string | number | boolean | undefined>>

/** Adds the `--project` option. */
export function addProjectOption(command: Command): Command {
  return command.option('-p, --project <dir>', 'directory in the project; default: the current one')
}

/** Returns the root of the project. @throws PROJECT_NOT_FOUND */
export function projectOf(command: Command): string {
  const { project = '.' }: { project?: string } = command.optsWithGlobals()
  return findProjectRoot(project)
}

/**
 * Returns the root of the project like `projectOf`, or of a deleted folder that a server still runs for.
 * @throws PROJECT_NOT_FOUND
 */
export function findProjectToStop(command: Command): string {
  const { project = '.' }: { project?: string } = command.optsWithGlobals()
  try {
    return findProjectRoot(project)
  } catch (error) {
    const recorded = findRecordedProject(resolve(project))
    if (recorded === undefined) throw error
    return recorded
  }
}

/** Connects to the server of the command's project. @throws PROJECT_NOT_FOUND and SERVER_NOT_RUNNING */
export async function contextOf(command: Command): Promise<CliContext> {
  const { record } = await getServer(projectOf(command))
  return {
    output: createOutput(command.optsWithGlobals()),
    get: (path, parameters = {}, timeoutMs) => sendRequest(record, path + queryOf(parameters), { timeoutMs }),
    post: (path, body, timeoutMs) => sendRequest(record, path, { method: 'POST', body, timeoutMs }),
  }
}

function queryOf(parameters: Parameters): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== false)
  const query = new URLSearchParams(
    given.map(([key, value]): [string, string] => [key, String(value)]),
  ).toString()
  return query === '' ? '' : `?${query}`
}

/** Returns the path of a route about one class. */
export function pathOf(route: string, name: string): string {
  return `/api/v1/${route}/${encodeURIComponent(name)}`
}

/** Adds the `--include-libraries` option. */
export function addLibrariesOption(command: Command): Command {
  return command.option('-L, --include-libraries', 'include classes of libraries and the JDK')
}

/** Returns a line with the position of a page in a list. */
export function pageLine(page: { page: number; totalPages: number; totalCount: number }): string {
  if (page.totalPages <= 1) return `${page.totalCount} in all`
  return `page ${page.page} of 0 to ${page.totalPages - 1}, ${page.totalCount} in all`
}
