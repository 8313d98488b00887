import { existsSync } from 'node:fs'
import { run } from '../run.ts'
import type { Services } from './extensions.ts'

/** What systemctl's words are in ours; the others are theirs. */
const STATES: Readonly<Record<string, string>> = { active: 'running', inactive: 'stopped' }

/** The machine's services, as far as extensions need them. Sources: systemctl(1). */
export const systemdServices: Services = {
  async start(unit) {
    // Until the machine's end: what is no longer enabled then does not come back with it.
    const enabled = await run('systemctl', ['enable', '--quiet', '--runtime', '--', unit])
    if (enabled.status !== 0) console.error(`workspace-agent: ${unit}: ${enabled.said}`)
    // Not waited for: during boot it waits for others itself.
    const started = await run('systemctl', ['start', '--no-block', '--', unit])
    if (started.status !== 0) console.error(`workspace-agent: ${unit}: ${started.said}`)
  },

  async states(units) {
    if (!existsSync('/run/systemd/system')) return units.map(() => 'unsupported')
    const { said } = await run('systemctl', ['is-active', '--', ...units])
    const lines = said.split('\n')
    return units.map((_, index) => {
      const word = lines[index]?.trim() ?? ''
      return STATES[word] ?? (/^[a-z]{1,20}$/.test(word) ? word : 'unknown')
    })
  },
}
