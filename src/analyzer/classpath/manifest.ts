/** Whether a manifest's main section says `Multi-Release: true`; only then META-INF/versions counts. */
export function isMultiRelease(manifest: string): boolean {
  return mainAttribute(manifest, 'multi-release')?.toLowerCase() === 'true'
}

/** A main attribute by its name in lower case. Long lines are continued after a line break and a space. */
function mainAttribute(manifest: string, wanted: string): string | undefined {
  const unfolded = manifest.replaceAll(/\r\n|\r/g, '\n').replaceAll('\n ', '')
  const [main = ''] = unfolded.split('\n\n')
  for (const line of main.split('\n')) {
    const colon = line.indexOf(':')
    if (line.slice(0, colon).toLowerCase() === wanted) return line.slice(colon + 1).trim()
  }
  return undefined
}
