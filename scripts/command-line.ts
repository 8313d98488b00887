import type { Command } from 'commander'

/** Returns a command with its arguments as usage text: "workspace ssh <name> [command...]". */
export function commandLine(command: Command, path: string): string {
  const words = command.registeredArguments.map((each) => {
    const name = each.name() + (each.variadic ? '...' : '')
    return each.required ? `<${name}>` : `[${name}]`
  })
  return [path, ...words].join(' ')
}
