/** Of what happens at random moments: a few rounds in every run, all that are asked for in `npm run test:races`. */
export function rounds(few: number, all: number): number {
  return process.env['RACES'] === 'all' ? all : few
}
