// Everything that the entries for Node export. As CommonJS they share this one file, so that everything
// exists once.
export * from './index.ts'
export * from './nats.ts'
export * from './serve.ts'
export * from './work.ts'
