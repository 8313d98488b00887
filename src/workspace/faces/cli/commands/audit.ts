import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Command } from 'commander'
import { examples } from '../../../../lib/cli/examples.ts'
import { createOutput } from '../../../../lib/cli/output.ts'
import { messageOf } from '../../../../lib/errors/message.ts'
import { type ChainReport, verifyChain } from '../../../audit/chain.ts'
import { fault } from '../../../errors.ts'

const MAX_SHOWN = 10

/** Adds the command `audit verify`, which reads audit files on this machine. */
export function addAudit(program: Command): void {
  program
    .command('audit')
    .description('check audit logs')
    .command('verify')
    .description('check that no entry of an audit log was changed, removed or inserted')
    .argument('<file...>', 'audit files, the oldest first')
    .option('--head <hash>', 'the head that an earlier check printed, which must still be there')
    .addHelpText('after', examples('workspace audit verify audit.jsonl.1 audit.jsonl'))
    .action(async (files: readonly string[], { head }: { head?: string }, command: Command) => {
      const report = await verifyChain(
        files.map((name) => ({ name, lines: linesOf(name) })),
        head,
      )
      check(report)
      createOutput(command.optsWithGlobals()).result(wire(report), () => reportText(report))
    })
}

async function* linesOf(file: string): AsyncGenerator<string> {
  try {
    yield* createInterface({ input: createReadStream(file), crlfDelay: Infinity })
  } catch (error) {
    throw fault('INVALID_REQUEST', `audit file ${file} cannot be read: ${messageOf(error)}`, error)
  }
}

/** @throws AUDIT_LOG_DAMAGED */
function check({ damaged, hasHead }: ChainReport): void {
  if (damaged.length > 0) {
    const more = damaged.length > MAX_SHOWN ? ` and ${damaged.length - MAX_SHOWN} more places` : ''
    throw fault(
      'AUDIT_LOG_DAMAGED',
      `entries were changed, removed or inserted at ${damaged.slice(0, MAX_SHOWN).join(', ')}${more}`,
    )
  }
  if (hasHead === false)
    throw fault(
      'AUDIT_LOG_DAMAGED',
      'the log does not contain the head: entries were removed from its end, or a file is missing',
    )
}

function wire({ entries, unchained, incomplete, head, restarts, isContinued }: ChainReport) {
  return { entries, unchained, incomplete, continued: isContinued, restarts, head }
}

function reportText({ entries, unchained, incomplete, head, restarts, isContinued }: ChainReport): string {
  return [
    `${entries} entries, all linked; head ${head}`,
    ...(unchained > 0 ? [`${unchained} earlier entries from a version without links were not checked`] : []),
    ...(incomplete > 0 ? [`${incomplete} incomplete lines of interrupted writes`] : []),
    ...(isContinued ? ['the first entry continues earlier ones: check those files as well'] : []),
    ...restarts.map((where) => `${where} begins a new log: the server had started with an empty file`),
  ].join('\n')
}
