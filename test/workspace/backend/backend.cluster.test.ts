// The common suite, on pods.
import './backend.test.ts'
