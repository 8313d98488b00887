/** Scales the number of rounds: few in normal runs, all in `npm run test:races`. */
export function rounds(few: number, all: number): number {
  return process.env['RACES'] === 'all' ? all : few
}
