import { packageVersion } from '../../../lib/process/package.ts'

/** A rule in a report. */
interface SarifRule {
  readonly id: string
  readonly [property: string]: unknown
}

/** SARIF 2.1.0: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html */
export function sarifLog(rules: readonly SarifRule[], results: readonly object[]): string {
  const log = {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'analyzer',
            version: packageVersion(),
            rules: rules.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
          },
        },
        columnKind: 'utf16CodeUnits',
        originalUriBaseIds: { PROJECT: { description: { text: 'project root' } } },
        results,
      },
    ],
  }
  return `${JSON.stringify(log, null, 2)}\n`
}

/** Returns the location of a file in the project. */
export function sarifFile(path: string) {
  return { uri: encodeURI(path), uriBaseId: 'PROJECT' }
}
