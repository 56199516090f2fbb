/** The head of every page of the server; `more` are elements of one page alone. */
export const pageHead = (more = ''): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>sluice</title>
<link rel="icon" href="/icon.svg">
<link rel="stylesheet" href="/page.css">
${more}</head>
`
