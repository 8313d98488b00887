import { expect, onTestFinished, test } from 'vitest'
import { projectOf, startAnalyzer } from '../../support/analyzer/analyzer-server.ts'
import { lineIn } from '../../support/analyzer/fixture-line.ts'

test('A6 a switch refers to the types of its patterns, which only its bootstrap method names', async () => {
  const analyzer = await startAnalyzer(projectOf('switches', ['--enable-preview', '--release', '17']))
  onTestFinished(() => analyzer.stop())
  const line = lineIn('switches/switches/Switches.java', 'switch (figure)')
  for (const type of ['Disc', 'Box']) {
    const { references } = await analyzer.get(`/xref/${encodeURIComponent(`switches.Switches$${type}`)}`)
    const found = references.map(({ fromFqn, member, kind, lineNumber }: any) =>
      [fromFqn, member, kind, lineNumber].join(' '),
    )
    expect(found).toContain(`switches.Switches types INSTANCEOF ${line}`)
  }
})
