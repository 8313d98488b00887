// The common suite, on machines.
import './backend.test.ts'
