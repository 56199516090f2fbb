// The events and views that the page shares with Node refer to base/platform.ts in their types only; the
// bundle has the version for browsers instead. The page has no types of Node, so that it cannot use Node by
// accident.
declare module 'node:buffer'
declare module 'node:crypto'
declare module 'node:module'
