// The events and views that the page shares with Node reach base/platform.ts by their types alone; the bundle has the version
// for browsers in its place. The page has no types of Node, so that it cannot use it by accident.
declare module 'node:buffer'
declare module 'node:crypto'
