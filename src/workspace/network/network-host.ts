import { messageOf } from '../../lib/errors/message.ts'
import { findProgram } from '../../lib/process/find-program.ts'
import { run } from '../../lib/process/run.ts'
import { RuleWatch } from './rule-watch.ts'

const TIMEOUT_MS = 10_000

/** Programs that change a host's network, by the packages that install them. */
const PACKAGES = { nft: 'nftables', ip: 'iproute2' } as const
/** A program that changes a host's network. */
export type NetworkProgram = keyof typeof PACKAGES

/** The host that forwards the guests' packets. */
export interface NetworkHost {
  /** Whether it is this machine. */
  readonly isLocal: boolean
  /** Calls a listener soon after a table was changed, until the returned function is called; absent where nothing reports it. */
  readonly onRulesChanged?: (table: string, listener: () => void) => () => void
  /**
   * Runs a program there with this standard input, and returns what it printed. Rejects with the program's error message.
   */
  readonly run: (program: NetworkProgram, argv: readonly string[], input?: string) => Promise<string>
}

const rules = new RuleWatch()

/** This machine, whose network only root can change. Source: nft(8), ip(8). */
export const thisHost: NetworkHost = {
  isLocal: true,
  onRulesChanged: (table, listener) => rules.watch(table, listener),
  async run(name, argv, input = '') {
    // Their directory is only in root's PATH.
    const program = (await findProgram(name)) ?? (await findProgram(`/usr/sbin/${name}`))
    if (program === undefined) throw new Error(notInstalled(name))
    const { status, stdout, stderr } = await run(program, argv, {
      timeoutMs: TIMEOUT_MS,
      killSignal: 'SIGKILL',
      input,
    })
    if (status !== 0) throw new Error(`${name}: ${stderr.trim().split('\n')[0] ?? 'unknown error'}`)
    return stdout
  },
}

/** Returns the message about a program that is missing, with its package. */
export function notInstalled(name: NetworkProgram): string {
  return `${name} is not installed (Debian, Ubuntu, Fedora: package ${PACKAGES[name]})`
}

/** Returns why rules cannot be applied here, as a sentence with a remedy; undefined when they can. */
export async function firewallMissing(host: NetworkHost = thisHost): Promise<string | undefined> {
  try {
    await host.run('nft', ['list', 'tables'])
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}
