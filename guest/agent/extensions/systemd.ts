import { existsSync } from 'node:fs'
import { run } from '../run.ts'
import type { Services } from './extensions.ts'

/** Our names of systemctl's states; other states keep theirs. */
const STATES: Readonly<Record<string, string>> = { active: 'running', inactive: 'stopped' }

/** The machine's services for extensions. Source: systemctl(1). */
export const systemdServices: Services = {
  async start(unit) {
    // Until the machine stops, so that a disabled extension does not start again.
    const enabled = await run('systemctl', ['enable', '--quiet', '--runtime', '--', unit])
    if (enabled.status !== 0) console.error(`workspace-agent: ${unit}: ${enabled.said}`)
    // Not awaited: during boot the start waits for other units.
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
