/** How often, or of how much: a little in every run, all that is asked for in `npm run test:races`. */
export function rounds(few: number, all: number): number {
  return process.env['RACES'] === 'all' ? all : few
}
