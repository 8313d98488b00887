// Writes the manual pages of the four programs, from their commands and configuration schemas: node scripts/man.ts
// FOLDER
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command, Option } from 'commander'
import { analyzerSchema } from '../src/analyzer/config.ts'
import { createAnalyzerProgram } from '../src/analyzer/faces/cli/main.ts'
import { contentSchema } from '../src/content/config-schema.ts'
import { createContentProgram } from '../src/content/faces/cli/main.ts'
import type { SchemaNode } from '../src/lib/config/check.ts'
import { environmentKeys } from '../src/lib/config/environment.ts'
import { packageVersion } from '../src/lib/process/package.ts'
import { supervisorSchema } from '../src/supervisor/config-schema.ts'
import { createSupervisorProgram } from '../src/supervisor/faces/cli/main.ts'
import { workspaceSchema } from '../src/workspace/config.ts'
import { createWorkspaceProgram } from '../src/workspace/faces/cli/main.ts'
import { commandLine } from './command-line.ts'

const PROGRAMS = [
  { program: createWorkspaceProgram(), prefix: 'WORKSPACE', schema: workspaceSchema },
  { program: createSupervisorProgram(), prefix: 'SUPERVISOR', schema: supervisorSchema },
  { program: createContentProgram(), prefix: 'CONTENT', schema: contentSchema },
  { program: createAnalyzerProgram(), prefix: 'ANALYZER', schema: analyzerSchema },
]

/** Escapes a text for roff, so that it contains no requests or escapes. Source: groff(7). */
function plain(text: string): string {
  const escaped = text.replaceAll('\\', '\\e').replaceAll('-', '\\-')
  return escaped.replace(/^([.'])/gm, '\\&$1').replaceAll(/\s*\n\s*/g, '\n')
}

const bold = (text: string): string => `\\fB${plain(text)}\\fR`

function optionLines(options: readonly Option[]): readonly string[] {
  return options.flatMap(({ flags, description }) => ['.TP', bold(flags), plain(description)])
}

/** Returns a command and its subcommands. Options common to all commands are listed once, for the program. */
function commandLines(command: Command, path: string, everywhere: ReadonlySet<string>): readonly string[] {
  const own = command.options.filter(({ flags }) => !everywhere.has(flags))
  return [
    '.SS',
    plain(commandLine(command, path)),
    plain(command.description()),
    ...optionLines(own),
    ...command.commands.flatMap((child) => commandLines(child, `${path} ${child.name()}`, everywhere)),
  ]
}

function settingLines(prefix: string, schema: SchemaNode): readonly string[] {
  return environmentKeys(prefix, schema).flatMap(({ path, variable, node }) => {
    const isGiven = node.default !== undefined && node.default !== ''
    const text = isGiven ? ` Default: ${JSON.stringify(node.default)}.` : ''
    const description = (node.description ?? '').replace(/\.?$/, '.')
    return ['.TP', `${bold(path.join('.'))}, ${bold(variable)}`, plain(`${description}${text}`)]
  })
}

function manualPage({ program, prefix, schema }: (typeof PROGRAMS)[number]): string {
  const name = program.name()
  const everywhere = new Set(program.options.map(({ flags }) => flags))
  return [
    `.TH ${name.toUpperCase()} 1 "" "workspace\\-suite ${packageVersion()}"`,
    '.SH NAME',
    `${plain(name)} \\- ${plain(program.description().replace(/\.$/, ''))}`,
    '.SH SYNOPSIS',
    `${bold(name)} [options] command [arguments]`,
    '.SH OPTIONS',
    'Every command accepts these options.',
    ...optionLines(program.options),
    '.SH COMMANDS',
    ...program.commands.flatMap((child) => commandLines(child, `${name} ${child.name()}`, everywhere)),
    '.SH CONFIGURATION',
    'Each setting has a key in the configuration file and an environment variable, which takes precedence.',
    ...settingLines(prefix, schema),
    '.SH SEE ALSO',
    `${bold(`${name} help`)} \\fIcommand\\fR; the reference in the package, docs/${plain(name)}.md.`,
    '',
  ].join('\n')
}

const [folder = 'build/man'] = process.argv.slice(2)
mkdirSync(folder, { recursive: true })
for (const each of PROGRAMS) writeFileSync(join(folder, `${each.program.name()}.1`), manualPage(each))
