import type { Terminal } from '@xterm/xterm'

const COLORS = {
  background: '--terminal-background',
  foreground: '--terminal-text',
  cursor: '--accent',
  selectionBackground: '--terminal-selection',
} as const

/** Applies the page's light or dark colors to a terminal; returns a function that stops following them. */
export function followTheme(terminal: Terminal): () => void {
  const dark = matchMedia('(prefers-color-scheme: dark)')
  const apply = (): void => {
    const style = getComputedStyle(document.documentElement)
    const entries = Object.entries(COLORS).map(([name, property]) => [
      name,
      style.getPropertyValue(property).trim(),
    ])
    // Programs choose colors for dark backgrounds; a minimum contrast keeps them readable on light ones.
    terminal.options = { theme: Object.fromEntries(entries), minimumContrastRatio: dark.matches ? 1 : 4.5 }
  }
  apply()
  dark.addEventListener('change', apply)
  return () => dark.removeEventListener('change', apply)
}
