import { pageHead } from './page-head.ts'

/**
 * The page that asks for the token. It has no script: a form without an action is sent to the address of the
 * page, and a browser keeps the fragment of that (`#run/…`) over the redirect that answers it.
 */
export function loginPage(wrong?: string): string {
  return `${pageHead()}<body class="gate">
<main>
<form method="post">
<h1>sluice</h1>
<label for="token">The token of this server</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
${wrong === undefined ? '' : `<p class="wrong" role="alert">${wrong}</p>\n`}<button>Show the runs</button>
</form>
</main>
</body>
</html>
`
}
