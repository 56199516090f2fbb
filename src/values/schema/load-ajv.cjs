// Loads ajv when the first JSON Schema is compiled: it takes longer to load than everything else together.
// This is CommonJS because `require` is the only way to load a module late without waiting for it, and only
// in CommonJS every bundler includes what is required.
exports.draft07 = () => require('ajv').Ajv
exports.draft2020 = () => require('ajv/dist/2020.js').Ajv2020
exports.addFormats = (ajv) => require('ajv-formats').default(ajv)
