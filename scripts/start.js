// `npm start`: runs scripts/start/main.ts as it is, so that nothing has to be built first.
try {
  const { register } = await import('tsx/esm/api')
  register()
} catch (error) {
  if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error
  console.error('npm start needs the packages of this repository: run npm ci first')
  process.exit(1)
}
await import('./start/main.ts')
