import { InvalidArgumentError } from 'commander'
import { parseDuration } from '../config/duration.ts'

/** Parses an option's value as a whole number. */
export function wholeNumber(text: string): number {
  if (/^\d+$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number.')
}

/** Parses an option's value as a port; 0 selects a free one. */
export function portNumber(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text)
  throw new InvalidArgumentError('It must be a port, 0 to 65535.')
}

/** Collects the values of a repeatable option. */
export function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text]
}

/** Parses a duration of at least a second, as an argument, to seconds. @throws InvalidArgumentError */
export function durationSeconds(text: string): number {
  const ms = parseDuration(text)
  if (ms !== undefined && ms >= 1_000) return Math.floor(ms / 1_000)
  throw new InvalidArgumentError('It must be a duration such as 30m, 12h or 30d.')
}
