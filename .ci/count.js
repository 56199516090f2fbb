// Prints how many tests of a report passed, and fails if none did, one failed, or one was skipped because
// something is missing here. Tests of the slow set that are left out of the quick one do not count as that.
import { readFileSync } from 'node:fs'

const { testResults, numPassedTests, numFailedTests, numPendingTests } = JSON.parse(
  readFileSync(process.argv[2], 'utf8'),
)
console.log(`${numPassedTests} passed, ${numFailedTests} failed, ${numPendingTests} skipped`)
const missing = testResults
  .flatMap(({ assertionResults }) => assertionResults)
  .filter(({ status, fullName }) => status !== 'passed' && fullName.includes('(skipped: '))
for (const { fullName } of missing) console.error(`not run: ${fullName}`)
if (missing.length > 0 || numPassedTests === 0 || numFailedTests > 0) process.exitCode = 1
