/** JSONStream has no types of its own; this is the part the benches use. */
declare module 'JSONStream' {
  const JSONStream: { parse(path: null): NodeJS.ReadWriteStream }
  export default JSONStream
}
