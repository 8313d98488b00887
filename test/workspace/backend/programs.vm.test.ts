// The common suite, on machines.
import './programs.test.ts'
