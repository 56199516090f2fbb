import axe from 'axe-core'
import type { Page } from 'playwright-core'

/** What axe finds, in one line each. */
export async function violations(page: Page): Promise<string[]> {
  // Through the debugger, which the page's content security policy does not bind.
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe.source)
  return page.evaluate(`axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map((node) => id + ': ' + node.html.slice(0, 160) + ' ' + node.failureSummary.slice(0, 300))))`)
}
