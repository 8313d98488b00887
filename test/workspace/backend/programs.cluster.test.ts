// The common suite, on pods.
import './programs.test.ts'
