// Types of page-text.js, which scripts/page.ts makes from the folder page: it is not in git.

/** What is inside <body>. */
export const pageBody: string

/** The style sheet. */
export const pageStyle: string

/** The script. It finds its data in the document, or asks the server it came from. */
export const pageScript: string

/** What the list loads when it is asked for more, and its style sheet. */
export const moreScript: string
export const moreStyle: string

/** What shows all changes of a run, or two runs side by side, and its style sheet. */
export const besideScript: string
export const besideStyle: string
