import type { Terminal } from '@xterm/xterm'

const COLOURS = {
  background: '--terminal-background',
  foreground: '--terminal-text',
  cursor: '--accent',
  selectionBackground: '--terminal-selection',
} as const

/** Gives a terminal the page's colours, light or dark as they are; returns what ends it. */
export function followTheme(terminal: Terminal): () => void {
  const dark = matchMedia('(prefers-color-scheme: dark)')
  const apply = (): void => {
    const style = getComputedStyle(document.documentElement)
    const entries = Object.entries(COLOURS).map(([name, property]) => [
      name,
      style.getPropertyValue(property).trim(),
    ])
    // Programs choose colours for dark grounds; here they are made to stand out from whichever it is.
    terminal.options = { theme: Object.fromEntries(entries), minimumContrastRatio: dark.matches ? 1 : 4.5 }
  }
  apply()
  dark.addEventListener('change', apply)
  return () => dark.removeEventListener('change', apply)
}
