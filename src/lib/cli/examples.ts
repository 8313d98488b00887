/** Returns the help text of examples, each a complete command line, for commander's `addHelpText('after', …)`. */
export function examples(...lines: readonly string[]): string {
  const heading = lines.length === 1 ? 'Example:' : 'Examples:'
  return `\n${heading}\n${lines.map((line) => `  ${line}`).join('\n')}`
}
