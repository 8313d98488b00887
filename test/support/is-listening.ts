import { readFileSync } from 'node:fs'

/**
 * Whether a Unix socket listens, from the kernel's table: its file exists before that, and connecting would
 * already use it. Source: Linux, include/linux/net.h, __SO_ACCEPTCON.
 */
export function isListening(path: string): boolean {
  const lines = readFileSync('/proc/net/unix', 'utf8').split('\n')
  return lines.some((line) => line.endsWith(` ${path}`) && line.split(' ')[3] === '00010000')
}
