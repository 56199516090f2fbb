// ../../../tmp/ev/mem5.ts
import { createReadStream } from "node:fs";

// src/frames/tap.ts
import { addAbortSignal, finished, Readable } from "node:stream";

// src/base/fault.ts
var codes = {
  // Misuse: thrown at once, before any byte flows.
  BAD_OPTION: "an option has a value that cannot be used",
  BAD_CHUNK: "a chunk is neither bytes, nor text, nor a Chunk",
  BAD_SCHEMA: "the schema cannot be compiled or answers asynchronously",
  // What a payload can fail with.
  EMPTY: "the input is empty or blank",
  NO_MATCH: "no payload was found in the input",
  TRUNCATED: "the input ended inside the payload",
  INVALID_JSON: "the payload is not JSON and could not be repaired",
  ROOT_NOT_OBJECT: "the payload is JSON, but its root is not an object",
  SCHEMA_FAILED: "the payload is JSON, but the schema rejects it",
  NORMALIZE_FAILED: "a normalizer threw on every candidate",
  MAX_DEPTH: "the payload is nested deeper than allowed",
  PROTO_KEY: "the payload has a key that reaches for a prototype",
  // Worth telling about a payload or a frame.
  OUTPUT_REPAIRED_GENERIC: "the payload was repaired by deterministic rules",
  REPAIR_SKIPPED: "the payload is larger than the repair limit, so repair was not tried",
  AMBIGUOUS: "more than one candidate inside one frame passes; the first was taken",
  TAG_UNCLOSED: "the value is complete, but its closing tag is missing",
  THINK_UNCLOSED: "the payload stands in a think block that was never closed",
  FRAME_TOO_LONG: "a frame outgrew maxFrame and was let go as text",
  INVALID_UTF8: "bytes that are not UTF-8 were replaced by U+FFFD",
  PRECISION_LOSS: "a number does not survive as a JavaScript number",
  DUPLICATE_KEY: "an object has the same key twice; the last one wins",
  // Worth telling about a run.
  RAW_LINE: "a line was not understood and is kept as raw",
  LOW_CONFIDENCE_PARSE: "the classification is a guess",
  UNKNOWN_TYPE: "a record of a type this parser does not know is kept as raw",
  UNKNOWN_FIELD: "a record has a field this parser does not know",
  PTY_STREAM_MISMATCH: "the PTY has a record that stdout lacks",
  LATE_DUPLICATE_POSSIBLE: "the dedupe window overflowed, so a late twin may be emitted again",
  COMPLETION_CONFLICT: "the evidence on how the run ended disagrees",
  ENGINE_PICKED: "auto chose the engine by the shape of the records",
  ENGINE_ERROR: "the engine reported an error",
  PIPE_HELD_OPEN: "the process ended, but something still holds its pipe",
  ARTIFACT_REJECTED: "a path leaves the run directory or cannot be used",
  ARTIFACT_MISSING: "the engine claims a file that is not there",
  END_UNKNOWN: "nothing says how the run ended",
  DRIFT_REPORT: "types and fields this parser does not know, with their counts"
};
var MAX_MESSAGE = 500;
var brand = /* @__PURE__ */ Symbol.for("agent-sluice.Fault");
var Fault = class extends Error {
  name = "Fault";
  code;
  errors;
  value;
  at;
  constructor(code, message = codes[code], details = {}) {
    super(clip(message, MAX_MESSAGE), "cause" in details ? { cause: details.cause } : void 0);
    this.code = code;
    if (details.errors) this.errors = details.errors;
    if ("value" in details) this.value = details.value;
    if (details.at !== void 0) this.at = details.at;
    Object.defineProperty(this, brand, { value: true });
  }
  /**
   * True for a Fault of any copy of this package: the ESM and the CommonJS build each have their own
   * class, so `instanceof` is not enough.
   */
  static is(error) {
    return typeof error === "object" && error !== null && brand in error;
  }
};
function quote(text2, max = 40) {
  const clipped = clip(text2, max);
  return `"${clipped.replace(unsafe, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`)}"`;
}
var unsafe = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]|\p{Cs}/gu;
function clip(text2, max) {
  if (text2.length <= max) return text2;
  const end = /[\ud800-\udbff]/.test(text2[max - 2] ?? "") ? max - 2 : max - 1;
  return `${text2.slice(0, end)}\u2026`;
}

// src/frames/tap.ts
var CHANNELS = ["stdout", "stderr", "pty"];
var STEP = 65536;
function tap(source, options = {}) {
  const { order = "live", grace = 2e3 } = options;
  if (!(grace >= 0 && Number.isFinite(grace)))
    throw new Fault("BAD_OPTION", `grace must be 0 or more milliseconds, but is ${grace}`);
  const child = isChild(source);
  const sources = /* @__PURE__ */ new Map();
  for (const channel of CHANNELS) {
    const stream = channel === "pty" && child ? void 0 : source[channel];
    if (stream) sources.set(channel, stream);
  }
  if (sources.size === 0)
    throw new Fault("BAD_OPTION", 'tap needs stdout, stderr or pty; spawn the child with stdio: "pipe"');
  let wake = () => {
  };
  const tapped = new Readable({
    objectMode: true,
    highWaterMark: 4,
    read: () => wake(),
    destroy(error, done) {
      clearTimeout(timer);
      for (const stream of sources.values()) stream.destroy();
      wake();
      done(error);
    }
  });
  let timer;
  if (options.signal) addAbortSignal(options.signal, tapped);
  const fail = (error) => void tapped.destroy(error);
  const room = () => new Promise((resolve) => wake = resolve);
  const push = (chunk) => tapped.push(chunk);
  const open = new Set(sources.keys());
  for (const [channel, stream] of sources) {
    finished(stream, { writable: false }, (error) => {
      if (error && !tapped.destroyed && !held && !(channel === "pty" && "code" in error && error.code === "EIO"))
        fail(error);
      open.delete(channel);
      closed();
    });
  }
  let held;
  let closed = () => {
  };
  const allClosed = new Promise((resolve) => {
    closed = () => open.size === 0 && resolve();
  });
  closed();
  const exit = child ? new Promise((resolve) => {
    source.once("error", fail);
    if (source.exitCode !== null || source.signalCode !== null)
      resolve({ code: source.exitCode, signal: source.signalCode });
    else source.once("exit", (code, signal) => resolve({ code, signal }));
  }) : Promise.resolve(source.exit);
  const live = child || isPromise(source.exit);
  if (live) {
    exit.then(
      () => {
        if (open.size === 0 || tapped.destroyed) return;
        timer = setTimeout(() => {
          held = [...open];
          for (const stream of sources.values()) stream.destroy();
        }, grace);
        timer.unref();
      },
      (error) => fail(error)
    );
  }
  push({ channel: sources.keys().next().value, bytes: new Uint8Array(), channels: [...sources.keys()] });
  const finish = async () => {
    await allClosed;
    clearTimeout(timer);
    const ended = await exit;
    if (tapped.destroyed) return;
    if (ended !== void 0 || held) push(exitChunk(ended ?? null, held));
    tapped.push(null);
  };
  if (order === "live") {
    for (const [channel, stream] of sources) {
      stream.on("data", (data) => {
        if (tapped.destroyed) return;
        if (push({ channel, bytes: bytesOf(data) })) return;
        for (const other of sources.values()) other.pause();
      });
    }
    wake = () => {
      for (const stream of sources.values()) stream.resume();
    };
    finish().catch(fail);
  } else {
    const pump = order === "sequence" ? inSequence(sources) : inStep(sources);
    const run = async () => {
      for await (const chunk of pump) {
        if (tapped.destroyed) return;
        if (!push(chunk)) await room();
        if (tapped.destroyed) return;
      }
      await finish();
    };
    run().catch(fail);
  }
  return tapped;
}
async function* inSequence(sources) {
  for (const [channel, stream] of sources) {
    for await (const data of stream) yield { channel, bytes: bytesOf(data) };
  }
}
async function* inStep(sources) {
  const readers = [...sources].map(([channel, stream]) => ({
    channel,
    parts: stream[Symbol.asyncIterator](),
    rest: new Uint8Array(),
    done: false
  }));
  while (readers.some((reader) => !reader.done)) {
    for (const reader of readers) {
      let wanted = STEP;
      while (wanted > 0 && !reader.done) {
        if (reader.rest.length === 0) {
          const next = await reader.parts.next();
          if (next.done) reader.done = true;
          else reader.rest = bytesOf(next.value);
          continue;
        }
        const bytes = reader.rest.subarray(0, wanted);
        reader.rest = reader.rest.subarray(bytes.length);
        wanted -= bytes.length;
        yield { channel: reader.channel, bytes };
      }
    }
  }
}
function exitChunk(exit, held) {
  const { code, signal } = typeof exit === "object" && exit !== null ? exit : { code: exit, signal: null };
  return held ? { channel: "exit", code, signal, held } : { channel: "exit", code, signal };
}
function bytesOf(data) {
  return typeof data === "string" ? Buffer.from(data) : data;
}
function isChild(source) {
  return "spawnfile" in source;
}
function isPromise(value) {
  return typeof value === "object" && value !== null && "then" in value;
}

// src/events/events.ts
import { hash as hashOnce } from "node:crypto";
import { realpathSync } from "node:fs";
import { join, sep } from "node:path";

// src/base/flow.ts
import { addAbortSignal as addAbortSignal2, finished as finished2, Transform } from "node:stream";
function flow(stage, options = {}) {
  const made = new StageTransform(stage, options.intake?.() ?? wholeIntake());
  if (options.signal) addAbortSignal2(options.signal, made);
  return made;
}
function wholeIntake() {
  return { take: (written) => written, size: () => 1, portion: (input) => input };
}
var MAX_WAITING = 64;
var MIN_PORTION = 512;
var MAX_PORTION = 16 * 1024;
var MAX_BUSY_MS = 15;
var StageTransform = class extends Transform {
  #intake;
  #sink;
  #sources = /* @__PURE__ */ new Set();
  /** Units per portion: small at the start of a chunk, grows while portions yield few items, shrinks when many. */
  #portion = MIN_PORTION;
  #pushed = 0;
  /** The chunk in work, until every portion of it is fed. */
  #work;
  #paused = false;
  /** The reader has asked and nothing was pushed since: Node will not ask again, so the flow must not pause. */
  #asked = false;
  constructor(stage, intake) {
    super({ objectMode: true, readableHighWaterMark: MAX_WAITING, writableHighWaterMark: 4 });
    this.#intake = intake;
    this.#sink = stage({
      write: (value) => {
        this.#pushed++;
        this.#asked = false;
        this.push(value);
      },
      end() {
      }
    });
    this.on("pipe", (source) => this.#sources.add(source));
    this.on("unpipe", (source) => this.#sources.delete(source));
  }
  _transform(written, _encoding, done) {
    try {
      const input = this.#intake.take(written);
      this.#work = { input, at: 0, size: this.#intake.size(input), done };
      this.#portion = MIN_PORTION;
    } catch (error) {
      done(error);
      return;
    }
    this.#feed();
  }
  _flush(done) {
    try {
      const rest = this.#intake.rest?.();
      if (rest !== void 0) this.#sink.write(rest);
      this.#sink.end();
    } catch (error) {
      done(error);
      return;
    }
    done();
  }
  _read(size) {
    this.#asked = true;
    if (!this.#work) super._read(size);
    else if (this.#paused) {
      this.#paused = false;
      process.nextTick(() => this.#feed());
    }
  }
  _destroy(error, done) {
    this.#work = void 0;
    for (const source of this.#sources) {
      source.unpipe(this);
      source.destroy();
    }
    this.#sources.clear();
    done(error);
  }
  [Symbol.asyncIterator]() {
    return new FlowReader(this);
  }
  #feed() {
    const started2 = performance.now();
    while (this.#work) {
      const work = this.#work;
      if (work.at >= work.size) {
        this.#work = void 0;
        work.done();
        return;
      }
      if (this.readableLength >= MAX_WAITING && !this.#asked) {
        this.#paused = true;
        return;
      }
      if (work.at > 0 && performance.now() - started2 > MAX_BUSY_MS) {
        setImmediate(() => this.#feed());
        return;
      }
      const to = Math.min(work.size, work.at + this.#portion);
      const portion = work.at === 0 && to === work.size ? work.input : this.#intake.portion(work.input, work.at, to);
      this.#pushed = 0;
      try {
        this.#sink.write(portion);
      } catch (error) {
        this.#work = void 0;
        work.done(error);
        return;
      }
      if (this.#pushed > MAX_WAITING) this.#portion = Math.max(MIN_PORTION, this.#portion >> 2);
      else if (this.#pushed < MAX_WAITING / 4) this.#portion = Math.min(MAX_PORTION, this.#portion << 2);
      work.at = to;
    }
  }
};
var FlowReader = class {
  #stream;
  /** `undefined` while the stream lives, `null` when it ended well, else why it failed. */
  #failure;
  #wake;
  /** The last answer that is still being waited for: a second `next()` must not overtake it. */
  #last;
  #cleanup;
  constructor(stream) {
    this.#stream = stream;
    const onReadable = () => this.#wake?.();
    stream.on("readable", onReadable);
    const unwatch = finished2(stream, { writable: false }, (error) => {
      this.#failure = error ?? null;
      this.#wake?.();
    });
    this.#cleanup = () => {
      unwatch();
      stream.off("readable", onReadable);
    };
  }
  next() {
    if (this.#last === void 0) {
      const item = this.#stream.destroyed ? null : this.#stream.read();
      if (item !== null) return Promise.resolve({ done: false, value: item });
    }
    const answer = (this.#last ?? Promise.resolve()).then(() => this.#wait());
    const settle = () => {
      if (this.#last === settled) this.#last = void 0;
    };
    const settled = answer.then(settle, settle);
    this.#last = settled;
    return answer;
  }
  async return() {
    this.#cleanup();
    if (!this.#stream.destroyed) {
      this.#stream.on("error", () => {
      });
      this.#stream.destroy();
    }
    this.#failure ??= null;
    this.#wake?.();
    return { done: true, value: void 0 };
  }
  [Symbol.asyncIterator]() {
    return this;
  }
  async #wait() {
    for (; ; ) {
      const item = this.#stream.destroyed ? null : this.#stream.read();
      if (item !== null) return { done: false, value: item };
      if (this.#failure) {
        this.#cleanup();
        throw this.#failure;
      }
      if (this.#failure === null) {
        this.#cleanup();
        return { done: true, value: void 0 };
      }
      await new Promise((wake) => {
        this.#wake = wake;
      });
      this.#wake = void 0;
    }
  }
};

// src/frames/chunk.ts
function chunkIntake() {
  let half = "";
  const stdout = (bytes) => {
    const whole = half ? Buffer.concat([Buffer.from(half), bytes]) : bytes;
    half = "";
    return { channel: "stdout", bytes: whole };
  };
  return {
    take(written) {
      if (typeof written === "string") {
        const text2 = half + written;
        const last = isHighSurrogate(text2.charCodeAt(text2.length - 1)) ? text2.slice(-1) : "";
        half = "";
        const chunk = stdout(Buffer.from(last ? text2.slice(0, -1) : text2));
        half = last;
        return chunk;
      }
      if (written instanceof Uint8Array) return stdout(written);
      if (isChunk(written)) return written.channel === "stdout" ? stdout(written.bytes) : written;
      throw new Fault(
        "BAD_CHUNK",
        `expected bytes, text or {channel, bytes}, but got ${describe(written)}; write Buffers or Chunks to this stream`
      );
    },
    // An empty chunk counts as one unit, so that what it announces comes through.
    size: (chunk) => chunk.channel === "exit" ? 1 : Math.max(1, chunk.bytes.length),
    portion(chunk, from, to) {
      return chunk.channel === "exit" ? chunk : { ...chunk, bytes: chunk.bytes.subarray(from, to) };
    },
    rest: () => half ? stdout(Buffer.alloc(0)) : void 0
  };
}
function isHighSurrogate(unit) {
  return unit >= 55296 && unit <= 56319;
}
function isChunk(value) {
  if (typeof value !== "object" || value === null || !("channel" in value)) return false;
  switch (value.channel) {
    case "exit":
      return true;
    case "stdout":
    case "stderr":
    case "pty":
      return "bytes" in value && value.bytes instanceof Uint8Array;
    default:
      return false;
  }
}
function describe(value) {
  if (value === null) return "null";
  if (typeof value !== "object") return `a ${typeof value}`;
  return `an object with the keys ${quote(Object.keys(value).slice(0, 5).join(", "))}`;
}

// src/events/artifacts.ts
var MAX_CLAIMS = 65536;
var MAX_TOLD = 100;
function artifacts(options) {
  const { writer: writer2, dir, inside } = options;
  const claims = /* @__PURE__ */ new Map();
  let told = 0;
  const tell = (code, message) => {
    if (++told <= MAX_TOLD) options.warn(code, message);
  };
  const accept = (path) => {
    const judged = judgePath(path, dir);
    if (judged.ok === void 0) {
      if (judged.why !== void 0) tell("ARTIFACT_REJECTED", `${quote(path, 80)}: ${judged.why}`);
      return void 0;
    }
    if (inside(judged.ok)) return judged.ok;
    tell("ARTIFACT_REJECTED", `${quote(path, 80)}: a link that leads out of the run directory`);
    return void 0;
  };
  const emit = (change, path, range) => {
    writer2.about(range, true);
    writer2.write(`artifact.${change}`, { path }, 0.95);
  };
  return {
    claim(change, path) {
      const accepted = accept(path);
      if (accepted === void 0 || claims.size >= MAX_CLAIMS) return;
      const before = claims.get(accepted)?.change;
      const merged = before === "created" && change === "modified" ? "created" : change;
      claims.set(accepted, { change: merged, range: writer2.place() });
    },
    end() {
      writer2.about(void 0);
      const diff = typeof options.fsDiff === "function" ? options.fsDiff() : options.fsDiff;
      if (!diff) {
        for (const [path, { change, range }] of claims) emit(change, path, range);
        writer2.about(void 0);
        return;
      }
      const seen = /* @__PURE__ */ new Set();
      for (const change of ["created", "modified", "deleted"]) {
        for (const path of diff[change] ?? []) {
          const accepted = accept(String(path));
          if (accepted === void 0 || seen.has(accepted)) continue;
          seen.add(accepted);
          emit(change, accepted, claims.get(accepted)?.range);
          writer2.about(void 0);
        }
      }
      for (const [path, { change }] of claims) {
        if (!seen.has(path) && change !== "deleted")
          tell("ARTIFACT_MISSING", `${codes.ARTIFACT_MISSING}: ${quote(path, 80)}`);
      }
      if (told > MAX_TOLD)
        options.warn("ARTIFACT_REJECTED", `${told - MAX_TOLD} more paths were refused or missing`);
    }
  };
}
var invisible = /\p{Default_Ignorable_Code_Point}/gu;
function judgePath(path, dir) {
  if (path === "" || path.length > 4096) return { why: "an empty or endless path" };
  if (/[\u0000-\u001f\u007f]/.test(path)) return { why: "a control character" };
  const root = dir?.replaceAll("\\", "/").replace(/\/+$/, "");
  let rest = path.replaceAll("\\", "/");
  if (root && rest.startsWith(`${root}/`)) rest = rest.slice(root.length + 1);
  else if (rest.startsWith("/") || /^[A-Za-z]:/.test(rest))
    return { why: "an absolute path outside the run directory" };
  const parts = rest.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) return { why: "it leaves the run directory" };
  const [top] = parts;
  if (top === void 0) return { why: "the run directory itself" };
  if (top === ".audit") return {};
  if (top.normalize("NFKC").replace(invisible, "").toLowerCase() === ".audit")
    return { why: "it looks like .audit" };
  return { ok: parts.join("/") };
}

// src/values/balanced.ts
function* spans(text2, gate2) {
  let brace = text2.indexOf("{");
  let bracket = text2.indexOf("[");
  const first = skipBlanks(text2, 0);
  while (brace >= 0 || bracket >= 0) {
    const array = brace < 0 || bracket >= 0 && bracket < brace;
    const at = array ? bracket : brace;
    let next = at + 1;
    if (at === first ? opensDocument(text2, at) : opensAt(text2, at, gate2.loose)) {
      const to = balancedEnd(text2, at);
      if (!array || gate2.arrays) yield { from: at, to };
      if (to < 0) return;
      next = to;
    }
    if (brace >= 0 && brace < next) brace = text2.indexOf("{", next);
    if (bracket >= 0 && bracket < next) bracket = text2.indexOf("[", next);
  }
}
function balancedEnd(text2, from) {
  let depth = 0;
  for (let i = from; i < text2.length; i++) {
    switch (text2.charCodeAt(i)) {
      case QUOTE:
        i = stringEnd(text2, i);
        if (i < 0) return -1;
        break;
      case BACKSLASH:
        if (isProtectable(text2.charCodeAt(i + 1))) i++;
        break;
      case BRACE:
      case BRACKET:
        depth++;
        break;
      case CLOSING_BRACE:
      case CLOSING_BRACKET:
        if (--depth === 0) return i + 1;
        break;
    }
  }
  return -1;
}
function stringEnd(text2, open) {
  for (let at = text2.indexOf('"', open + 1); at >= 0; at = text2.indexOf('"', at + 1)) {
    let slash = at - 1;
    while (slash > open && text2.charCodeAt(slash) === BACKSLASH) slash--;
    if ((at - slash) % 2 === 1) return at;
  }
  return -1;
}
function skipBlanks(text2, from) {
  let i = from;
  while (i < text2.length && isBlank(text2.charCodeAt(i))) i++;
  return i;
}
function isBlank(unit) {
  return unit === 32 || unit === 10 || unit === 13 || unit === 9 || unit === BOM;
}
function isWord(unit) {
  return unit >= 97 && unit <= 122 || unit >= 65 && unit <= 90 || unit >= 48 && unit <= 57 || unit === 95 || unit === 36 || unit >= 192;
}
function opensAt(text2, at, loose) {
  const next = skipBlanks(text2, at + 1);
  const unit = text2.charCodeAt(next);
  if (text2.charCodeAt(at) === BRACKET) return unit === BRACE;
  return unit === QUOTE || loose && (unit === APOSTROPHE || isKeyAt(text2, next));
}
function opensDocument(text2, at) {
  const next = skipBlanks(text2, at + 1);
  const unit = text2.charCodeAt(next);
  if (text2.charCodeAt(at) === BRACKET)
    return next < text2.length && `{["']-0123456789tfn/`.includes(text2[next]);
  return unit === QUOTE || unit === APOSTROPHE || unit === CLOSING_BRACE || unit === SLASH || isKeyAt(text2, next);
}
var MAX_KEY = 256;
function isKeyAt(text2, at) {
  let i = at;
  const limit2 = Math.min(text2.length, at + MAX_KEY);
  while (i < limit2 && isWord(text2.charCodeAt(i))) i++;
  return i > at && text2.charCodeAt(skipBlanks(text2, i)) === COLON;
}
function isProtectable(unit) {
  return unit === QUOTE || unit === BACKSLASH;
}
var QUOTE = 34;
var APOSTROPHE = 39;
var SLASH = 47;
var COLON = 58;
var BRACKET = 91;
var BACKSLASH = 92;
var CLOSING_BRACKET = 93;
var BRACE = 123;
var CLOSING_BRACE = 125;
var BOM = 65279;

// src/values/depth.ts
function isDeeper(text2, max) {
  if (text2.length <= max) return false;
  if (count(text2, "{", max) + count(text2, "[", max) <= max) return false;
  let depth = 0;
  for (let i = 0; i < text2.length; i++) {
    switch (text2.charCodeAt(i)) {
      case QUOTE2:
        i = stringEnd(text2, i);
        if (i < 0) return false;
        break;
      case BRACE2:
      case BRACKET2:
        if (++depth > max) return true;
        break;
      case CLOSING_BRACE2:
      case CLOSING_BRACKET2:
        if (depth > 0) depth--;
        break;
    }
  }
  return false;
}
function count(text2, needle, max) {
  let found = 0;
  for (let at = text2.indexOf(needle); at >= 0 && found <= max; at = text2.indexOf(needle, at + 1)) found++;
  return found;
}
var QUOTE2 = 34;
var BRACKET2 = 91;
var CLOSING_BRACKET2 = 93;
var BRACE2 = 123;
var CLOSING_BRACE2 = 125;

// src/events/balance.ts
function balance() {
  return { depth: 0, inString: false, escaped: false };
}
var QUOTE3 = 34;
var BACKSLASH2 = 92;
function scan(text2, state) {
  for (let at = 0; at < text2.length; at++) {
    const unit = text2.charCodeAt(at);
    if (state.inString) {
      if (state.escaped) state.escaped = false;
      else if (unit === BACKSLASH2) state.escaped = true;
      else if (unit === QUOTE3) state.inString = false;
    } else if (unit === QUOTE3) state.inString = true;
    else if (unit === 123 || unit === 91) state.depth++;
    else if (unit === 125 || unit === 93) {
      if (--state.depth === 0) return at + 1;
      if (state.depth < 0) return "broken";
    } else if (!structural(unit)) return "broken";
  }
  return "inside";
}
function structural(unit) {
  if (unit === 44 || unit === 58 || unit === 32 || unit === 9 || unit === 10 || unit === 13) return true;
  if (unit >= 48 && unit <= 57) return true;
  return "+-.eEtrufalsn".includes(String.fromCharCode(unit));
}

// src/events/cut.ts
var MAX_DEPTH = 512;
var MAX_BLANKS = 4096;
var LOG_TAIL = 4096;
var logLine = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*Z\s+(?:ERROR|WARN|INFO|DEBUG|TRACE)\s/;
function cutter(options, out) {
  const { channel, maxFrame } = options;
  let blanks;
  let gathering;
  let block;
  const emit = (first, frame) => {
    const notes = first.note ? [{ code: first.note, message: codes[first.note], at: first.from }] : void 0;
    const { blanks: blanks2 } = first;
    out({ channel, from: first.from, ...frame, ...blanks2 && { blanks: blanks2 }, ...notes && { notes } });
  };
  const asText = (line) => {
    const frame = { kind: "text", to: line.to, text: line.text };
    if (line.text === "" && line.note === void 0) emit(line, { ...frame, blank: true });
    else if (line.open && line.note === void 0 && opensDocument2(line.text))
      emit(line, { ...frame, open: true });
    else emit(line, frame);
  };
  const cutOff = () => {
    const held = gathering;
    gathering = void 0;
    if (!held) return;
    const text2 = held.lines.map((line) => line.text).join("\n");
    emit(held.lines[0], { kind: "text", to: held.lines.at(-1).to, text: text2, open: true });
  };
  const release = () => {
    const failed = gathering;
    gathering = void 0;
    for (const line of failed?.lines ?? []) asText(line);
  };
  const plain = (line) => {
    const shape = options.cut()[channel];
    if (line.note === "FRAME_TOO_LONG" || shape === void 0 || shape === "text") return plainText(line);
    if (line.text.length > 2 * MAX_DEPTH && isDeeper(line.text, MAX_DEPTH)) {
      asText({ ...line, note: "MAX_DEPTH" });
      return;
    }
    const value = parseLine(line.text);
    if (value !== void 0) {
      const { from, to, text: text2 } = line;
      if (line.note === void 0 && line.blanks === void 0)
        out({ kind: "line", channel, from, to, text: text2, value });
      else emit(line, { kind: "line", to, text: text2, value });
      return;
    }
    if ((shape === "documents" || channel === "pty") && opensDocument2(line.text)) {
      gathering = { lines: [], parts: [], logs: [], size: 0, state: balance() };
      gather(line);
      return;
    }
    plainText(line);
  };
  const plainText = (line) => {
    const label = options.cut().blocks?.find((name) => line.text.trim() === `<${name}>`);
    if (label === void 0 || line.open) asText(line);
    else block = { label, lines: [line], size: line.text.length };
  };
  const insideBlock = (line) => {
    const open = block;
    open.lines.push(line);
    open.size += line.text.length;
    if (line.text.trim() === `</${open.label}>`) {
      block = void 0;
      const inner = open.lines.slice(1, -1).map((held) => held.text);
      const text2 = inner.join("\n");
      const value = parse(text2);
      const frame = { kind: "tag", to: line.to, text: text2, label: open.label };
      emit(open.lines[0], value === void 0 ? frame : { ...frame, value });
    } else if (open.size > maxFrame) {
      block = void 0;
      for (const held of open.lines) asText(held);
    }
  };
  const gather = (line) => {
    const held = gathering;
    if (held.lines.length > 0) {
      if (channel === "pty" && startsLog(line.text)) {
        held.logs.push(line);
        return;
      }
      const broken = channel !== "pty" && (held.state.inString || opensDocument2(line.text));
      if (broken || parseLine(line.text) !== void 0) {
        release();
        plain(line);
        return;
      }
    }
    held.lines.push(line);
    const before = { ...held.state };
    let text2 = line.text;
    let end = scan(text2, held.state);
    if (end === "inside" && channel === "pty") {
      const log = logAt(text2);
      if (log >= 0) {
        held.state = before;
        const at = line.from + Buffer.byteLength(text2.slice(0, log));
        held.logs.push({ text: text2.slice(log), from: at, to: line.to, open: false });
        text2 = text2.slice(0, log);
        end = scan(text2, held.state);
      }
    }
    if (end === "broken") {
      release();
      return;
    }
    held.size += text2.length;
    if (end === "inside") {
      held.parts.push(held.state.inString ? text2 : `${text2}
`);
      if (held.size > maxFrame) release();
      return;
    }
    held.parts.push(text2.slice(0, end));
    const joined = held.parts.join("");
    const value = parse(joined) ?? parse(joined.replaceAll("\n", ""));
    if (value === void 0) {
      release();
      return;
    }
    gathering = void 0;
    const first = held.lines[0];
    const rest = text2.slice(end);
    const glued = rest.trim() !== "";
    const to = glued ? line.from + Buffer.byteLength(text2.slice(0, end)) : line.to;
    const frame = { kind: held.lines.length === 1 ? "line" : "object", to, text: joined, value };
    emit(first, held.logs.length > 0 || glued ? { ...frame, mended: true } : frame);
    for (const log of held.logs) asText(log);
    if (glued) plain({ text: rest.trimStart(), from: to, to: line.to, open: line.open });
  };
  return {
    line(line) {
      if (line.text.trim() === "" && !block && line.note === void 0) {
        if (gathering) {
          gathering.lines.push({ ...line, text: "" });
          return;
        }
        blanks ??= { from: line.from, to: line.to, text: "" };
        if (blanks.text.length < MAX_BLANKS) blanks.text += "\n";
        blanks.to = line.to;
        return;
      }
      const before = blanks;
      blanks = void 0;
      const whole = before ? { ...line, from: before.from, blanks: before.text } : line;
      if (block) insideBlock(whole);
      else if (gathering) gather(whole);
      else plain(whole);
    },
    end() {
      for (const held of block?.lines ?? []) asText(held);
      block = void 0;
      cutOff();
      if (blanks) asText({ from: blanks.from, to: blanks.to, text: "", open: false });
      blanks = void 0;
    },
    /** Lines are being held, so what comes next may belong to them. */
    get holding() {
      return gathering !== void 0 || block !== void 0;
    }
  };
}
function opensDocument2(text2) {
  const first = text2[0];
  if (first !== "{" && first !== "[") return false;
  let at = 1;
  while (text2[at] === " " || text2[at] === "	") at++;
  const next = text2[at];
  return next === void 0 || (first === "{" ? next === '"' || next === "}" : next === "{" || next === "[" || next === '"');
}
function parseLine(text2) {
  const first = text2.charCodeAt(0);
  if (first !== 123 && first !== 91) return void 0;
  let end = text2.length - 1;
  while (text2.charCodeAt(end) <= 32) end--;
  const last = text2.charCodeAt(end);
  return last === 125 || last === 93 ? parse(text2) : void 0;
}
function parse(text2) {
  if (text2.length > 2 * MAX_DEPTH && isDeeper(text2, MAX_DEPTH)) return void 0;
  try {
    return JSON.parse(text2);
  } catch {
    return void 0;
  }
}
function startsLog(text2) {
  return logLine.exec(text2.slice(0, 64))?.index === 0;
}
function logAt(text2) {
  const from = Math.max(0, text2.length - LOG_TAIL);
  const found = logLine.exec(text2.slice(from));
  return found ? from + found.index : -1;
}

// src/events/end.ts
function judge(evidence) {
  const [state, reason_code] = verdict(evidence);
  return { data: { state, reason_code, evidence }, conflict: disagreement(state, evidence) };
}
function verdict(evidence) {
  if (evidence.done_marker) return ["completed", "DONE_MARKER"];
  if (evidence.end_signal !== null && evidence.failure === null) return ["awaiting_user_input", "END_SIGNAL"];
  if (evidence.failure !== null) return ["interrupted", "ENGINE_FAILED"];
  if (evidence.signal !== null) return ["interrupted", "SIGNAL"];
  if (evidence.exit_code !== null && evidence.exit_code !== 0) return ["interrupted", "EXIT_CODE"];
  if (evidence.truncated) return ["interrupted", "TRUNCATED"];
  return ["unknown", "NO_END_SIGNAL"];
}
function disagreement(state, evidence) {
  const bad = [];
  if (evidence.failure !== null) bad.push(`the engine failed (${evidence.failure})`);
  if (evidence.signal !== null) bad.push(`signal ${evidence.signal}`);
  else if (evidence.exit_code !== null && evidence.exit_code !== 0)
    bad.push(`exit code ${evidence.exit_code}`);
  if (evidence.truncated) bad.push("a record was cut");
  if (state === "completed" && bad.length > 0) return `the done marker was seen, but ${bad.join(" and ")}`;
  if (evidence.end_signal === null) return void 0;
  if (bad.length > 0) return `the end signal ${evidence.end_signal} was seen, but ${bad.join(" and ")}`;
  return void 0;
}

// src/events/lines.ts
import { isUtf8 } from "node:buffer";

// src/frames/bytes.ts
var NUL = 0;
var TAB = 9;
var LF = 10;
var CR = 13;
var ESC = 27;
var SPACE = 32;
var QUOTE4 = 34;
var LESS = 60;
var OPEN_BRACKET = 91;
var BACKSLASH3 = 92;
var CLOSE_BRACKET = 93;
var BACKTICK = 96;
var OPEN_BRACE = 123;
var CLOSE_BRACE = 125;
var TILDE = 126;
function isBlank2(byte) {
  return byte === SPACE || byte === LF || byte === CR || byte === TAB;
}
function bomAt(bytes, at) {
  return bytes[at] === 239 && bytes[at + 1] === 187 && bytes[at + 2] === 191 ? 3 : 0;
}
function isProtected(bytes, at, floor) {
  let run = at;
  while (run > floor && bytes[run - 1] === BACKSLASH3) run--;
  return (at - run) % 2 === 1;
}

// src/frames/ansi.ts
var C1_LEAD = 194;
var BEL = 7;
var NEXT_LINE = 133;
var LEAD = Buffer.from([C1_LEAD]);
var MAX_SEQUENCE = 4096;
function escapeRemover(out) {
  let state = "ground";
  let length = 0;
  function write(chunk) {
    let escapeAt = indexOrEnd(chunk, ESC, 0);
    let lead = nextC1(chunk, 0);
    let at = 0;
    while (at < chunk.length) {
      if (state !== "ground") {
        at += step(chunk[at]);
        continue;
      }
      if (escapeAt < at) escapeAt = indexOrEnd(chunk, ESC, at);
      if (lead < at) lead = nextC1(chunk, at);
      const next = Math.min(escapeAt, lead);
      if (next > at) out.keep(next - at === chunk.length ? chunk : chunk.subarray(at, next));
      at = next + 1;
      if (next === chunk.length) break;
      length = 1;
      state = next === escapeAt ? "escape" : "maybe-c1";
      if (state === "escape") out.drop(1);
    }
  }
  function step(byte) {
    switch (state) {
      case "maybe-c1":
        if (byte < 128 || byte > 159 || byte === NEXT_LINE) {
          out.keep(LEAD);
          state = "ground";
          return byte === C1_LEAD ? 0 : keepOne(byte);
        }
        out.drop(2);
        state = introduces(byte - 64);
        return 1;
      case "escape":
        if (byte >= 32 && byte <= 47) return take("intermediate");
        if (byte >= 48 && byte <= 126) return take(introduces(byte));
        return abort();
      case "intermediate":
        if (byte >= 32 && byte <= 47 && length < MAX_SEQUENCE) return take("intermediate");
        if (byte >= 48 && byte <= 126 && length < MAX_SEQUENCE) return take("ground");
        return abort();
      case "csi":
        if (byte >= 32 && byte <= 63 && length < MAX_SEQUENCE) return take("csi");
        if (byte >= 64 && byte <= 126 && length < MAX_SEQUENCE) return take("ground");
        return abort();
      case "string":
        if (byte === LF || length >= MAX_SEQUENCE) return abort();
        if (byte === BEL) return take("ground");
        if (byte === ESC) return take("string-escape");
        return take(byte === C1_LEAD ? "string-maybe-c1" : "string");
      case "string-escape":
        if (byte === 92) return take("ground");
        state = "escape";
        length = 1;
        return 0;
      case "string-maybe-c1":
        if (byte === 156) return take("ground");
        state = "string";
        return 0;
      case "ground":
        return 0;
      default:
        return state;
    }
  }
  function take(next) {
    out.drop(1);
    length++;
    state = next;
    return 1;
  }
  function abort() {
    state = "ground";
    return 0;
  }
  function keepOne(byte) {
    if (byte === ESC) return 0;
    out.keep(Buffer.from([byte]));
    return 1;
  }
  return {
    write,
    end() {
      if (state === "maybe-c1") out.keep(LEAD);
      state = "ground";
    }
  };
}
function introduces(byte) {
  switch (byte) {
    case 91:
      return "csi";
    case 93:
    // ] OSC
    case 80:
    // P DCS
    case 88:
    // X SOS
    case 94:
    // ^ PM
    case 95:
      return "string";
    default:
      return "ground";
  }
}
function indexOrEnd(chunk, byte, from) {
  const index = chunk.indexOf(byte, from);
  return index < 0 ? chunk.length : index;
}
function nextC1(chunk, from) {
  for (let lead = chunk.indexOf(C1_LEAD, from); lead >= 0; lead = chunk.indexOf(C1_LEAD, lead + 1)) {
    const second = chunk[lead + 1];
    if (second === void 0 || second >= 128 && second <= 159 && second !== NEXT_LINE) return lead;
  }
  return chunk.length;
}

// src/events/lines.ts
var HEAD = 8192;
function lines(maxFrame, out, known) {
  let held = Buffer.alloc(0);
  let size = 0;
  let from = 0;
  let skipping = false;
  const cut = (bytes, to, open) => {
    let end = bytes.length;
    if (!open && bytes[end - 1] === LF) end--;
    if (bytes[end - 1] === CR) end--;
    if (known && !skipping && !open && end > 0 && known(bytes.subarray(0, end))) {
      from = to;
      return;
    }
    const slice = bytes.subarray(0, skipping ? Math.min(end, HEAD) : end);
    const text2 = clean(slice);
    const note = skipping ? "FRAME_TOO_LONG" : text2.includes("\uFFFD") && !isUtf8(slice) ? "INVALID_UTF8" : void 0;
    out(note ? { text: text2, from, to, open, note } : { text: text2, from, to, open });
    from = to;
  };
  const hold = (bytes) => {
    if (size + bytes.length > held.length) {
      const grown = Buffer.allocUnsafe(Math.max(size + bytes.length, held.length * 2, 4096));
      held.copy(grown, 0, 0, size);
      held = grown;
    }
    bytes.copy(held, size);
    size += bytes.length;
  };
  const take = (bytes, ended) => {
    let at = 0;
    while (size + bytes.length - at > maxFrame) {
      const rest = maxFrame - size;
      hold(bytes.subarray(at, at + rest));
      at += rest;
      skipping = true;
      cut(held.subarray(0, size), from + size, true);
      size = 0;
    }
    if (ended && size === 0) {
      if (at < bytes.length) cut(bytes.subarray(at), from + bytes.length - at, false);
      skipping = false;
      return;
    }
    hold(bytes.subarray(at));
    if (!ended) return;
    cut(held.subarray(0, size), from + size, false);
    size = 0;
    skipping = false;
    if (held.length > 1 << 20) held = Buffer.alloc(0);
  };
  const whole = (bytes, start, at, escaped) => {
    const to = from + at + 1 - start;
    const end = at > start && bytes[at - 1] === CR ? at - 1 : at;
    if (!(known && end > start && known(bytes.subarray(start, end)))) {
      const text2 = escaped ? clean(bytes.subarray(start, end)) : withoutMarks(bytes.toString("utf8", start, end));
      const broken = text2.includes("\uFFFD") && !isUtf8(bytes.subarray(start, end));
      out(broken ? { text: text2, from, to, open: false, note: "INVALID_UTF8" } : { text: text2, from, to, open: false });
    }
    from = to;
  };
  return {
    write(input) {
      const bytes = Buffer.from(input.buffer, input.byteOffset, input.byteLength);
      let start = 0;
      let escape = bytes.indexOf(ESC);
      for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, start)) {
        if (escape >= 0 && escape < start) escape = bytes.indexOf(ESC, start);
        if (size > 0 || skipping || at + 1 - start > maxFrame) take(bytes.subarray(start, at + 1), true);
        else whole(bytes, start, at, escape >= 0 && escape < at);
        start = at + 1;
      }
      if (start < bytes.length) take(bytes.subarray(start), false);
    },
    end() {
      if (size > 0) cut(held.subarray(0, size), from + size, true);
      held = Buffer.alloc(0);
      size = 0;
    }
  };
}
function clean(bytes) {
  return withoutMarks((bytes.includes(ESC) ? withoutEscapes(bytes) : bytes).toString("utf8"));
}
function withoutMarks(text2) {
  let at = 0;
  while (text2.charCodeAt(at) === 0 || text2.charCodeAt(at) === 65279) at++;
  return at === 0 ? text2 : text2.slice(at);
}
function withoutEscapes(bytes) {
  const kept = [];
  const remover = escapeRemover({ keep: (part) => void kept.push(part), drop() {
  } });
  remover.write(bytes);
  remover.end();
  return Buffer.concat(kept);
}

// src/base/stage.ts
function drive(stage, inputs) {
  const outputs = [];
  const sink = stage({ write: (value) => void outputs.push(value), end() {
  } });
  for (const input of inputs) sink.write(input);
  sink.end();
  return outputs;
}

// src/frames/needle.ts
var NOWHERE = Number.POSITIVE_INFINITY;
var Needle = class {
  length;
  #tape;
  #bytes;
  #hit = -1;
  /** There is no hit before this position, from where the search last began. */
  #clear = 0;
  constructor(tape, text2) {
    this.#tape = tape;
    this.#bytes = Buffer.from(text2);
    this.length = this.#bytes.length;
  }
  /** The first hit at or after `from`, or NOWHERE. Positions must not go back without a `reset`. */
  next(from) {
    if (this.#hit >= from) return this.#hit;
    const tape = this.#tape;
    const start = Math.max(from, this.#clear);
    if (start + this.length > tape.end) return NOWHERE;
    const index = this.length === 1 ? tape.view.indexOf(this.#bytes[0], start - tape.base) : tape.view.indexOf(this.#bytes, start - tape.base);
    if (index < 0) {
      this.#clear = tape.end - this.length + 1;
      return NOWHERE;
    }
    this.#hit = index + tape.base;
    return this.#hit;
  }
  /** Where a beginning of the needle stands at the very end of the tape; the end if there is none. */
  partial() {
    const { view, end } = this.#tape;
    for (let length = Math.min(this.length - 1, view.length); length > 0; length--) {
      if (view.compare(this.#bytes, 0, length, view.length - length) === 0) return end - length;
    }
    return end;
  }
  /** Forgets what it knows, because the position goes back to `from`. */
  reset(from) {
    this.#hit = -1;
    this.#clear = from;
  }
};

// src/frames/too-long.ts
function tooLong(scan2, what, from, findEnd) {
  const { tape, maxFrame } = scan2;
  let piece = tape.origin(from);
  let seek = from;
  let note = {
    code: "FRAME_TOO_LONG",
    message: `a ${what} at byte ${piece} is longer than maxFrame (${maxFrame} bytes); it is kept as text`,
    at: piece
  };
  function pieces(to, toPosition, whole) {
    while (piece + maxFrame <= to || whole && piece < to) {
      const end = Math.min(to, piece + maxFrame);
      const position = end === to ? toPosition : Math.min(toPosition, tape.positionOf(end));
      scan2.cutText(piece, end, position, note);
      note = void 0;
      piece = end;
    }
  }
  scan2.cutTextBefore(from);
  return {
    get keep() {
      return Math.min(seek, tape.end);
    },
    look() {
      const found = findEnd(seek);
      seek = found.at;
      if (!found.done) {
        pieces(tape.origin(seek), seek, false);
        return false;
      }
      pieces(seek === tape.end ? tape.originEnd : tape.origin(seek), seek, true);
      scan2.leave(seek);
      return true;
    },
    finish() {
      pieces(tape.originEnd, tape.end, true);
      scan2.leave(tape.end);
    }
  };
}

// src/frames/fence.ts
function fenceMachine(scan2) {
  const { tape } = scan2;
  const lf = new Needle(tape, "\n");
  const backticks = openings(scan2, "```");
  const tildes = openings(scan2, "~~~");
  let opener = { quotes: 0, indent: 0, from: 0, mark: 0, length: 0, info: "", body: 0 };
  let body = bodyLines(0);
  const fence = {
    get keep() {
      return opener.from;
    },
    look() {
      const limit2 = scan2.limit(opener.from);
      const closer = findCloser(Math.min(limit2, tape.end), scan2.ended && tape.end < limit2);
      if (closer) {
        cut(closer.from, closer.to, false);
        return true;
      }
      if (tape.end < limit2) return false;
      scan2.enter(tooLong(scan2, "fenced block", opener.from, skip));
      return true;
    },
    finish() {
      cut(tape.end, tape.end, true);
    }
  };
  function skip() {
    const closer = findCloser(tape.end, scan2.ended);
    if (closer) return { done: true, at: closer.to };
    return { done: false, at: Math.max(opener.from, body.midLine ? body.at - opener.indent - 4 : body.line) };
  }
  function bodyLines(line) {
    return { line, at: line, midLine: false, stage: "quote", quotes: 0, spaces: 0, marks: 0 };
  }
  function startLine(line) {
    body = bodyLines(line);
    if (opener.quotes === 0) body.stage = "indent";
  }
  function findCloser(bound, ended) {
    for (; ; ) {
      if (body.midLine) {
        const line = nextLine(bound);
        if (line === void 0) return void 0;
        startLine(line);
      }
      const verdict2 = judgeLine(bound, ended);
      if (verdict2 === "wait") return void 0;
      if (verdict2 === "outside") return { from: body.line, to: body.line };
      if (verdict2 === "closes") return { from: body.line, to: body.at };
      body.midLine = true;
    }
  }
  function nextLine(bound) {
    if (opener.quotes > 0) {
      const end = lf.next(body.at);
      if (end < bound) return end + 1;
      body.at = Math.max(body.at, bound);
      return void 0;
    }
    const { needle } = opener.mark === BACKTICK ? backticks : tildes;
    for (; ; ) {
      const hit = needle.next(body.at);
      if (hit >= bound) {
        body.at = Math.max(body.at, bound - needle.length + 1);
        return void 0;
      }
      let line = hit;
      while (hit - line < opener.indent + 3 && scan2.byte(line - 1) === SPACE) line--;
      if (scan2.byte(line - 1) === LF) return line;
      body.at = hit + 1;
    }
  }
  function judgeLine(bound, ended) {
    for (; body.at < bound; body.at++) {
      const byte = scan2.byte(body.at);
      if (body.stage === "quote") {
        if (byte === SPACE && body.spaces < 3) body.spaces++;
        else if (byte === GREATER) {
          body.quotes++;
          body.spaces = 0;
          body.stage = "gap";
        } else if (body.quotes === 0) return "outside";
        else body.stage = "indent";
        if (body.stage !== "indent") continue;
      }
      if (body.stage === "gap") {
        body.stage = body.quotes < opener.quotes ? "quote" : "indent";
        if (byte === SPACE) continue;
        if (body.stage === "quote") {
          body.at--;
          continue;
        }
      }
      if (body.stage === "indent") {
        if (byte === SPACE) {
          if (++body.spaces > opener.indent + 3) return "no";
          continue;
        }
        if (byte !== opener.mark) return "no";
        body.stage = "marks";
      }
      if (body.stage === "marks") {
        if (byte === opener.mark) {
          body.marks++;
          continue;
        }
        if (body.marks < opener.length) return "no";
        body.stage = "blanks";
      }
      if (byte === LF) {
        body.at++;
        return "closes";
      }
      if (!isBlank2(byte)) return "no";
    }
    if (!ended) return "wait";
    if (body.stage === "blanks" || body.stage === "marks" && body.marks >= opener.length) return "closes";
    return body.stage === "quote" && body.quotes === 0 && body.at > body.line ? "outside" : "wait";
  }
  function cut(bodyEnd, to, open) {
    const { from, info } = opener;
    const textFrom = Math.min(opener.body, bodyEnd);
    const textTo = bodyEnd > textFrom && scan2.byte(bodyEnd - 1) === LF ? bodyEnd - 1 : bodyEnd;
    const plain = opener.quotes === 0 && opener.indent === 0;
    const text2 = plain ? scan2.decode(textFrom, textTo) : unindented(textFrom, textTo);
    scan2.cut({ kind: "fence", from, to, text: text2, textFrom, textTo, label: info || void 0, open });
  }
  function unindented(from, to) {
    const lines2 = [];
    for (let line = from; line <= to; ) {
      const found = tape.view.indexOf(LF, line - tape.base);
      const end = found < 0 ? to : Math.min(to, found + tape.base);
      let at = afterQuotes(line, end);
      for (let spaces = 0; spaces < opener.indent && at < end && scan2.byte(at) === SPACE; spaces++) at++;
      lines2.push(scan2.decode(at, end));
      line = end + 1;
    }
    return lines2.join("\n");
  }
  function afterQuotes(line, end) {
    let at = line;
    for (let quote2 = 0; quote2 < opener.quotes; quote2++) {
      let mark = at;
      while (mark < end && mark - at < 3 && scan2.byte(mark) === SPACE) mark++;
      if (mark >= end || scan2.byte(mark) !== GREATER) return at;
      at = mark + 1;
      if (at < end && scan2.byte(at) === SPACE) at++;
    }
    return at;
  }
  return {
    next(from) {
      const backtick = backticks.next(from);
      const tilde = tildes.next(from);
      return backtick.at < tilde.at ? backtick : tilde;
    },
    partial: () => Math.min(backticks.needle.partial(), tildes.needle.partial()),
    open(from) {
      const { mark, container, runEnd, lineEnd: lineEnd2 } = (scan2.byte(from) === BACKTICK ? backticks : tildes).at(
        from
      );
      const info = scan2.decode(runEnd, lineEnd2).trim();
      opener = {
        ...container,
        from,
        mark,
        length: runEnd - from,
        info,
        body: Math.min(lineEnd2 + 1, tape.end)
      };
      startLine(opener.body);
      scan2.enter(fence);
    }
  };
}
function openings(scan2, marks) {
  const { tape } = scan2;
  const needle = new Needle(tape, marks);
  const lf = new Needle(tape, "\n");
  const mark = marks.charCodeAt(0);
  let opening;
  let decided = false;
  let passed = 0;
  function next(from) {
    for (; ; ) {
      if (opening && opening.at < from) opening = void 0;
      if (!opening) {
        const at2 = needle.next(Math.max(from, passed));
        if (at2 === NOWHERE) return nothing;
        const prefix = scan2.head.prefix(at2);
        const container = prefix === void 0 ? void 0 : readPrefix(prefix);
        if (!container) {
          passed = at2 + 1;
          continue;
        }
        opening = { at: at2, mark, container, runEnd: at2, lineEnd: NOWHERE };
        decided = false;
      }
      if (decided) return { at: opening.at, decided };
      const opens = judge3(opening);
      if (opens !== false) {
        decided = opens === true;
        return { at: opening.at, decided };
      }
      passed = opening.runEnd;
      opening = void 0;
    }
  }
  function judge3(candidate) {
    while (scan2.byte(candidate.runEnd) === mark) candidate.runEnd++;
    const limit2 = scan2.limit(candidate.at);
    const end = lf.next(candidate.runEnd);
    if (end === NOWHERE && !scan2.ended) return tape.end >= limit2 ? false : void 0;
    candidate.lineEnd = Math.min(end, tape.end);
    if (candidate.lineEnd >= limit2) return false;
    if (mark !== BACKTICK) return true;
    return !tape.view.subarray(candidate.runEnd - tape.base, candidate.lineEnd - tape.base).includes(BACKTICK);
  }
  function at(from) {
    next(from);
    return opening;
  }
  return { needle, next, at };
}
var nothing = { at: NOWHERE, decided: true };
var GREATER = 62;
var AT_COLUMN_0 = { quotes: 0, indent: 0 };
var BOM2 = "\xEF\xBB\xBF";
function readPrefix(prefix) {
  if (prefix === "") return AT_COLUMN_0;
  const text2 = prefix.startsWith(BOM2) ? prefix.slice(3) : prefix;
  let quotes = 0;
  let indent = 0;
  let at = 0;
  for (; ; ) {
    const marker = /^ {0,3}(?:(>) ?|(?:[-*+]|\d{1,9}[.)])[ \t]+)/.exec(text2.slice(at));
    if (!marker) break;
    at += marker[0].length;
    if (marker[1]) {
      quotes++;
      indent = 0;
    } else indent += marker[0].length;
  }
  const rest = text2.slice(at);
  return /^ {0,3}$/.test(rest) ? { quotes, indent: indent + rest.length } : void 0;
}

// src/frames/line.ts
function lineMachine(scan2, objects, giveUp) {
  const lf = new Needle(scan2.tape, "\n");
  let from = 0;
  const line = {
    get keep() {
      return from;
    },
    look() {
      const end = lf.next(from);
      const limit2 = scan2.limit(from);
      if (end < limit2) settle(end, end + 1);
      else if (scan2.tape.end >= limit2) scan2.enter(tooLong(scan2, "line", from, findLineEnd));
      else return false;
      return true;
    },
    finish() {
      const { end } = scan2.tape;
      if (endsLikeRecord(end)) cut(end, end, false);
      else if (objects) giveUp(end);
      else cut(end, end, true);
    }
  };
  function settle(end, to) {
    if (endsLikeRecord(end)) cut(end, to, false);
    else giveUp(end);
  }
  function endsLikeRecord(end) {
    let last = end - 1;
    for (; ; ) {
      const byte = scan2.byte(last);
      if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) return true;
      if (last <= from || byte !== SPACE && byte !== CR && byte !== TAB && byte !== NUL) return false;
      last--;
    }
  }
  function cut(end, to, open) {
    const textTo = to > end && scan2.byte(end - 1) === CR ? end - 1 : end;
    scan2.cut({ kind: "line", from, to, text: scan2.decode(from, textTo), textFrom: from, textTo, open });
  }
  function findLineEnd(seek) {
    const end = lf.next(seek);
    return end < scan2.tape.end ? { done: true, at: end + 1 } : { done: false, at: scan2.tape.end };
  }
  return (position) => {
    from = position;
    scan2.enter(line);
  };
}

// src/frames/gate.ts
function gate(kind, opening) {
  let expects = "first";
  return (byte) => {
    if (expects === "word") {
      if (isWordByte(byte)) return void 0;
      expects = "colon";
    }
    if (isBlank2(byte)) return void 0;
    if (expects === "colon") return byte === COLON2;
    if (opening === OPEN_BRACKET) return byte === OPEN_BRACE || kind === "document" && beginsValue(byte);
    if (byte === QUOTE4) return true;
    if (kind === "strict") return false;
    if (byte === APOSTROPHE2) return true;
    if (kind === "document" && (byte === SLASH2 || byte === 125)) return true;
    if (!isWordByte(byte) || isDigit(byte)) return false;
    expects = "word";
    return void 0;
  };
}
function opensInProse(text2, loose) {
  const judge3 = gate(loose ? "loose" : "strict", text2.charCodeAt(0));
  for (let at = 1; at < text2.length; at++) {
    const opens = judge3(text2.charCodeAt(at));
    if (opens !== void 0) return opens;
  }
  return false;
}
var APOSTROPHE2 = 39;
var SLASH2 = 47;
var COLON2 = 58;
function isDigit(byte) {
  return byte >= 48 && byte <= 57;
}
function isWordByte(byte) {
  return byte >= 97 && byte <= 122 || byte >= 65 && byte <= 90 || isDigit(byte) || byte === 95 || byte === 36;
}
function beginsValue(byte) {
  return isDigit(byte) || `[]"'-tfn`.includes(String.fromCharCode(byte));
}

// src/frames/object.ts
var MAX_BROKEN = 65536;
function objectMachine(scan2, interruptions) {
  const { tape } = scan2;
  let candidate = newCandidate(0, "strict", false);
  function newCandidate(from, kind, first) {
    return {
      from,
      first,
      judge: gate(kind, scan2.byte(from) ?? 0),
      /** Everything before it has been looked at. */
      seek: from + 1,
      opened: false,
      depth: 1,
      inString: false,
      /** A raw LF stood inside a string: this is not JSON, at best something to repair. */
      broken: false
    };
  }
  const object = {
    get keep() {
      return candidate.from;
    },
    look() {
      const limit2 = scan2.limit(candidate.from);
      if (!candidate.opened) {
        const opens = passGate(Math.min(limit2, tape.end));
        if (opens === void 0) return tape.end >= limit2 && outgrow(limit2);
        if (!opens) {
          scan2.leave(candidate.seek);
          return true;
        }
        candidate.opened = true;
      }
      return walk(limit2);
    },
    finish() {
      if (candidate.opened) cut(tape.end, true);
      else scan2.leave(tape.end);
    }
  };
  function passGate(bound) {
    for (; candidate.seek < bound; candidate.seek++) {
      const opens = candidate.judge(scan2.byte(candidate.seek) ?? 0);
      if (opens !== void 0) return opens;
    }
    return void 0;
  }
  function walk(limit2) {
    for (; ; ) {
      const { seek, from } = candidate;
      const brokenLimit = candidate.broken ? tape.positionOf(tape.origin(from) + MAX_BROKEN) : limit2;
      const tag = interruptions.nextTag(seek);
      const fence = interruptions.nextFence(seek);
      const stop = Math.min(limit2, brokenLimit, interruptions.known(), tag, fence.at);
      if (walkTo(stop)) return true;
      if (candidate.seek < stop) continue;
      if (stop === limit2) return outgrow(limit2);
      if (stop === brokenLimit) return leave(candidate.seek);
      if (stop === fence.at) return fence.decided && leave(stop);
      if (stop !== tag) return false;
      if (!candidate.inString || candidate.broken) return leave(stop);
      candidate.seek = stop + 1;
    }
  }
  function walkTo(stop) {
    const { view, base } = tape;
    const to = stop - base;
    const floor = candidate.from - base;
    let { depth, inString } = candidate;
    let at = candidate.seek - base;
    while (at < to) {
      const byte = view[at];
      if (byte === QUOTE4) {
        if (!isProtected(view, at, floor)) inString = !inString;
      } else if (byte === LF) {
        if (inString && !candidate.broken) {
          candidate.broken = true;
          at++;
          break;
        }
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        if (!inString) depth++;
        else if (candidate.broken && interruptions.lines && scan2.head.bare(at + base)) return leave(at + base);
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        if (!inString && --depth === 0) {
          cut(at + base + 1, false);
          return true;
        }
      }
      at++;
    }
    candidate.depth = depth;
    candidate.inString = inString;
    candidate.seek = at + base;
    return false;
  }
  function leave(position) {
    scan2.leave(position);
    return true;
  }
  function outgrow(limit2) {
    const at = tape.origin(candidate.from);
    scan2.cutTextBefore(candidate.from);
    scan2.cutText(at, at + scan2.maxFrame, limit2, {
      code: "FRAME_TOO_LONG",
      message: `an object at byte ${at} is longer than maxFrame (${scan2.maxFrame} bytes); it is kept as text`,
      at
    });
    return leave(limit2);
  }
  function cut(to, open) {
    const { from, first } = candidate;
    scan2.cut({
      kind: "object",
      from,
      to,
      text: scan2.decode(from, to),
      textFrom: from,
      textTo: to,
      open,
      first
    });
  }
  return (from, kind, first) => {
    candidate = newCandidate(from, kind, first);
    scan2.enter(object);
  };
}

// src/frames/scalar.ts
var MAX_TOKEN = 4096;
function beginsScalar(byte) {
  return byte === QUOTE4 || isTokenByte(byte);
}
function scalarMachine(scan2, giveUp) {
  const { tape } = scan2;
  let from = 0;
  let seek = 0;
  let stage = "rest";
  let escaped = false;
  let to = 0;
  const scalar = {
    get keep() {
      return from;
    },
    look() {
      const limit2 = scan2.limit(from);
      for (; seek < tape.end; seek++) {
        if (seek >= limit2 || !accepts(scan2.byte(seek))) {
          giveUp(from);
          return true;
        }
      }
      return false;
    },
    finish() {
      if (stage === "string") giveUp(from);
      else {
        const end = stage === "token" ? tape.end : to;
        scan2.cut({
          kind: "object",
          from,
          to: end,
          text: scan2.decode(from, end),
          textFrom: from,
          textTo: end,
          first: true
        });
      }
    }
  };
  function accepts(byte) {
    if (stage === "string") {
      if (byte === LF) return false;
      if (byte === QUOTE4 && !escaped) {
        stage = "rest";
        to = seek + 1;
      }
      escaped = byte === BACKSLASH3 && !escaped;
      return true;
    }
    if (stage === "token") {
      if (isTokenByte(byte)) return seek - from < MAX_TOKEN;
      stage = "rest";
      to = seek;
    }
    return isBlank2(byte);
  }
  return (position) => {
    from = position;
    seek = position + 1;
    escaped = false;
    stage = scan2.byte(position) === QUOTE4 ? "string" : "token";
    scan2.enter(scalar);
  };
}
function isTokenByte(byte) {
  if (byte === void 0) return false;
  return byte >= 48 && byte <= 57 || byte >= 97 && byte <= 122 || byte >= 65 && byte <= 90 || "+-.".includes(String.fromCharCode(byte));
}

// src/frames/tag.ts
function tagMachine(scan2, name, needsPayload) {
  const { tape } = scan2;
  const lf = new Needle(tape, "\n");
  const opener = new Needle(tape, `<${name}>`);
  const closer = new Needle(tape, `</${name}>`);
  let block = newBlock(0);
  function newBlock(from) {
    return {
      from,
      body: from + opener.length,
      /** Closers and openers before this position have been dealt with. */
      seek: from + opener.length,
      /** With `needsPayload`: whether what follows the opener is known to be a payload. */
      judged: !needsPayload,
      /** Quotes before this position are counted; it is always on the line of `seek`, or before it. */
      counted: from + opener.length,
      inString: false,
      /** The last in-string opener, and what it was when the closers below were met; -1 for none. */
      lastOpener: -1,
      /** The first in-string closer of the block, and of the current line; -1 for none. */
      firstCloser: -1,
      openerAtFirst: -1,
      lineCloser: -1,
      openerAtLine: -1
    };
  }
  const tag = {
    get keep() {
      return block.from;
    },
    look() {
      const limit2 = scan2.limit(block.from);
      const bound = Math.min(limit2, tape.end);
      if (!block.judged) {
        const opens = followedByPayload(bound);
        if (opens === false) {
          scan2.leave(block.body);
          return true;
        }
        block.judged = opens === true;
        if (!block.judged) return outgrown(limit2);
      }
      for (; ; ) {
        const close = closer.next(block.seek);
        const open = opener.next(block.seek);
        const hit = Math.min(close, open);
        const fits = hit + (hit === close ? closer.length : opener.length) <= bound;
        if (settleLine(fits ? hit : bound)) return true;
        if (!fits) return outgrown(limit2);
        countTo(hit);
        if (hit === close) {
          if (!block.inString) {
            cut(block.from, close);
            return true;
          }
          noteCloser(close);
          block.seek = close + closer.length;
        } else {
          if (!block.inString) {
            if (block.firstCloser >= 0) endAt(block.firstCloser, block.openerAtFirst);
            else scan2.leave(open);
            return true;
          }
          block.lastOpener = open;
          block.seek = open + opener.length;
        }
      }
    },
    finish() {
      if (block.firstCloser >= 0) endAt(block.firstCloser, block.openerAtFirst);
      else if (block.judged && opensLikeJson()) {
        const { end } = tape;
        scan2.cut({
          kind: "tag",
          from: block.from,
          to: end,
          text: scan2.decode(block.body, end),
          textFrom: block.body,
          textTo: end,
          label: name,
          open: true
        });
      } else {
        goBackTo(block.body);
        scan2.leave(block.body);
      }
    }
  };
  function outgrown(limit2) {
    if (tape.end < limit2) return false;
    if (block.firstCloser >= 0) endAt(block.firstCloser, block.openerAtFirst);
    else {
      const from = Math.max(block.body, limit2 - closer.length + 1);
      opener.reset(from);
      closer.reset(from);
      scan2.enter(tooLong(scan2, `<${name}> block`, block.from, (seek) => skip(Math.max(seek, from))));
    }
    return true;
  }
  function skip(from) {
    const close = closer.next(from);
    const open = opener.next(from);
    if (close < open) return { done: true, at: close + closer.length };
    if (open < close) return { done: true, at: open };
    return { done: false, at: Math.max(from, tape.end - closer.length + 1) };
  }
  function settleLine(to) {
    if (block.lineCloser < 0) return false;
    const end = lf.next(block.lineCloser);
    if (end >= to) return false;
    countTo(end);
    if (block.inString) {
      endAt(block.lineCloser, block.openerAtLine);
      return true;
    }
    block.lineCloser = -1;
    return false;
  }
  function noteCloser(at) {
    if (block.firstCloser < 0) {
      block.firstCloser = at;
      block.openerAtFirst = block.lastOpener;
    }
    if (block.lineCloser < 0) {
      block.lineCloser = at;
      block.openerAtLine = block.lastOpener;
    }
  }
  function countTo(position) {
    const { view, base } = tape;
    const lineEnd2 = view.subarray(block.counted - base, position - base).lastIndexOf(LF);
    if (lineEnd2 >= 0) {
      block.counted += lineEnd2 + 1;
      block.inString = false;
    }
    const to = position - base;
    const floor = block.body - base;
    for (let at = block.counted - base; at < to; at++) {
      if (view[at] === QUOTE4 && !isProtected(view, at, floor)) block.inString = !block.inString;
    }
    block.counted = position;
  }
  function endAt(close, open) {
    cut(open >= 0 ? open : block.from, close);
    goBackTo(scan2.position);
  }
  function goBackTo(position) {
    for (const needle of [opener, closer, lf]) needle.reset(position);
  }
  function cut(from, close) {
    const textFrom = from + opener.length;
    const text2 = scan2.decode(textFrom, close);
    scan2.cut({ kind: "tag", from, to: close + closer.length, text: text2, textFrom, textTo: close, label: name });
  }
  function followedByPayload(bound) {
    while (block.seek < bound && isBlank2(scan2.byte(block.seek))) block.seek++;
    const at = block.seek;
    if (at >= bound) return void 0;
    const byte = scan2.byte(at);
    if (byte === BACKTICK || byte === TILDE) {
      for (const next of [at + 1, at + 2]) {
        if (next >= bound) return void 0;
        if (scan2.byte(next) !== byte) return false;
      }
      return true;
    }
    return byte === OPEN_BRACE || byte === OPEN_BRACKET || byte === LESS;
  }
  function opensLikeJson() {
    let at = block.body;
    while (isBlank2(scan2.byte(at))) at++;
    return scan2.byte(at) === OPEN_BRACE || scan2.byte(at) === OPEN_BRACKET;
  }
  return {
    opener,
    open(from) {
      block = newBlock(from);
      scan2.enter(tag);
    }
  };
}

// src/frames/think.ts
function thinkMachine(scan2, closed) {
  const { tape } = scan2;
  const kinds2 = ["think", "thinking"].map(
    (name) => ({
      opener: new Needle(tape, `<${name}>`),
      closer: new Needle(tape, `</${name}>`),
      passed: 0
    })
  );
  let from = 0;
  let kind = kinds2[0];
  function nextOf(candidate, start) {
    for (; ; ) {
      const at = candidate.opener.next(Math.max(start, candidate.passed));
      if (at === NOWHERE || scan2.head.blank(at)) return at;
      candidate.passed = at + 1;
    }
  }
  const think = {
    get keep() {
      return from;
    },
    look() {
      const limit2 = scan2.limit(from);
      const close = kind.closer.next(from);
      if (close + kind.closer.length <= limit2) {
        scan2.leave(close + kind.closer.length);
        closed(from, scan2.position);
        return true;
      }
      if (tape.end < limit2) return false;
      const { closer } = kind;
      scan2.enter(
        tooLong(scan2, "think block", from, (seek) => {
          const end = closer.next(seek);
          return end === NOWHERE ? { done: false, at: Math.max(seek, tape.end - closer.length + 1) } : { done: true, at: end + closer.length };
        })
      );
      return true;
    },
    finish() {
      scan2.unclosedThink = true;
      scan2.leave(from + kind.opener.length);
    }
  };
  return {
    next(start) {
      if (scan2.unclosedThink) return NOWHERE;
      let next = NOWHERE;
      for (const candidate of kinds2) next = Math.min(next, nextOf(candidate, start));
      return next;
    },
    open(position) {
      from = position;
      kind = kinds2.find((k) => k.opener.next(position) === position) ?? kind;
      scan2.enter(think);
    }
  };
}

// src/frames/prose.ts
function prose(scan2, options) {
  const { tape, head } = scan2;
  const longestOpener = Math.max("<thinking>".length, ...options.tags.map((name) => name.length + 2));
  const tags = options.tags.map((name) => tagMachine(scan2, name, options.needsPayload));
  const think = options.think ? thinkMachine(scan2, thinkClosed) : void 0;
  const fences = options.fences ? fenceMachine(scan2) : void 0;
  const openLine = options.lines ? lineMachine(scan2, options.objects, giveUpLine) : void 0;
  const openObject = options.objects ? objectMachine(scan2, { nextTag, nextFence, known, lines: options.lines }) : void 0;
  const openScalar = scalarMachine(scan2, (from) => scan2.leave(from));
  const brace = new Needle(tape, "{");
  const bracket = new Needle(tape, "[");
  let noRecord = -1;
  let passed = 0;
  let documentFrom = options.document ? 0 : NOWHERE;
  let documentThink = -1;
  function look() {
    if (documentFrom !== NOWHERE) {
      const found = lookForDocument();
      if (found !== void 0) return found;
    }
    const from = scan2.position;
    if (openLine && isBracket(scan2.byte(from)) && from !== noRecord && head.bare(from)) {
      openLine(from);
      return true;
    }
    const tag = nextTag(from);
    const thinking = think ? think.next(from) : NOWHERE;
    const fence = nextFence(from);
    const bare = openLine || openObject ? nextBracket(from) : NOWHERE;
    const at = Math.min(tag, thinking, fence.at, bare);
    if (at === NOWHERE) {
      scan2.position = Math.max(from, tape.end - longestOpener + 1);
      return false;
    }
    scan2.position = at;
    if (at === tag) tags.find((machine) => machine.opener.next(at) === at)?.open(at);
    else if (at === thinking) think?.open(at);
    else if (at === fence.at) {
      if (!fence.decided) return false;
      fences?.open(at);
    } else if (openLine && at !== noRecord && head.bare(at)) openLine(at);
    else openObject?.(at, options.loose ? "loose" : "strict", false);
    return true;
  }
  function nextTag(from) {
    let next = NOWHERE;
    for (const { opener } of tags) next = Math.min(next, opener.next(from));
    return next;
  }
  function nextFence(from) {
    return fences ? fences.next(from) : noFence;
  }
  function known() {
    let known2 = tape.end;
    if (scan2.ended) return known2;
    for (const { opener } of tags) known2 = Math.min(known2, opener.partial());
    return fences ? Math.min(known2, fences.partial()) : known2;
  }
  function nextBracket(from) {
    for (; ; ) {
      const start = Math.max(from, passed);
      const at = Math.min(brace.next(start), bracket.next(start));
      if (openObject || at === NOWHERE || at !== noRecord && head.bare(at)) return at;
      passed = at + 1;
    }
  }
  function giveUpLine() {
    noRecord = scan2.position;
    scan2.leave(scan2.position);
  }
  function lookForDocument() {
    while (documentFrom < tape.end) {
      const byte = scan2.byte(documentFrom);
      if (byte === NUL || isBlank2(byte)) documentFrom++;
      else if (bomAt(tape.view, documentFrom - tape.base) === 3) documentFrom += 3;
      else if (byte === 239 && documentFrom + 3 > tape.end && !scan2.ended) break;
      else return openDocument(documentFrom, byte);
    }
    scan2.position = documentFrom;
    return false;
  }
  function openDocument(at, byte) {
    documentFrom = NOWHERE;
    if (isBracket(byte) && openObject) openObject(at, "document", true);
    else if (options.document === "any" && beginsScalar(byte)) openScalar(at);
    else {
      if (byte === LESS) documentThink = at;
      return void 0;
    }
    scan2.position = at;
    return true;
  }
  function thinkClosed(from, to) {
    if (from === documentThink) documentFrom = to;
  }
  return look;
}
function isBracket(byte) {
  return byte === OPEN_BRACE || byte === OPEN_BRACKET;
}
var noFence = { at: NOWHERE, decided: true };

// src/frames/decode.ts
import { isUtf8 as isUtf82 } from "node:buffer";
function decode(bytes, from, to) {
  return bytes.toString("utf8", from, to);
}
function firstInvalid(text2, bytes, from, to) {
  if (!text2.includes("\uFFFD") || isUtf82(bytes.subarray(from, to))) return -1;
  let at = from;
  while (at < to) {
    const length = characterLength(bytes, at, to);
    if (length === 0) return at;
    at += length;
  }
  return -1;
}
function characterLength(bytes, at, to) {
  const lead = bytes[at] ?? 0;
  const length = lead < 128 ? 1 : lead >= 194 && lead < 224 ? 2 : lead >= 224 && lead < 240 ? 3 : 4;
  if (length === 1) return 1;
  return at + length <= to && isUtf82(bytes.subarray(at, at + length)) ? length : 0;
}

// src/frames/line-head.ts
var MAX_PREFIX = 64;
var LineHead = class {
  #tape;
  /** The facts below are about the bytes before this position. */
  #known = 0;
  #bare = true;
  #blank = true;
  #prefix = "";
  constructor(tape) {
    this.#tape = tape;
  }
  /** True if only NULs and BOMs stand before `position` on its line: a record may begin here. */
  bare(position) {
    return this.#walk(position, (byte) => byte === NUL, this.#bare);
  }
  /** True if only blanks, NULs and BOMs stand before `position` on its line. */
  blank(position) {
    return this.#walk(position, (byte) => byte === NUL || isBlank2(byte), this.#blank);
  }
  /** What stands before `position` on its line, if it is short and made of what may stand before a fence. */
  prefix(position) {
    const { view, base } = this.#tape;
    let at = position;
    while (at > this.#known && position - at <= MAX_PREFIX) {
      const byte = view[at - 1 - base];
      if (byte === LF) return this.#slice(at, position, "");
      if (!mayStandBeforeFence(byte)) return void 0;
      at--;
    }
    return at > this.#known || this.#prefix === void 0 ? void 0 : this.#slice(at, position, this.#prefix);
  }
  /** Notes the facts about the line at `position`, because the bytes before it are about to go. */
  remember(position) {
    if (position <= this.#known) return;
    const bare = this.bare(position);
    const blank = this.blank(position);
    this.#prefix = this.prefix(position);
    this.#bare = bare;
    this.#blank = blank;
    this.#known = position;
  }
  #walk(position, passes, before) {
    const { view, base } = this.#tape;
    let at = position;
    while (at > this.#known) {
      const byte = view[at - 1 - base];
      if (byte === LF) return true;
      if (passes(byte)) at--;
      else if (at - 3 >= this.#known && bomAt(view, at - 3 - base) === 3) at -= 3;
      else return false;
    }
    return before;
  }
  #slice(from, to, before) {
    const { view, base } = this.#tape;
    const prefix = before + view.toString("latin1", from - base, to - base);
    return prefix.length <= MAX_PREFIX ? prefix : void 0;
  }
};
function mayStandBeforeFence(byte) {
  if (byte === void 0) return false;
  return PREFIX_BYTES[byte] === 1;
}
var PREFIX_BYTES = new Uint8Array(256);
for (const byte of Buffer.from(" 	>-*+0123456789.)\uFEFF")) PREFIX_BYTES[byte] = 1;

// src/frames/tape.ts
var Tape = class {
  /** The bytes at hand; `view[0]` stands at the absolute position `base`. */
  view = EMPTY;
  base = 0;
  /** One past the last clean byte. */
  end = 0;
  /** Bytes removed so far, over the whole channel. */
  #removed = 0;
  /** Bytes removed before `view[0]`. */
  #removedAtBase = 0;
  /** From the clean position `at` on, `removed` bytes had been taken out before. */
  #marks = [];
  /** The buffer that `view` looks into, if it is ours to write to. */
  #own;
  /** So many bytes will be held at most: the limit of a frame and the chunk that reaches it. */
  #roof;
  constructor(maxFrame) {
    this.#roof = maxFrame + MAX_CHUNK;
  }
  /** Adds clean bytes. They may be looked at in place until the next `settle`. */
  append(chunk) {
    const live = this.end - this.base;
    if (live === 0) this.view = chunk;
    else {
      const room = this.#roomFor(live + chunk.length);
      if (this.view.buffer !== room.buffer) room.set(this.view);
      room.set(chunk, live);
      this.view = room.subarray(0, live + chunk.length);
    }
    this.end += chunk.length;
  }
  /** Lets go of everything before `keep`, and of the caller's chunk: what is left is a copy of our own. */
  settle(keep) {
    const left = this.view.subarray(keep - this.base);
    if (left.length === 0) {
      this.view = EMPTY;
      if (this.#own && this.#own.length > SMALL) this.#own = void 0;
    } else if (keep > this.base || left.buffer !== this.#own?.buffer) {
      if (left.buffer === this.#own?.buffer && keep - this.base < left.length) return;
      const room = this.#roomFor(left.length);
      room.set(left);
      this.view = room.subarray(0, left.length);
    }
    this.base = keep;
    if (this.#marks.length > 0) this.#forgetMarks();
  }
  /** Says that `count` bytes of the original were taken out here. */
  remove(count2) {
    const last = this.#marks.at(-1);
    this.#removed += count2;
    if (last?.at === this.end) last.removed = this.#removed;
    else this.#marks.push({ at: this.end, removed: this.#removed });
  }
  /** Where the clean byte at `position` stood in the original channel. */
  origin(position) {
    if (this.#marks.length === 0) return position + this.#removed;
    const mark = this.#marks[this.#lastMark((m) => m.at <= position)];
    return position + (mark ? mark.removed : this.#removedAtBase);
  }
  /** The original length of everything taken so far. */
  get originEnd() {
    return this.end + this.#removed;
  }
  /** The first clean position that stood at or after `origin`; past the end if it is not here yet. */
  positionOf(origin) {
    if (this.#marks.length === 0) return origin - this.#removed;
    const index = this.#lastMark((m) => m.at + m.removed <= origin);
    const mark = this.#marks[index];
    const position = origin - (mark ? mark.removed : this.#removedAtBase);
    const next = this.#marks[index + 1];
    return next ? Math.min(position, next.at) : position;
  }
  /** A buffer of ours with room for `size` bytes. It may be the one in use. */
  #roomFor(size) {
    const own = this.#own;
    if (own && own.length >= size && (own.length <= SMALL || size > own.length >> 5)) return own;
    const capacity = size <= SMALL ? SMALL : Math.max(2 * size, Math.min(this.#roof, LARGE));
    this.#own = Buffer.allocUnsafeSlow(capacity);
    return this.#own;
  }
  /** Marks before the base only matter as a sum. */
  #forgetMarks() {
    const index = this.#lastMark((m) => m.at <= this.base);
    const mark = this.#marks[index];
    if (!mark) return;
    this.#removedAtBase = mark.removed;
    this.#marks.splice(0, index + 1);
    if (this.#marks.length === 0) this.#removedAtBase = this.#removed;
  }
  /** Index of the last mark for which `holds` is true; it is true for a prefix of the list. */
  #lastMark(holds) {
    let low = 0;
    let high = this.#marks.length;
    while (low < high) {
      const middle = low + high >> 1;
      if (holds(this.#marks[middle])) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
};
var EMPTY = Buffer.alloc(0);
var MAX_CHUNK = 1 << 20;
var SMALL = 1 << 18;
var LARGE = 1 << 25;

// src/frames/scan.ts
var Scan = class {
  tape;
  head;
  maxFrame;
  /** Where prose goes on; while a frame is open, where it began. */
  position = 0;
  inside;
  ended = false;
  /** Set while an unclosed think block is read again: its payloads say so. */
  unclosedThink = false;
  #channel;
  #next;
  #withText;
  /** Original offset of the first byte that no frame has taken yet. */
  #textFrom = 0;
  #textBlank = true;
  /** Up to here the text has been looked at for blanks; a clean position. */
  #textSeen = 0;
  constructor(channel, next, options) {
    this.#channel = channel;
    this.#next = next;
    this.maxFrame = options.maxFrame;
    this.tape = new Tape(options.maxFrame);
    this.head = new LineHead(this.tape);
    this.#withText = options.text;
  }
  enter(inside) {
    this.inside = inside;
  }
  /** Back to prose, at `position`. */
  leave(position) {
    this.inside = void 0;
    this.position = position;
  }
  /** The first position that a frame which began at `from` must not look at. */
  limit(from) {
    return this.tape.positionOf(this.tape.origin(from) + this.maxFrame);
  }
  decode(from, to) {
    return decode(this.tape.view, from - this.tape.base, to - this.tape.base);
  }
  byte(position) {
    return this.tape.view[position - this.tape.base];
  }
  /** Emits a payload frame, the text before it first, and goes on in prose after it. */
  cut(cut) {
    const { tape } = this;
    const from = tape.origin(cut.from);
    this.#flushText(from, cut.from);
    const to = tape.origin(cut.to - 1) + 1;
    const frame = {
      kind: cut.kind,
      channel: this.#channel,
      from,
      to,
      text: cut.text
    };
    if (cut.label !== void 0) frame.label = cut.label;
    if (cut.open) frame.open = true;
    if (cut.first) frame.first = true;
    const notes = this.#notes(cut);
    if (notes) frame.notes = notes;
    this.#textFrom = to;
    this.#textBlank = true;
    this.#textSeen = cut.to;
    this.leave(cut.to);
    this.#next.write(frame);
  }
  /** Emits the text before a position as it is, because what follows is text for another reason. */
  cutTextBefore(position) {
    const origin = this.tape.origin(position);
    this.#flushText(origin, position);
    this.#textFrom = Math.max(this.#textFrom, origin);
  }
  /** Emits `[from, to)` as a text frame of its own, in original offsets; `position` is the clean one of `to`. */
  cutText(from, to, position, note) {
    this.#text(from, to, false, note);
    this.#textFrom = to;
    this.#textBlank = true;
    this.#textSeen = position;
  }
  /** The bytes before `position` will not be asked for again. */
  settle() {
    const { tape } = this;
    let keep = this.inside ? this.inside.keep : this.position;
    if (this.byte(keep - 1) === 239) keep -= 1;
    else if (this.byte(keep - 1) === 187 && this.byte(keep - 2) === 239) keep -= 2;
    this.#examine(keep);
    this.head.remember(keep);
    tape.settle(keep);
  }
  /** The channel is over: whatever no frame has taken is text. */
  close() {
    this.#flushText(this.tape.originEnd, this.tape.end);
  }
  #notes(cut) {
    const { view, base } = this.tape;
    const invalid = firstInvalid(cut.text, view, cut.textFrom - base, cut.textTo - base);
    if (invalid < 0 && !this.unclosedThink) return void 0;
    const notes = [];
    if (invalid >= 0) {
      const at = this.tape.origin(invalid + base);
      notes.push({ code: "INVALID_UTF8", message: `byte ${at} of ${this.#channel} is not UTF-8`, at });
    }
    if (this.unclosedThink)
      notes.push({ code: "THINK_UNCLOSED", message: "found in a think block that was never closed" });
    return notes;
  }
  #flushText(to, position) {
    if (to <= this.#textFrom) return;
    this.#examine(position);
    this.#text(this.#textFrom, to, this.#textBlank, void 0);
  }
  #text(from, to, blank, note) {
    if (!this.#withText && !note) return;
    const frame = { kind: "text", channel: this.#channel, from, to, text: "", blank };
    this.#next.write(note ? { ...frame, notes: [note] } : frame);
  }
  /** Finds out whether the text up to `position` is blank; stops at the first byte that is not. */
  #examine(position) {
    const { view, base } = this.tape;
    if (this.#textBlank) {
      for (let at = this.#textSeen; at < position; at++) {
        const byte = view[at - base];
        if (byte === NUL || isBlank2(byte)) continue;
        if (at + 3 <= position && bomAt(view, at - base) === 3) at += 2;
        else {
          this.#textBlank = false;
          break;
        }
      }
    }
    if (position > this.#textSeen) this.#textSeen = position;
  }
};

// src/frames/frames.ts
var DEFAULT_MAX_FRAME = 16 * 1024 * 1024;
function frameStage(options = {}) {
  const complete = withDefaults(options);
  return (next) => {
    const channels = /* @__PURE__ */ new Map();
    return {
      write(chunk) {
        if (chunk.channel === "exit") return;
        let scanner = channels.get(chunk.channel);
        if (!scanner) {
          scanner = scanChannel(chunk.channel, complete, next);
          channels.set(chunk.channel, scanner);
        }
        scanner.write(chunk.bytes);
      },
      end() {
        for (const scanner of channels.values()) scanner.end();
        next.end();
      }
    };
  };
}
function scanChannel(channel, options, next) {
  const scan2 = new Scan(channel, next, options);
  const lookOutside = prose(scan2, options);
  const remover = escapeRemover({
    keep: (bytes) => scan2.tape.append(bytes),
    drop: (count2) => scan2.tape.remove(count2)
  });
  function run() {
    while (scan2.inside ? scan2.inside.look() : lookOutside()) {
    }
  }
  return {
    write(bytes) {
      remover.write(
        Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      );
      run();
      scan2.settle();
    },
    end() {
      remover.end();
      scan2.ended = true;
      run();
      while (scan2.inside) {
        scan2.inside.finish();
        run();
      }
      scan2.close();
    }
  };
}
function withDefaults(options) {
  const { tags = ["json"], maxFrame = DEFAULT_MAX_FRAME } = options;
  for (const name of tags) {
    if (!/^[A-Za-z][A-Za-z0-9_:.-]{0,63}$/.test(name)) {
      throw new Fault(
        "BAD_OPTION",
        `tags: "${name}" is no tag name; use letters, digits, "-", "_", "." or ":"`
      );
    }
  }
  if (!Number.isSafeInteger(maxFrame) || maxFrame < 1) {
    throw new Fault("BAD_OPTION", `maxFrame must be a positive number of bytes, not ${maxFrame}`);
  }
  return {
    tags,
    maxFrame,
    fences: options.fences ?? true,
    lines: options.lines ?? true,
    objects: options.objects ?? true,
    think: options.think ?? true,
    text: options.text ?? true,
    needsPayload: options.needsPayload ?? false,
    loose: options.loose ?? false,
    document: options.document ?? false
  };
}

// src/values/head.ts
function headOf(max) {
  let kept = Buffer.alloc(0);
  let length = 0;
  let size = 0;
  return {
    add(bytes) {
      size += bytes.length;
      if (!kept || length >= max) return;
      const take = Math.min(bytes.length, max - length);
      if (length + take > kept.length) {
        const grown = Buffer.allocUnsafe(Math.min(max, Math.max(2 * kept.length, length + take, 1024)));
        kept.copy(grown, 0, 0, length);
        kept = grown;
      }
      kept.set(bytes.subarray(0, take), length);
      length += take;
    },
    drop() {
      kept = void 0;
    },
    comment() {
      const truncated = size > length;
      const to = truncated && kept ? characterStart(kept, length) : length;
      return { text: kept?.toString("utf8", 0, to) ?? "", truncated, from: 0, to };
    },
    get size() {
      return size;
    }
  };
}
function characterStart(bytes, end) {
  let start = end;
  while (start > 0 && start > end - 4 && (bytes[start - 1] & 192) === 128) start--;
  const lead = bytes[start - 1] ?? 0;
  const width = lead >= 240 ? 4 : lead >= 224 ? 3 : lead >= 192 ? 2 : 1;
  return start - 1 + width <= end ? end : start - 1;
}

// src/values/control.ts
function controlsEscaped(text2) {
  const pieces = [];
  let copied = 0;
  let count2 = 0;
  for (let open = text2.indexOf('"'); open >= 0; ) {
    const close = stringEnd(text2, open);
    const end = close < 0 ? text2.length : close;
    for (let i = open + 1; i < end; i++) {
      const unit = text2.charCodeAt(i);
      if (unit >= SPACE2) continue;
      pieces.push(text2.slice(copied, i), escapeOf(unit));
      copied = i + 1;
      count2++;
    }
    open = close < 0 ? -1 : text2.indexOf('"', close + 1);
  }
  if (count2 === 0) return { text: text2, count: count2 };
  pieces.push(text2.slice(copied));
  return { text: pieces.join(""), count: count2 };
}
function escapeOf(unit) {
  return short.get(unit) ?? `\\u${unit.toString(16).padStart(4, "0")}`;
}
var SPACE2 = 32;
var short = /* @__PURE__ */ new Map([
  [8, "\\b"],
  [9, "\\t"],
  [10, "\\n"],
  [12, "\\f"],
  [13, "\\r"]
]);

// src/values/fence-body.ts
function* fenceBodies(text2, gate2) {
  if (!text2.includes("```") && !text2.includes("~~~")) return;
  const values = spans(text2, gate2);
  let span = values.next().value;
  let line = 0;
  while (line < text2.length) {
    while (span && span.to >= 0 && line >= span.to) span = values.next().value;
    const end = lineEnd(text2, line);
    const fence = openerAt(text2, line, end);
    if (!fence || span && line > span.from && line < span.to) {
      line = end + 1;
      continue;
    }
    const closer = closerAfter(text2, end + 1, fence);
    const body = text2.slice(end + 1, closer.from);
    if (isPayloadFence(fence.info, body)) yield body;
    line = closer.to;
  }
}
function isPayloadFence(info, body) {
  if (info === "") {
    const first = body[skipBlanks(body, 0)];
    return first === "{" || first === "[";
  }
  const blank = info.search(/[ \t]/);
  const word2 = (blank < 0 ? info : info.slice(0, blank)).toLowerCase();
  return word2 === "json" || word2 === "json5" || word2 === "jsonc";
}
var MAX_INFO = 1024;
function openerAt(text2, line, end) {
  const at = indentEnd(text2, line);
  const mark = text2[at];
  if (at - line > 3 || mark !== "`" && mark !== "~") return void 0;
  const length = runLength(text2, at);
  if (length < 3 || end - at - length > MAX_INFO) return void 0;
  const info = text2.slice(at + length, end).trim();
  if (mark === "`" && info.includes("`")) return void 0;
  return { mark, length, info };
}
function closerAfter(text2, from, fence) {
  for (let line = from; line < text2.length; ) {
    const end = lineEnd(text2, line);
    const at = indentEnd(text2, line);
    if (at - line <= 3 && text2[at] === fence.mark) {
      const length = runLength(text2, at);
      if (length >= fence.length && skipBlanks(text2, at + length) >= end) {
        return { from: Math.max(from, line - 1), to: end + 1 };
      }
    }
    line = end + 1;
  }
  return { from: text2.length, to: text2.length };
}
function lineEnd(text2, from) {
  const end = text2.indexOf("\n", from);
  return end < 0 ? text2.length : end;
}
function indentEnd(text2, line) {
  let i = line;
  while (i < line + 4 && text2[i] === " ") i++;
  return i;
}
function runLength(text2, at) {
  let i = at;
  while (text2[i] === text2[at] && i < text2.length) i++;
  return i - at;
}

// src/values/proto.ts
function mayHoldProtoKey(text2) {
  return text2.includes("__proto__") || text2.includes("constructor") || text2.includes("\\u00");
}
function removeProtoKeys(root) {
  let removed = 0;
  const open = [root];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== "object" || value === null) continue;
    if (Array.isArray(value)) {
      for (const item of value) if (typeof item === "object") open.push(item);
      continue;
    }
    const record = value;
    for (const key of Object.keys(record)) {
      if (key === "__proto__" || key === "constructor" && holdsPrototype(record[key])) {
        delete record[key];
        removed++;
      } else if (typeof record[key] === "object") open.push(record[key]);
    }
  }
  return removed;
}
function holdsPrototype(value) {
  return typeof value === "object" && value !== null && Object.hasOwn(value, "prototype");
}

// src/values/attempt.ts
function attempt(text2, rules) {
  if (isDeeper(text2, rules.maxDepth)) {
    return { kind: "broken", code: "MAX_DEPTH", detail: `more than ${rules.maxDepth} levels` };
  }
  let value;
  try {
    value = JSON.parse(text2);
  } catch (cause) {
    return { kind: "broken", code: "INVALID_JSON", detail: "", cause };
  }
  let notes = NONE;
  if (rules.protoKeys !== "keep" && mayHoldProtoKey(text2)) {
    const removed = removeProtoKeys(value);
    if (removed > 0) {
      if (rules.protoKeys === "error") return { kind: "rejected", code: "PROTO_KEY", detail: "" };
      notes = [{ code: "PROTO_KEY", message: `removed ${removed} key(s) that reach for a prototype` }];
    }
  }
  if (rules.root === "object" && !isRecord(value)) {
    return { kind: "rejected", code: "ROOT_NOT_OBJECT", detail: `it is ${nameOf(value)}` };
  }
  return judge2(value, notes, rules);
}
var NONE = [];
function judge2(parsed, notes, rules) {
  const response = isRecord(parsed) && Object.hasOwn(parsed, "response") ? parsed["response"] : void 0;
  const envelope = typeof response === "string" ? { envelope: response } : void 0;
  let value = parsed;
  for (const [index, normalizer] of rules.normalize.entries()) {
    try {
      value = normalizer(value);
      if (value instanceof Promise) {
        value.catch(() => {
        });
        throw new TypeError("a normalizer must not be async");
      }
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      const detail2 = `normalizer ${index + 1}: ${why}`;
      return { kind: "rejected", code: "NORMALIZE_FAILED", detail: detail2, cause, value: parsed, ...envelope };
    }
  }
  if (!rules.check) return { kind: "passed", value, notes };
  const checked = rules.check(value);
  if ("value" in checked) return { kind: "passed", value: checked.value, notes };
  const [first, ...more] = checked.errors;
  const detail = first ? `${first.path || "the root"} ${first.message}${more.length > 0 ? ` (and ${more.length} more)` : ""}` : "";
  return { kind: "rejected", code: "SCHEMA_FAILED", detail, errors: checked.errors, ...envelope };
}
function isRecord(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
function nameOf(value) {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : `a ${typeof value}`;
}

// src/values/inspect.ts
function inspect(text2) {
  if (text2.length > MAX_TEXT) return [];
  const open = [];
  let twice;
  let lost;
  let atKey = false;
  for (let i = 0; i < text2.length; i++) {
    const unit = text2.charCodeAt(i);
    switch (unit) {
      case QUOTE5: {
        const end = stringEnd(text2, i);
        if (atKey) {
          const keys = open[open.length - 1];
          const key = keyOf(text2, i, end);
          if (keys?.has(key)) twice ??= key;
          keys?.add(key);
          atKey = false;
        }
        i = end;
        break;
      }
      case BRACE3:
        open.push(/* @__PURE__ */ new Set());
        atKey = true;
        break;
      case BRACKET3:
        open.push(void 0);
        break;
      case CLOSING_BRACE3:
      case CLOSING_BRACKET3:
        open.pop();
        atKey = false;
        break;
      case COMMA:
        atKey = open[open.length - 1] !== void 0;
        break;
      default:
        if (unit === MINUS || unit >= 48 && unit <= 57) {
          const from = i;
          while (isNumberPart(text2.charCodeAt(i + 1))) i++;
          const token = text2.slice(from, i + 1);
          if (!survives(token)) lost ??= token;
        }
    }
  }
  const notes = [];
  if (twice !== void 0) {
    notes.push({
      code: "DUPLICATE_KEY",
      message: `the key ${quote(twice)} occurs twice; the last value was taken`
    });
  }
  if (lost !== void 0) {
    notes.push({ code: "PRECISION_LOSS", message: `${quote(lost)} does not survive as a JavaScript number` });
  }
  return notes;
}
var MAX_TEXT = 1 << 20;
function keyOf(text2, open, close) {
  const raw = text2.slice(open + 1, close);
  return raw.includes("\\") ? JSON.parse(text2.slice(open, close + 1)) : raw;
}
function survives(token) {
  if (token.length < 16 && !/e/i.test(token)) return true;
  const value = Number(token);
  if (!Number.isFinite(value)) return false;
  if (/[.e]/i.test(token)) return value !== 0 || !/^-?[0.]*[1-9]/.test(token);
  return Number.isSafeInteger(value) || BigInt(value) === BigInt(token);
}
function isNumberPart(unit) {
  return unit >= 48 && unit <= 57 || unit === DOT || unit === MINUS || unit === 43 || unit === 101 || unit === 69;
}
var QUOTE5 = 34;
var COMMA = 44;
var MINUS = 45;
var DOT = 46;
var BRACKET3 = 91;
var CLOSING_BRACKET3 = 93;
var BRACE3 = 123;
var CLOSING_BRACE3 = 125;

// src/values/marks.ts
function marksDropped(text2) {
  const pieces = [];
  let copied = 0;
  let count2 = 0;
  let quote2 = text2.indexOf('"');
  const marks = markFinder(text2);
  let mark = marks(0);
  while (mark >= 0) {
    if (quote2 >= 0 && quote2 < mark) {
      const close = stringEnd(text2, quote2);
      if (close < 0) break;
      quote2 = text2.indexOf('"', close + 1);
      if (mark < close) mark = marks(close + 1);
      continue;
    }
    pieces.push(text2.slice(copied, mark));
    copied = markEnd(text2, mark);
    count2++;
    mark = marks(copied);
  }
  if (count2 === 0) return { text: text2, count: count2 };
  pieces.push(text2.slice(copied));
  return { text: pieces.join(""), count: count2 };
}
function markFinder(text2) {
  let ticks = -2;
  let tildes = -2;
  return (from) => {
    if (ticks !== -1 && ticks < from) ticks = text2.indexOf("```", from);
    if (tildes !== -1 && tildes < from) tildes = text2.indexOf("~~~", from);
    return ticks < 0 || tildes < 0 ? Math.max(ticks, tildes) : Math.min(ticks, tildes);
  };
}
function markEnd(text2, mark) {
  let end = mark;
  while (text2[end] === text2[mark]) end++;
  const label = /^[A-Za-z0-9]{1,16}[ \t]*(?=\r?\n|$)/.exec(text2.slice(end, end + 64));
  return end + (label?.[0].length ?? 0);
}

// src/values/mend.ts
function mend(text2, cut = false) {
  const machine = new Mender(text2, cut);
  return machine.run() ? machine.result() : void 0;
}
var Mender = class {
  #text;
  #cut;
  /** In the order of their making: a trailing comma is known as such only behind the blanks after it. */
  #edits = [];
  /** How often each kind of change was made. */
  #changes = /* @__PURE__ */ new Map();
  #at = 0;
  #state = "value";
  /** True for an array, false for an object. */
  #open = [];
  /** Where the comma stands that a closing bracket would make a trailing one. */
  #comma = -1;
  /** One past the last value: a missing comma is added there. */
  #valueEnd = 0;
  constructor(text2, cut) {
    this.#text = text2;
    this.#cut = cut;
  }
  run() {
    for (; ; ) {
      if (!this.#skip()) return this.#cut;
      if (this.#at >= this.#text.length) return this.#cut || this.#state === "end";
      if (!this.#step()) return false;
      if (this.#at > this.#text.length) return this.#cut;
    }
  }
  result() {
    const pieces = [];
    let copied = 0;
    for (const { from, to, by } of this.#edits.sort((a, b) => a.from - b.from)) {
      pieces.push(this.#text.slice(copied, from), by);
      copied = to;
    }
    pieces.push(this.#text.slice(copied));
    const changes = [...this.#changes].map(([what, times]) => `${what} (${times})`);
    return { text: pieces.join(""), changes };
  }
  #step() {
    const unit = this.#text.charCodeAt(this.#at);
    switch (this.#state) {
      case "end":
        return false;
      case "colon":
        if (unit !== COLON3) return false;
        this.#at++;
        this.#state = "value";
        return true;
      case "comma":
        if (unit === COMMA2) {
          this.#comma = this.#at++;
          this.#state = this.#inArray() ? "value" : "key";
          return true;
        }
        if (unit === CLOSING_BRACE4 || unit === CLOSING_BRACKET4) return this.#close(unit);
        if (this.#at === this.#valueEnd && !isQuote(unit) && unit !== BRACE4 && unit !== BRACKET4) return false;
        if (unit === COLON3) return false;
        this.#edit(this.#valueEnd, this.#valueEnd, ",", "added a missing comma");
        this.#state = this.#inArray() ? "value" : "key";
        return true;
      case "first key":
      case "key":
        if (unit === CLOSING_BRACE4) return this.#close(unit);
        return this.#key(unit);
      case "first value":
      case "value":
        if (unit === CLOSING_BRACKET4 && this.#open.length > 0 && this.#inArray()) return this.#close(unit);
        return this.#value(unit);
    }
  }
  /** Blanks and comments. False for a comment that never ends. */
  #skip() {
    const text2 = this.#text;
    while (this.#at < text2.length) {
      const unit = text2.charCodeAt(this.#at);
      if (unit === 32 || unit === 10 || unit === 13 || unit === 9) this.#at++;
      else if (unit === 160 || unit === 65279 || unit === 8232 || unit === 8233 || unit === 12288) {
        this.#edit(this.#at, this.#at + 1, " ", "replaced unusual blanks");
        this.#at++;
      } else if (unit === SLASH3) {
        const line = text2[this.#at + 1] === "/";
        if (!line && text2[this.#at + 1] !== "*") return true;
        const found = text2.indexOf(line ? "\n" : "*/", this.#at + 2);
        if (found < 0 && !line) return false;
        const end = found < 0 ? text2.length : line ? found : found + 2;
        this.#edit(this.#at, end, "", "dropped comments");
        this.#at = end;
      } else break;
    }
    return true;
  }
  #value(unit) {
    if (unit === BRACE4 || unit === BRACKET4) {
      this.#open.push(unit === BRACKET4);
      this.#state = unit === BRACKET4 ? "first value" : "first key";
      this.#comma = -1;
      this.#at++;
      return true;
    }
    const done = isQuote(unit) ? this.#string(false) : this.#bare();
    if (done) this.#afterValue();
    return done;
  }
  #key(unit) {
    this.#state = "colon";
    if (isQuote(unit)) return this.#string(true);
    const from = this.#at;
    let i = from;
    while (isKeyPart(this.#text.charCodeAt(i))) i++;
    if (i === from) return false;
    if (i === this.#text.length) return this.#dropCut(from);
    this.#edit(from, i, JSON.stringify(this.#text.slice(from, i)), "quoted keys");
    this.#at = i;
    return true;
  }
  #close(unit) {
    if (this.#open.pop() !== (unit === CLOSING_BRACKET4)) return false;
    if (this.#comma >= 0) this.#edit(this.#comma, this.#comma + 1, "", "dropped trailing commas");
    this.#at++;
    this.#afterValue();
    return true;
  }
  #afterValue() {
    this.#comma = -1;
    this.#valueEnd = this.#at;
    this.#state = this.#open.length === 0 ? "end" : "comma";
  }
  //  "he said "hi" twice", 'it\'s', “so”
  //           ^  ^ inner quotes: what follows does not look like the end of a value
  #string(key) {
    const text2 = this.#text;
    const opening = text2.charCodeAt(this.#at);
    if (opening !== QUOTE6) this.#edit(this.#at, this.#at + 1, '"', "replaced other quotes");
    let i = this.#at + 1;
    while (i < text2.length) {
      const unit = text2.charCodeAt(i);
      if (unit === BACKSLASH4) {
        const kind = text2[i + 1];
        if (kind === void 0) break;
        if (kind !== "'" && kind !== "`" && !isEscape(text2, i)) {
          this.#edit(i, i, "\\", "escaped backslashes");
          i++;
          continue;
        }
        if (kind === "'" || kind === "`") this.#edit(i, i + 1, "", "dropped needless backslashes");
        i += 2;
      } else if (closes(unit, opening)) {
        if (key || this.#endsValue(i + 1)) {
          if (unit !== QUOTE6) this.#edit(i, i + 1, '"', "replaced other quotes");
          this.#at = i + 1;
          return true;
        }
        if (unit === QUOTE6) this.#edit(i, i, "\\", "escaped quotes");
        i++;
      } else {
        if (unit === QUOTE6) this.#edit(i, i, "\\", "escaped quotes");
        else if (unit < 32) this.#edit(i, i + 1, escapeOf(unit), "escaped control characters");
        i++;
      }
    }
    this.#at = text2.length + 1;
    return this.#cut;
  }
  /** Does what follows a quote look like the end of a value? */
  #endsValue(from) {
    const text2 = this.#text;
    let i = from;
    let broke = false;
    while (isSpace(text2.charCodeAt(i))) if (text2.charCodeAt(i++) === LF2) broke = true;
    const unit = text2.charCodeAt(i);
    if (i >= text2.length || unit === CLOSING_BRACE4 || unit === CLOSING_BRACKET4) return true;
    if (unit === SLASH3) return text2[i + 1] === "/" || text2[i + 1] === "*";
    if (isQuote(unit)) return broke;
    if (unit !== COMMA2) return false;
    i++;
    while (isSpace(text2.charCodeAt(i))) i++;
    const next = text2.charCodeAt(i);
    if (i >= text2.length || isQuote(next) || next === SLASH3) return true;
    if (next === CLOSING_BRACE4 || next === CLOSING_BRACKET4) return true;
    if (this.#inArray()) return next === BRACE4 || next === BRACKET4 || isNumberOrWord(text2, i);
    const word2 = i;
    while (i < word2 + MAX_WORD && isKeyPart(text2.charCodeAt(i))) i++;
    while (isSpace(text2.charCodeAt(i))) i++;
    return text2.charCodeAt(i) === COLON3;
  }
  /** A number, a literal, or a word without quotes. */
  #bare() {
    const text2 = this.#text;
    const from = this.#at;
    let i = from;
    while (i < text2.length && isBarePart(text2.charCodeAt(i))) i++;
    if (i === text2.length && this.#cut) return this.#dropCut(from);
    if (i === from || i - from > MAX_WORD) return false;
    const word2 = text2.slice(from, i);
    this.#at = i;
    if (number.test(word2) || literals.has(word2)) return true;
    const python = pythonic.get(word2);
    if (python) {
      this.#edit(from, i, python, "spelled literals as JSON does");
      return true;
    }
    if (/^[+]?\.?\d/.test(word2)) {
      const plain = word2.replace(/^\+/, "").replace(/^\./, "0.");
      if (!number.test(plain)) return false;
      this.#edit(from, i, plain, "spelled numbers as JSON does");
      return true;
    }
    if (!plainWord.test(word2) || isCutLiteral(word2)) return false;
    this.#edit(from, i, JSON.stringify(word2), "quoted words");
    return true;
  }
  /** A word that the end of the text touches may be half a word. */
  #dropCut(from) {
    if (this.#cut) this.#edit(from, this.#text.length, "", "dropped a cut word");
    this.#at = this.#text.length + 1;
    return this.#cut;
  }
  #inArray() {
    return this.#open[this.#open.length - 1] === true;
  }
  #edit(from, to, by, change) {
    this.#edits.push({ from, to, by });
    this.#changes.set(change, (this.#changes.get(change) ?? 0) + 1);
  }
};
var MAX_WORD = 256;
var number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
var plainWord = /^-?[\p{L}_$][\p{L}\p{N}_$./@-]*$/u;
var literals = /* @__PURE__ */ new Set(["true", "false", "null"]);
var pythonic = /* @__PURE__ */ new Map([
  ["True", "true"],
  ["TRUE", "true"],
  ["False", "false"],
  ["FALSE", "false"],
  ["None", "null"],
  ["NULL", "null"]
]);
function isCutLiteral(word2) {
  const lower = word2.toLowerCase();
  return word2 === "undefined" || ["true", "false", "null", "none"].some((whole) => whole.startsWith(lower) && whole !== lower);
}
function isQuote(unit) {
  return unit === QUOTE6 || unit === APOSTROPHE3 || unit === BACKTICK2 || unit >= 8216 && unit <= 8223;
}
function closes(unit, opening) {
  if (opening <= BACKTICK2) return unit === opening;
  return opening <= 8219 ? unit >= 8216 && unit <= 8219 : unit >= 8220 && unit <= 8223;
}
function isEscape(text2, at) {
  const kind = text2[at + 1];
  if (kind === "u") return /^[0-9a-fA-F]{4}$/.test(text2.slice(at + 2, at + 6));
  return '"\\/bfnrt'.includes(kind);
}
function isKeyPart(unit) {
  return isWord(unit) || unit === MINUS2 || unit === DOT2;
}
function isBarePart(unit) {
  return isKeyPart(unit) || unit === PLUS || unit === AT || unit === SLASH3;
}
function isNumberOrWord(text2, at) {
  let i = at;
  while (i < at + MAX_WORD && isBarePart(text2.charCodeAt(i))) i++;
  const word2 = text2.slice(at, i);
  return number.test(word2) || literals.has(word2) || pythonic.has(word2);
}
function isSpace(unit) {
  return unit === 32 || unit === LF2 || unit === 13 || unit === 9;
}
var LF2 = 10;
var QUOTE6 = 34;
var APOSTROPHE3 = 39;
var PLUS = 43;
var COMMA2 = 44;
var MINUS2 = 45;
var DOT2 = 46;
var SLASH3 = 47;
var COLON3 = 58;
var AT = 64;
var BRACKET4 = 91;
var BACKSLASH4 = 92;
var CLOSING_BRACKET4 = 93;
var BACKTICK2 = 96;
var BRACE4 = 123;
var CLOSING_BRACE4 = 125;

// src/values/partial.ts
function closeCut(text2) {
  const cut = scanCut(text2);
  if (!cut) return void 0;
  const closers = cut.open.map(({ array }) => array ? "]" : "}").reverse();
  return { text: text2.slice(0, cut.kept) + cut.tail + closers.join(""), incomplete: paths(text2, cut) };
}
function isBeginning(text2) {
  return scanCut(text2) !== void 0;
}
function scanCut(text2) {
  const open = [];
  let state = "value";
  let kept = 0;
  let tail = "";
  let cutEntry = false;
  let at = 0;
  scan: while (at < text2.length) {
    const unit = text2.charCodeAt(at);
    if (unit === 32 || unit === 10 || unit === 13 || unit === 9) {
      at++;
      continue;
    }
    const level = open[open.length - 1];
    switch (state) {
      case "value":
      case "first value": {
        if (state === "first value" && unit === CLOSING_BRACKET5) {
          open.pop();
          state = after(open);
          kept = ++at;
          continue;
        }
        if (unit === QUOTE7) {
          const end = scanString(text2, at);
          if (end.broken) return void 0;
          if (!end.closed) {
            kept = end.at;
            tail = '"';
            cutEntry = true;
            break scan;
          }
          at = end.at;
        } else if (unit === BRACE5 || unit === BRACKET5) {
          open.push({ array: unit === BRACKET5, index: 0, keyFrom: 0, keyTo: 0 });
          state = unit === BRACE5 ? "first key" : "first value";
          kept = ++at;
          continue;
        } else if (unit === MINUS3 || isDigit2(unit)) {
          const end = scanNumber(text2, at);
          if (end < 0) return void 0;
          if (end === text2.length) {
            if (isDigit2(text2.charCodeAt(end - 1))) kept = end;
            cutEntry = true;
            break scan;
          }
          at = end;
        } else {
          const word2 = unit === 116 ? "true" : unit === 102 ? "false" : unit === 110 ? "null" : "";
          if (word2 === "") return void 0;
          const found = text2.slice(at, at + word2.length);
          if (!word2.startsWith(found)) return void 0;
          if (found.length < word2.length) {
            cutEntry = true;
            break scan;
          }
          at += word2.length;
        }
        kept = at;
        state = after(open);
        continue;
      }
      case "first key":
      case "key": {
        if (state === "first key" && unit === CLOSING_BRACE5) {
          open.pop();
          state = after(open);
          kept = ++at;
          continue;
        }
        if (unit !== QUOTE7) return void 0;
        const end = scanString(text2, at);
        if (end.broken) return void 0;
        if (!end.closed) break scan;
        level.keyFrom = at;
        level.keyTo = end.at;
        at = end.at;
        state = "colon";
        continue;
      }
      case "colon":
        if (unit !== COLON4) return void 0;
        state = "value";
        at++;
        continue;
      case "comma": {
        const array = level.array;
        if (unit === COMMA3) {
          if (array) level.index++;
          state = array ? "value" : "key";
        } else if (unit === (array ? CLOSING_BRACKET5 : CLOSING_BRACE5)) {
          open.pop();
          state = after(open);
          kept = at + 1;
        } else return void 0;
        at++;
        continue;
      }
      case "end":
        return void 0;
    }
  }
  if (state === "colon" || state === "value" && open.length > 0 && !open[open.length - 1].array) {
    cutEntry = true;
  }
  if (open.length === 0 && tail === "" && state !== "end") return void 0;
  return { open, kept, tail, cutEntry };
}
function after(open) {
  return open.length === 0 ? "end" : "comma";
}
function paths(text2, { open, cutEntry }) {
  const incomplete = [];
  let path = "";
  for (const [i, level] of open.entries()) {
    incomplete.push(path);
    if (i < open.length - 1 || cutEntry) {
      const key = level.array ? String(level.index) : JSON.parse(text2.slice(level.keyFrom, level.keyTo));
      path += `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    }
  }
  if (cutEntry) incomplete.push(path);
  return incomplete;
}
function scanString(text2, open) {
  let i = open + 1;
  let pair = -1;
  while (i < text2.length) {
    const unit = text2.charCodeAt(i);
    if (unit === QUOTE7) return { at: i + 1, closed: true, broken: false };
    if (unit < 32) return { at: i, closed: false, broken: true };
    if (unit !== BACKSLASH5) {
      i++;
      continue;
    }
    const kind = text2[i + 1];
    if (kind === void 0) break;
    if (kind !== "u") {
      if (!'"\\/bfnrt'.includes(kind)) return { at: i, closed: false, broken: true };
      i += 2;
      continue;
    }
    const digits = text2.slice(i + 2, i + 6);
    if (!/^[0-9a-fA-F]*$/.test(digits)) return { at: i, closed: false, broken: true };
    if (digits.length < 4) break;
    if (/^d[89ab]/i.test(digits)) pair = i;
    i += 6;
  }
  if (pair >= 0 && pair + 6 === i) i = pair;
  const last = text2.charCodeAt(i - 1);
  if (last >= 55296 && last <= 56319) i--;
  return { at: i, closed: false, broken: false };
}
function scanNumber(text2, from) {
  let i = from;
  if (text2.charCodeAt(i) === MINUS3) i++;
  if (i === text2.length) return i;
  if (text2.charCodeAt(i) === 48) i++;
  else {
    const digits = i;
    while (isDigit2(text2.charCodeAt(i))) i++;
    if (i === digits) return -1;
  }
  if (text2[i] === ".") {
    const digits = ++i;
    while (isDigit2(text2.charCodeAt(i))) i++;
    if (i === digits && i < text2.length) return -1;
  }
  if (text2[i] === "e" || text2[i] === "E") {
    i++;
    if (text2[i] === "+" || text2[i] === "-") i++;
    const digits = i;
    while (isDigit2(text2.charCodeAt(i))) i++;
    if (i === digits && i < text2.length) return -1;
  }
  return i;
}
function isDigit2(unit) {
  return unit >= 48 && unit <= 57;
}
var QUOTE7 = 34;
var COMMA3 = 44;
var MINUS3 = 45;
var COLON4 = 58;
var BRACKET5 = 91;
var BACKSLASH5 = 92;
var CLOSING_BRACKET5 = 93;
var BRACE5 = 123;
var CLOSING_BRACE5 = 125;

// src/values/repair.ts
import { jsonrepair } from "jsonrepair";
function repair(text2) {
  const mended = mend(text2);
  if (mended) return mended;
  if (balancedEnd(text2, skipBlanks(text2, 0)) < 0) return void 0;
  let repaired;
  try {
    repaired = jsonrepair(text2);
  } catch {
    return void 0;
  }
  if (skeleton(text2) !== skeleton(repaired) || quotesCutLiteral(text2, repaired)) return void 0;
  return { text: repaired, changes: ["moved quotes and commas (jsonrepair)"] };
}
function skeleton(text2) {
  return text2.replace(/[\s,"'`\\\u2018-\u201f]+/gu, "");
}
function quotesCutLiteral(text2, repaired) {
  for (const [quoted, word2] of repaired.matchAll(/"([A-Za-z]{1,9})"/g)) {
    if (isCutLiteral(word2) && !text2.includes(quoted)) return true;
  }
  return false;
}

// src/values/think.ts
function withoutThink(text2, gate2) {
  if (!text2.includes("<think")) return text2;
  const kept = [];
  let from = 0;
  for (; ; ) {
    const opener = nextOpener(text2, from);
    if (!opener) break;
    if (!spans(text2.slice(from, opener.at), gate2).next().done) break;
    const closer = text2.indexOf(opener.closer, opener.at);
    if (closer < 0) break;
    kept.push(text2.slice(from, opener.at));
    from = closer + opener.closer.length;
  }
  kept.push(text2.slice(from));
  return kept.join("");
}
function nextOpener(text2, from) {
  for (let at = text2.indexOf("<think", from); at >= 0; at = text2.indexOf("<think", at + 1)) {
    if (!isLineStart(text2, at, from)) continue;
    if (text2.startsWith("<think>", at)) return { at, closer: "</think>" };
    if (text2.startsWith("<thinking>", at)) return { at, closer: "</thinking>" };
  }
  return void 0;
}
function isLineStart(text2, at, from) {
  let i = at - 1;
  while (i >= from && i >= at - MAX_INDENT && (text2[i] === " " || text2[i] === "	" || text2[i] === "\r")) i--;
  return i < from || text2[i] === "\n" || text2[i] === "\uFEFF";
}
var MAX_INDENT = 1024;

// src/values/ladder.ts
function climb(text2, rules) {
  const asIs = attemptTrimmed(text2, rules);
  if (asIs.kind === "passed") return passOf(asIs, text2, NONE2, NONE2, rules);
  if (asIs.kind === "broken") {
    return asIs.code === "MAX_DEPTH" ? missOf(asIs, text2, false, NONE2) : climbOn(text2, rules, asIs, []);
  }
  if (asIs.envelope === void 0) return missOf(asIs, text2, true, NONE2);
  const inner = attemptTrimmed(asIs.envelope, rules);
  const changes = ['took the text in "response"'];
  if (inner.kind === "passed") return passOf(inner, asIs.envelope, changes, NONE2, rules);
  if (inner.kind === "rejected") return missOf(asIs, text2, true, NONE2);
  return climbOn(asIs.envelope, rules, asIs, changes);
}
function climbStrictly(text2, rules) {
  const asIs = attemptTrimmed(text2, rules);
  return asIs.kind === "passed" ? passOf(asIs, text2, NONE2, NONE2, rules) : missOf(asIs, text2, asIs.kind === "rejected", NONE2);
}
var NONE2 = [];
function attemptTrimmed(text2, rules) {
  const tried = attempt(text2, rules);
  if (tried.kind !== "broken" || tried.code === "MAX_DEPTH") return tried;
  const trimmed = trim(text2);
  return trimmed.length === text2.length ? tried : attempt(trimmed, rules);
}
function climbOn(start, rules, first, changes) {
  const gate2 = { loose: true, arrays: rules.root === "any" };
  const notes = [];
  const ambiguous = [];
  let text2 = trim(start);
  for (const rung of rungs) {
    const step = rung(text2, gate2, rules, notes);
    if (!step) continue;
    text2 = step.text;
    changes.push(...step.changes);
    const tried = attempt(text2, rules);
    const others = step.others;
    if (others) ambiguous.push(() => others().some((other) => attempt(other, rules).kind === "passed"));
    if (tried.kind === "passed") {
      if (ambiguous.some((more) => more())) notes.push(AMBIGUOUS);
      return {
        ...passOf(tried, text2, changes, notes, rules),
        ...step.incomplete && { incomplete: step.incomplete }
      };
    }
    if (tried.kind === "rejected") {
      const why = first.kind === "rejected" ? first : tried;
      return { ...missOf(why, text2, first.kind === "rejected", notes), cut: step.incomplete !== void 0 };
    }
  }
  return missOf(first, text2, first.kind === "rejected", notes);
}
var AMBIGUOUS = {
  code: "AMBIGUOUS",
  message: "more than one candidate inside the frame passes; the first was taken"
};
var rungs = [
  dropThink,
  takeFenceBody,
  takeFirstObject,
  escapeControls,
  dropMarks,
  repairSyntax,
  closeEnd
];
function dropThink(text2, gate2) {
  const left = withoutThink(text2, gate2);
  return left === text2 ? void 0 : { text: trim(left), changes: ["dropped the think block"] };
}
function takeFenceBody(text2, gate2) {
  const bodies = fenceBodies(text2, gate2);
  const body = bodies.next();
  if (body.done) return void 0;
  return { text: trim(body.value), changes: ["took the body of a fence"], others: () => [...bodies] };
}
function takeFirstObject(text2, gate2) {
  const found = spans(text2, gate2);
  const span = found.next().value;
  if (!span) return void 0;
  const object = text2.slice(span.from, span.to < 0 ? text2.length : span.to);
  if (object.length === text2.length) return void 0;
  const others = () => [...found].filter(({ to }) => to >= 0).map(({ from, to }) => text2.slice(from, to));
  return {
    text: object,
    changes: ["took the first object"],
    others
  };
}
function escapeControls(text2) {
  const escaped = controlsEscaped(text2);
  if (escaped.count === 0) return void 0;
  return { text: escaped.text, changes: [`escaped control characters in strings (${escaped.count})`] };
}
function dropMarks(text2) {
  const dropped = marksDropped(text2);
  if (dropped.count === 0) return void 0;
  return { text: dropped.text, changes: [`dropped fence marks inside the JSON (${dropped.count})`] };
}
function repairSyntax(text2, _gate, rules, notes) {
  if (text2[0] !== "{" && text2[0] !== "[") return void 0;
  if (text2.length > rules.maxRepair) {
    notes.push({
      code: "REPAIR_SKIPPED",
      message: `${text2.length} characters are more than maxRepair, ${rules.maxRepair}`
    });
    return void 0;
  }
  return repair(text2);
}
function closeEnd(text2, _gate, rules) {
  if (!rules.partial || text2[0] !== "{" && text2[0] !== "[") return void 0;
  const closed = closeCut(text2);
  if (closed) return { ...closed, changes: ["closed what the input left open"] };
  if (text2.length > rules.maxRepair) return void 0;
  const mended = mend(text2, true);
  const closedAfter = mended && closeCut(mended.text);
  if (!closedAfter) return void 0;
  return { ...closedAfter, changes: [...mended.changes, "closed what the input left open"] };
}
function passOf(passed, text2, changes, notes, rules) {
  const found = rules.look ? inspect(text2) : NONE2;
  const all = passed.notes.length + notes.length + found.length === 0 ? NONE2 : [...notes, ...passed.notes, ...found];
  return { ok: true, value: passed.value, changes, notes: all };
}
function missOf(tried, text2, strict, notes) {
  const cut = tried.kind === "broken" && isCut(text2);
  if (tried.kind === "rejected") {
    const { kind, envelope, ...why } = tried;
    return { ok: false, ...why, notes, strict, cut };
  }
  const { code, cause } = tried;
  const detail = tried.detail || (text2 === "" ? "it is blank" : `it starts with ${quote(text2)}`);
  return { ok: false, code, detail, cause, notes, strict, cut };
}
function isCut(text2) {
  const from = skipBlanks(text2, 0);
  return (text2[from] === "{" || text2[from] === "[") && balancedEnd(text2, from) < 0;
}
function trim(text2) {
  let from = 0;
  let to = text2.length;
  while (from < to && isMargin(text2.charCodeAt(from))) from++;
  while (to > from && isMargin(text2.charCodeAt(to - 1))) to--;
  return text2.slice(from, to);
}
function isMargin(unit) {
  return unit === 32 || unit === 10 || unit === 13 || unit === 9 || unit === 65279 || unit === 0;
}

// src/values/verdict.ts
function goodOf(frame, pass, why) {
  const changes = [...pass.changes];
  const notes = [];
  if (why) changes.unshift(why);
  if (frame.notes?.some(({ code }) => code === "THINK_UNCLOSED"))
    changes.unshift("read an unclosed think block");
  if (frame.open && pass.incomplete) notes.push({ code: "TRUNCATED", message: codes.TRUNCATED, at: frame.to });
  else if (frame.open && frame.kind === "tag") {
    changes.unshift("added the missing closing tag");
    notes.push({ code: "TAG_UNCLOSED", message: codes.TAG_UNCLOSED, at: frame.to });
  }
  if (changes.length + notes.length + pass.notes.length === 0 && !frame.notes) {
    return { ok: true, value: pass.value, repair_level: "none", notes: NONE3, frame };
  }
  if (changes.length > 0) {
    notes.unshift({ code: "OUTPUT_REPAIRED_GENERIC", message: codes.OUTPUT_REPAIRED_GENERIC, changes });
  }
  notes.push(...pass.notes, ...frame.notes ?? NONE3);
  return {
    ok: true,
    value: pass.value,
    repair_level: changes.length > 0 ? "deterministic_generic" : "none",
    notes,
    frame,
    ...pass.incomplete && { incomplete: pass.incomplete }
  };
}
function badOf(frame, miss, label) {
  const code = frame.open && miss.cut && miss.code !== "MAX_DEPTH" ? "TRUNCATED" : miss.code;
  const { errors, detail } = miss;
  const fault = faultOf(code, detail, label, {
    at: frame.from,
    ...errors && { errors },
    ...miss.cause !== void 0 && { cause: miss.cause },
    ..."value" in miss && { value: miss.value }
  });
  return { ok: false, fault, repair_level: "none", notes: [...miss.notes, ...frame.notes ?? NONE3], frame };
}
function tooLongOf(frame, note, label) {
  const fault = faultOf("FRAME_TOO_LONG", note.message, label, { at: frame.from });
  return { ok: false, fault, repair_level: "none", notes: frame.notes ?? NONE3, frame };
}
function nothingOf(code, channel, head, label) {
  const frame = { kind: "text", channel, from: 0, to: head.size, text: "", blank: code === "EMPTY" };
  const fault = faultOf(code, "", label, {});
  const bad = { ok: false, fault, repair_level: "none", notes: NONE3, frame };
  return code === "EMPTY" ? bad : { ...bad, comment: head.comment() };
}
var NONE3 = [];
function faultOf(code, detail, label, details) {
  const words = detail ? `${codes[code]}: ${detail}` : codes[code];
  return new Fault(code, label ? `${label}: ${words}` : words, details);
}

// src/values/judge.ts
function judgeStage(options) {
  const { rules, head } = options;
  return (next) => {
    let held;
    let found = false;
    let blank = true;
    let channel = "stdout";
    const emit = (outcome) => {
      found = true;
      head.drop();
      next.write(outcome);
    };
    const good = (frame, pass, why) => emit(goodOf(frame, pass, why));
    const bad = (frame, miss) => emit(badOf(frame, miss, options.label));
    function payload(frame, why) {
      const result = climb(frame.text, rules);
      if (result.ok) good(frame, result, why);
      else bad(frame, result);
    }
    function fence(frame) {
      if (isPayloadFence(frame.label ?? "", frame.text)) payload(frame, "took it from a fence");
      else if (rules.check) {
        const result = climbStrictly(frame.text, rules);
        if (result.ok) good(frame, result, "took it from a fence");
      }
    }
    function objectInProse(frame) {
      if (rules.root === "object" && frame.text[0] === "[") return;
      const mayRepair = rules.check !== void 0 || frame.open && rules.partial;
      const result = (mayRepair ? climb : climbStrictly)(frame.text, rules);
      if (result.ok) good(frame, result, "took it from prose");
      else if (result.strict || frame.open && isCutJson(frame.text)) bad(frame, result);
    }
    function release() {
      const frame = held;
      held = void 0;
      if (frame && opensInProse(frame.text, rules.check !== void 0)) objectInProse(frame);
    }
    function wholeInput(frame) {
      const result = climb(frame.text, rules);
      if (result.ok) good(frame, result, blank ? void 0 : "dropped the think block");
      else if (!frame.open || result.strict || isCutDocument(frame.text, rules.maxRepair)) bad(frame, result);
    }
    const sink = {
      write(frame) {
        channel = frame.channel;
        if (frame.kind === "text") {
          if (!frame.blank) {
            release();
            blank = false;
          }
          const tooLong2 = frame.notes?.find(isLostPayload);
          if (tooLong2) emit(tooLongOf(frame, tooLong2, options.label));
          return;
        }
        if (frame.first) {
          held = frame;
          return;
        }
        release();
        if (frame.kind === "fence") fence(frame);
        else if (frame.kind === "object") objectInProse(frame);
        else payload(frame);
        blank = false;
      },
      end() {
        if (held) wholeInput(held);
        if (!found) emit(nothingOf(blank && !held ? "EMPTY" : "NO_MATCH", channel, head, options.label));
        next.end();
      }
    };
    return sink;
  };
}
function isLostPayload({ code, message }) {
  return code === "FRAME_TOO_LONG" && !message.startsWith("a think block");
}
function isCutJson(text2) {
  return isBeginning(controlsEscaped(text2).text);
}
function isCutDocument(text2, maxRepair) {
  if (isCutJson(text2)) return true;
  const mended = text2[0] === "{" && text2.length <= maxRepair ? mend(text2, true) : void 0;
  return mended !== void 0 && isBeginning(mended.text);
}

// src/values/pick.ts
function pickStage(pick) {
  if (pick === "each") return (next) => next;
  return (next) => {
    let held;
    let done = false;
    const sink = {
      write(outcome) {
        if (done) return;
        if (pick === "last") held = outcome;
        else if (outcome.ok) {
          done = true;
          next.write(outcome);
        } else held ??= outcome;
      },
      end() {
        if (held && !done) next.write(held);
        next.end();
      }
    };
    return sink;
  };
}

// src/values/json-schema.ts
import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
function jsonSchema(schema) {
  const known = compiled.get(schema);
  if (known) return known;
  const passes = compile(schema, false);
  let explain;
  const made = {
    "~standard": {
      version: 1,
      vendor: "agent-sluice",
      validate(value) {
        if (passes(value)) return { value };
        explain ??= compile(schema, true);
        explain(value);
        return { issues: (explain.errors ?? passes.errors ?? []).map(issueOf) };
      }
    }
  };
  compiled.set(schema, made);
  return made;
}
var compiled = /* @__PURE__ */ new WeakMap();
function compile(schema, allErrors) {
  const options = { allErrors, strict: false, ownProperties: true, logger: false };
  const Draft = draftOf(schema);
  try {
    const ajv = new Draft(options);
    formats.default(ajv);
    return ajv.compile(schema);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new Fault("BAD_SCHEMA", `the JSON Schema cannot be compiled: ${message}`, { cause: error });
  }
}
function draftOf(schema) {
  const draft = schema["$schema"];
  if (draft === void 0) return Ajv2020;
  if (typeof draft === "string") {
    const name = draft.replace(/^https?:\/\//, "").replace(/#$/, "");
    if (name === "json-schema.org/draft/2020-12/schema" || name === "json-schema.org/schema") return Ajv2020;
    if (name === "json-schema.org/draft-07/schema") return Ajv;
  }
  throw new Fault(
    "BAD_SCHEMA",
    `$schema ${quote(String(draft), 80)} is not supported; use draft 2020-12 or draft-07, or leave it out`
  );
}
function issueOf(error) {
  const path = error.instancePath.split("/").slice(1).map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  return { rule: error.keyword, path, message: messageOf(error) };
}
function messageOf(error) {
  const { params, message = "is not valid" } = error;
  if (error.keyword === "enum")
    return `must be one of ${quote(params.allowedValues.map(String).join(", "), 120)}`;
  if (error.keyword === "const") return `must be ${quote(JSON.stringify(params.allowedValue) ?? "", 120)}`;
  if (error.keyword === "additionalProperties")
    return `must not have the property ${quote(params.additionalProperty)}`;
  return message;
}

// src/values/schema.ts
function checkOf(schema) {
  const { validate } = standard(schema)["~standard"];
  return (value) => {
    let result;
    try {
      result = validate(value);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return {
        errors: [{ path: "", rule: "threw", message: clip(`the schema threw: ${message}`, MAX_MESSAGE2) }]
      };
    }
    if ("then" in result) {
      result.then(void 0, () => {
      });
      throw new Fault(
        "BAD_SCHEMA",
        "the schema answers asynchronously; use one without async checks or transforms"
      );
    }
    if (!result.issues) return { value: result.value };
    return { errors: result.issues.slice(0, MAX_ERRORS).map((issue) => errorOf(issue, value)) };
  };
}
var MAX_ERRORS = 20;
var MAX_MESSAGE2 = 200;
function standard(schema) {
  if ((typeof schema === "object" || typeof schema === "function") && schema !== null) {
    if ("~standard" in schema) return schema;
    if (typeof schema === "object" && !Array.isArray(schema)) return jsonSchema(schema);
  }
  throw new Fault(
    "BAD_SCHEMA",
    `expected a Standard Schema or a JSON Schema object, but got ${describe2(schema)}`
  );
}
function errorOf(issue, root) {
  let path = "";
  let found = root;
  for (const segment of issue.path ?? []) {
    const key = typeof segment === "object" ? segment.key : segment;
    path += `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;
    found = isObject(found) && Object.hasOwn(found, key) ? found[key] : void 0;
  }
  return {
    path: clip(path, MAX_MESSAGE2),
    rule: ruleOf(issue),
    message: `${clip(issue.message, MAX_MESSAGE2)}, found ${describe2(found)}`
  };
}
function ruleOf(issue) {
  for (const name of [issue.rule, issue.code, issue.type]) {
    if (typeof name === "string" && name !== "") return clip(name, 60);
  }
  return "invalid";
}
function describe2(value) {
  if (typeof value === "string") return quote(value);
  if (value === void 0) return "nothing";
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (isObject(value)) {
    const keys = Object.keys(value);
    return keys.length === 0 ? "an empty object" : `an object with ${quote(keys.slice(0, 5).join(", "))}`;
  }
  return clip(String(value), 40);
}
function isObject(value) {
  return typeof value === "object" && value !== null;
}

// src/values/values.ts
function valueStage(options = {}) {
  const { tag, lines: lines2 = false, pick = "each", label } = options;
  const maxComment = limit("maxComment", options.maxComment, 1 << 20);
  const rules = rulesOf(options);
  if (tag !== void 0 && lines2) {
    throw new Fault("BAD_OPTION", "tag and lines exclude each other; leave one of them out");
  }
  word("pick", pick, ["each", "first", "last"]);
  const cut = frameStage(cutOf(options, rules));
  return (next) => {
    const head = headOf(maxComment);
    let channel;
    let done = false;
    const picked = pickStage(pick)({
      write(outcome) {
        done = pick === "first";
        next.write(outcome);
      },
      end: () => next.end()
    });
    const judge3 = judgeStage({ rules, label, head })(picked);
    const frames = cut(judge3);
    return {
      write(chunk) {
        if (done || chunk.channel === "exit" || chunk.channel === "stderr" || chunk.bytes.length === 0) return;
        channel ??= chunk.channel;
        if (chunk.channel !== channel) return;
        head.add(chunk.bytes);
        frames.write(chunk);
      },
      end() {
        frames.end();
      }
    };
  };
}
function cutOf(options, rules) {
  const { tag, lines: lines2, maxFrame } = options;
  const none = { tags: [], fences: false, lines: false, objects: false, think: true, text: true, maxFrame };
  if (tag !== void 0) return { ...none, tags: [tag] };
  if (lines2) return { ...none, lines: true, think: false };
  return {
    ...none,
    tags: ["json"],
    needsPayload: true,
    fences: true,
    objects: true,
    loose: rules.check !== void 0,
    document: rules.root
  };
}
function rulesOf(options) {
  const { schema, normalize = [], root = "object", partial = false, protoKeys = "remove" } = options;
  word("root", root, ["object", "any"]);
  word("protoKeys", protoKeys, ["remove", "error", "keep"]);
  if (!Array.isArray(normalize) || normalize.some((one) => typeof one !== "function")) {
    throw new Fault("BAD_OPTION", "normalize must be an array of functions");
  }
  return {
    check: schema === void 0 ? void 0 : checkOf(schema),
    normalize,
    root,
    partial,
    protoKeys,
    maxRepair: limit("maxRepair", options.maxRepair, 64 * 1024),
    maxDepth: limit("maxDepth", options.maxDepth, 512),
    // Lines come by the million, other payloads one or a few to a run.
    look: options.lines !== true
  };
}
function word(name, value, known) {
  if (known.includes(value)) return;
  throw new Fault("BAD_OPTION", `${name} must be one of ${known.join(", ")}, but is ${quote(String(value))}`);
}
function limit(name, value, fallback) {
  if (value === void 0) return fallback;
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new Fault("BAD_OPTION", `${name} must be a whole number, but is ${quote(String(value))}`);
}

// src/events/payload.ts
function payloadFinder({ schema, maxFrame }) {
  const each = valueStage({ maxFrame, maxComment: 0 });
  const judged = schema && valueStage({ schema, pick: "last", maxFrame, maxComment: 0 });
  let last;
  return {
    /** `enveloped`: the engine put the text into a document of its own; taking it out is a repair. */
    find(text2, enveloped) {
      if (!text2.includes("{")) return NOTHING;
      const chunks = [{ channel: "stdout", bytes: Buffer.from(text2) }];
      if (judged) {
        const outcome = drive(judged, chunks).at(-1);
        if (outcome && isCandidate(outcome)) last = { outcome, enveloped };
      }
      const outcomes = drive(each, chunks).filter(isCandidate);
      const fault = outcomes.at(-1);
      const payloads = outcomes.filter((outcome) => outcome.ok).map(({ value, repair_level }) => ({
        value,
        repair_level: enveloped ? "deterministic_generic" : repair_level
      }));
      return { payloads, fault: fault && !fault.ok ? fault.fault.code : void 0 };
    },
    /** What became of the run's payload; undefined without a schema. `whole` is false for a run that broke off. */
    result(whole) {
      if (!judged) return void 0;
      if (!last) return { status: "failed", repair_level: "none", warnings: ["NO_MATCH"], cacheable: false };
      const { outcome, enveloped } = last;
      const warnings = new Set(outcome.notes.map((note) => note.code));
      if (!outcome.ok) {
        const { code, errors } = outcome.fault;
        const failed = { status: "failed", repair_level: "none", cacheable: false };
        return { ...failed, warnings: [.../* @__PURE__ */ new Set([code, ...warnings])], ...errors && { errors } };
      }
      if (enveloped) warnings.add("OUTPUT_REPAIRED_GENERIC");
      const repair_level = enveloped ? "deterministic_generic" : outcome.repair_level;
      return {
        status: "success",
        value: outcome.value,
        repair_level,
        warnings: [...warnings],
        cacheable: whole
      };
    }
  };
}
var NOTHING = { payloads: [], fault: void 0 };
function isCandidate(outcome) {
  return outcome.ok || outcome.fault.code !== "NO_MATCH" && outcome.fault.code !== "EMPTY";
}

// src/events/profile.ts
function isRecord2(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
function text(value) {
  return typeof value === "string" ? value : void 0;
}

// src/events/say.ts
var SURE = 0.95;
var LOW = 0.7;
var MAX_RAW = 4096;
var MAX_OPEN = 4096;
function speech(options) {
  const { writer: writer2, tally: tally2, doneMarker, maxFrame } = options;
  let confidence = SURE;
  let spoke = false;
  let drifted = false;
  let kept;
  let unknown = false;
  let nameless = 0;
  const evidence = {
    done_marker: false,
    end_signal: null,
    failure: null,
    truncated: false
  };
  const open = /* @__PURE__ */ new Map();
  const calls = /* @__PURE__ */ new Set();
  const write = (type, data, sure) => {
    spoke = true;
    writer2.write(type, data, sure);
  };
  const diagnose = (code, message, severity = "warning") => write(
    "diagnostic.parser.warning",
    { code, message: clip(message, 300), severity, confidence },
    confidence
  );
  const raw = (text2, sure = confidence) => {
    const channel = writer2.place()?.channel ?? "stdout";
    const line = text2.length > MAX_RAW ? text2.slice(0, MAX_RAW) : text2;
    write(`raw.${channel}`, line === text2 ? { line } : { line, truncated: true }, sure);
  };
  const guessed = (text2) => {
    if (confidence >= LOW) return;
    diagnose("LOW_CONFIDENCE_PARSE", codes.LOW_CONFIDENCE_PARSE);
    raw(text2);
  };
  const final = (id, text2, more) => {
    const { payloads, fault } = options.payloads(text2, more.enveloped === true);
    const last = payloads.at(-1);
    if (payloads.some(
      ({ value }) => isRecord2(value) && Object.hasOwn(value, doneMarker) && value[doneMarker] === true
    )) {
      evidence.done_marker = true;
    }
    const before = confidence;
    if (last && confidence < LOW) confidence = 0.8;
    write(
      "agent.message.final",
      {
        message_id: id,
        text: text2,
        ...last && { structured_payload: last.value, repair_level: last.repair_level },
        ...more.incomplete && { incomplete: true },
        ...more.parent !== void 0 && { parent_call_id: more.parent }
      },
      confidence
    );
    guessed(text2);
    if (fault) diagnose(fault, `the last payload of the message ${id}: ${codes[fault]}`);
    confidence = before;
  };
  const closeOpen = (id, more) => {
    const message = open.get(id);
    open.delete(id);
    if (!message) return;
    const here = writer2.place();
    writer2.about(message.range, true);
    final(id, message.parts.join(""), { ...message.more, ...more });
    writer2.about(here, true);
  };
  const call = (type, of) => {
    if (type === "tool.call.started") {
      if (calls.size >= MAX_OPEN) calls.clear();
      calls.add(of.id);
    } else if (!calls.delete(of.id)) {
      write(
        "tool.call.started",
        toolData({ id: of.id, name: of.name, input: of.input, parent: of.parent }),
        confidence
      );
    }
    write(type, toolData(of), confidence);
  };
  const say = {
    session(id) {
      if (typeof id !== "string" || id === "") return;
      if (writer2.session(id)) write("lifecycle.run.status", { status: "started" }, confidence);
    },
    status(status, more = {}) {
      write("lifecycle.run.status", { status, ...more }, confidence);
    },
    delta(id, text2, more = {}) {
      write(
        "agent.message.delta",
        { message_id: id, text: text2, ...more.parent !== void 0 && { parent_call_id: more.parent } },
        confidence
      );
      let message = open.get(id);
      if (!message) {
        if (open.size >= MAX_OPEN)
          for (const oldest of open.keys()) {
            closeOpen(oldest, { incomplete: true });
            break;
          }
        message = { parts: [], size: 0, range: writer2.place(), more };
        open.set(id, message);
      }
      const place = writer2.place();
      if (message.range && place) message.range = { ...message.range, to: place.to };
      if (message.size <= maxFrame) message.parts.push(text2);
      message.size += text2.length;
      if (message.size > maxFrame && message.size - text2.length <= maxFrame) {
        diagnose("FRAME_TOO_LONG", "a message outgrew maxFrame; its final text is cut");
      }
    },
    message(id, text2, more = {}) {
      const key = id ?? `message-${++nameless}`;
      if (text2 === void 0) {
        closeOpen(key, more);
        return;
      }
      open.delete(key);
      final(key, text2, more);
    },
    reasoning(id, text2) {
      write("agent.reasoning.summary", { message_id: id ?? `reasoning-${++nameless}`, text: text2 }, confidence);
    },
    started: (of) => call("tool.call.started", of),
    completed: (of) => call("tool.call.completed", of),
    failed: (of) => call("tool.call.failed", of),
    artifact(change, path) {
      spoke = true;
      options.artifact(change, path);
    },
    error(message, severity = "error") {
      if (severity === "fatal") evidence.failure ??= clip(message, 200);
      write(
        "diagnostic.engine.error",
        { code: "ENGINE_ERROR", message: clip(message, 2e3), severity, confidence },
        confidence
      );
    },
    warning: (code, message = codes[code], severity = "warning") => diagnose(code, message, severity),
    begun() {
      evidence.end_signal = null;
      evidence.failure = null;
    },
    ended(signal) {
      evidence.end_signal = signal;
    },
    truncated(reason) {
      evidence.truncated = true;
      diagnose("TRUNCATED", `the answer was cut: ${reason}`);
    },
    unknownType(name) {
      unknown = true;
      spoke = true;
      tally2.type(name);
    },
    fields(record, known) {
      for (const key in record) {
        if (!Object.hasOwn(record, key) || knows(known, key)) continue;
        tally2.field(key);
        if (kept && !drifted) raw(kept.text, SURE);
        drifted = true;
      }
    },
    confidence(value) {
      confidence = value;
    },
    about(range) {
      writer2.about(range, true);
      kept = "text" in range ? range : void 0;
      drifted = false;
    },
    giveBack(kept2) {
      writer2.about(kept2, true);
      unread(kept2);
    }
  };
  const unread = (given) => {
    const before = confidence;
    confidence = given.blank ? SURE : 0.3;
    raw(given.text);
    const kind = given.value === void 0 ? "line" : "record";
    const { channel } = given;
    const message = `a ${kind} on ${channel} was not understood and is kept as raw`;
    if (!given.blank && !unknown) tally2.noise(`${channel} ${kind}`, "RAW_LINE", 0.3, message);
    confidence = before;
  };
  return {
    say,
    /** Lets the engine speak about one frame, and keeps what it did not understand. */
    frame(read, given) {
      writer2.about(given);
      spoke = drifted = unknown = false;
      kept = void 0;
      confidence = given.mended ? 0.8 : SURE;
      const understood = read(given, say);
      if (understood === false) unread(given);
      else if (understood === true && (!spoke || drifted)) raw(given.text, SURE);
      unknown = false;
      return understood;
    },
    /** A frame that is not shown to the engine. */
    unread(given) {
      writer2.about(given);
      unread(given);
    },
    warn: diagnose,
    /** Lets the engine speak about what it kept. */
    last(end) {
      writer2.about(void 0);
      confidence = SURE;
      unknown = false;
      end?.(say);
    },
    /** What is still open when the input is over. */
    end() {
      confidence = SURE;
      for (const id of [...open.keys()]) closeOpen(id, { incomplete: true });
      writer2.about(void 0);
    },
    evidence: () => evidence,
    sawTruncation() {
      evidence.truncated = true;
    }
  };
}
function toolData(of) {
  const data = { call_id: of.id, name: of.name };
  if (of.input !== void 0) data.input = of.input;
  if (of.output !== void 0) data.output = of.output;
  if (of.exit_code !== void 0) data.exit_code = of.exit_code;
  if (of.error !== void 0) data.error = of.error;
  if (of.parent !== void 0) data.parent_call_id = of.parent;
  return data;
}
var knownSets = /* @__PURE__ */ new Map();
function knows(list, key) {
  let set = knownSets.get(list);
  if (!set) {
    set = new Set(list.split(" "));
    knownSets.set(list, set);
  }
  return set.has(key);
}

// src/events/tally.ts
var MAX_NAMES = 256;
function tally(writer2) {
  const kinds2 = /* @__PURE__ */ new Map();
  const types = /* @__PURE__ */ new Map();
  const fields = /* @__PURE__ */ new Map();
  const count2 = (names, name) => {
    const known = names.get(name);
    if (known === void 0 && names.size >= MAX_NAMES) {
      names.set("\u2026", (names.get("\u2026") ?? 0) + 1);
      return false;
    }
    names.set(name, (known ?? 0) + 1);
    return known === void 0;
  };
  const warn = (code, message, confidence, more = {}) => writer2.write(
    "diagnostic.parser.warning",
    { code, message: clip(message, 300), severity: "warning", confidence, ...more },
    confidence
  );
  return {
    /** One more of a kind. */
    noise(kind, code, confidence, message = codes[code]) {
      const known = kinds2.get(kind);
      if (known) {
        known.count++;
        return;
      }
      kinds2.set(kind, { code, message, confidence, count: 1 });
      warn(code, message, confidence);
    },
    type(name) {
      if (count2(types, clip(name, 80))) warn("UNKNOWN_TYPE", `${codes.UNKNOWN_TYPE}: ${quote(name)}`, 0.3);
    },
    field(name) {
      if (count2(fields, clip(name, 80))) warn("UNKNOWN_FIELD", `${codes.UNKNOWN_FIELD}: ${quote(name)}`, 0.7);
    },
    /** The counts, and the drift report. */
    end() {
      for (const { code, message, confidence, count: count3 } of kinds2.values()) {
        if (count3 > 1) warn(code, `${count3} times: ${message}`, confidence, { count: count3 });
      }
      if (types.size + fields.size === 0) return;
      const report = `${types.size} unknown types, ${fields.size} unknown fields`;
      const drift = { types: Object.fromEntries(types), fields: Object.fromEntries(fields) };
      warn("DRIFT_REPORT", report, 0.95, { drift });
    }
  };
}

// src/events/unique.ts
function unique(options) {
  const { hash, window, maxHeld, pass } = options;
  const seen = { stdout: false, stderr: false, pty: false };
  let announced = false;
  const emitted = {
    stdout: /* @__PURE__ */ new Map(),
    stderr: /* @__PURE__ */ new Map(),
    pty: /* @__PURE__ */ new Map()
  };
  let forgotten = 0;
  const records = /* @__PURE__ */ new Map();
  const lines2 = /* @__PURE__ */ new Map();
  const waitingByKey = /* @__PURE__ */ new Map();
  let nextId = 0;
  let heldSize = 0;
  let paired = 0;
  const remember = (channel, key) => {
    const keys = emitted[channel];
    keys.set(key, (keys.get(key) ?? 0) + 1);
    if (keys.size > window) {
      for (const oldest2 of keys.keys()) {
        keys.delete(oldest2);
        break;
      }
      forgotten++;
    }
  };
  const forget = (channel, key) => {
    const keys = emitted[channel];
    const count2 = keys.get(key);
    if (count2 === void 0) return false;
    if (count2 === 1) keys.delete(key);
    else keys.set(key, count2 - 1);
    return true;
  };
  const wait = (key, frame) => {
    const id = nextId++;
    (frame.value === void 0 ? lines2 : records).set(id, { key, frame });
    heldSize += frame.text.length;
    const queue = waitingByKey.get(key);
    if (queue) queue.ids.push(id);
    else waitingByKey.set(key, { ids: [id], head: 0 });
  };
  const leave = (id) => {
    const place = records.has(id) ? records : lines2;
    const waited = place.get(id);
    place.delete(id);
    heldSize -= waited.frame.text.length;
    const queue = waitingByKey.get(waited.key);
    if (++queue.head === queue.ids.length) waitingByKey.delete(waited.key);
    return waited;
  };
  const letGo = (id, late) => {
    const { key, frame } = leave(id);
    remember("pty", key);
    pass(frame, late ? "late" : "pty-only");
  };
  const settleBefore = (id) => {
    for (const earlier of records.keys()) {
      if (earlier >= id) break;
      letGo(earlier, forgotten > 0);
    }
  };
  const cancel = (key) => {
    if (forget("stdout", key)) settleBefore(nextId);
    else if (!forget("stderr", key)) return false;
    paired++;
    return true;
  };
  const admitPty = (frame) => {
    if (!seen.stdout) {
      if (!alone()) remember("pty", hash(frame.text));
      pass(frame, "first");
      return;
    }
    const key = hash(frame.text);
    if (cancel(key)) return;
    wait(key, frame);
    while (records.size + lines2.size > window || heldSize > maxHeld) letGo(oldest(), true);
  };
  const oldest = () => {
    const [record = nextId] = records.keys();
    const [line = nextId] = lines2.keys();
    return Math.min(record, line);
  };
  const admitOther = (channel, frame) => {
    if (alone()) {
      pass(frame, "first");
      return;
    }
    const key = hash(frame.text);
    const queue = waitingByKey.get(key);
    if (queue) {
      const id = queue.ids[queue.head];
      paired++;
      if (channel === "stdout") settleBefore(id);
      leave(id);
      pass(frame, "first");
    } else if (forget("pty", key)) paired++;
    else {
      remember(channel, key);
      pass(frame, "first");
    }
  };
  const alone = () => announced && !(seen.pty && (seen.stdout || seen.stderr));
  return {
    /** Says which channels there are, all of them. */
    announce(channels) {
      announced = true;
      for (const channel of channels) seen[channel] = true;
    },
    /** Bytes of this channel have come. */
    saw(channel) {
      if (seen[channel]) return;
      seen[channel] = true;
      announced = false;
    },
    /** True if this PTY line has a twin: both are settled, and the line need not even be decoded. */
    hasTwin(line) {
      return seen.stdout && emitted.stdout.size + emitted.stderr.size > 0 && cancel(hash(line));
    },
    admit(frame) {
      if (frame.blank) {
        if (frame.channel !== "pty" || !seen.stdout) pass(frame, "first");
      } else if (frame.channel === "pty") admitPty(frame);
      else admitOther(frame.channel, frame);
    },
    end() {
      for (const id of [...records.keys(), ...lines2.keys()].sort((a, b) => a - b)) letGo(id, forgotten > 0);
    },
    /** What was paired and what is held: in the tests, the proof of the bound. */
    counts() {
      const { stdout, stderr, pty } = emitted;
      return { paired, forgotten, held: records.size + lines2.size + stdout.size + stderr.size + pty.size };
    }
  };
}

// src/events/write.ts
var MAX_PLACES = 65536;
function writer(options, next) {
  const { run_id, attempt: attempt2, clock } = options;
  let seq = 0;
  let session;
  let voice = { name: "", parser: "" };
  let range;
  let again = true;
  let index = 0;
  const indexes = /* @__PURE__ */ new Map();
  const sources = /* @__PURE__ */ new Map();
  let lastTime = Number.NaN;
  let lastStamp = "";
  const stamp = () => {
    const now = clock();
    if (now !== lastTime) {
      lastTime = now;
      lastStamp = new Date(now).toISOString();
    }
    return lastStamp;
  };
  const sourceOf = (confidence) => {
    let source = sources.get(confidence);
    if (!source) {
      source = Object.freeze({ engine: voice.name, parser: voice.parser, confidence });
      sources.set(confidence, source);
    }
    return source;
  };
  const nextIndex = (place) => {
    const next2 = indexes.get(place) ?? 0;
    if (indexes.size > MAX_PLACES) indexes.clear();
    indexes.set(place, next2 + 1);
    return next2;
  };
  return {
    write(type, data, confidence) {
      const place = range ? `${range.channel}:${range.from}-${range.to}` : "end";
      const event_id = `${run_id}:${attempt2}:${place}:${again ? `+${nextIndex(place)}` : index++}`;
      const event = {
        protocol_version: "rasp/1.0",
        run_id,
        seq: ++seq,
        ts: stamp(),
        source: sourceOf(confidence),
        event: kindOf(type),
        data,
        correlation: session === void 0 ? { event_id } : { session_id: session, event_id },
        attempt_number: attempt2,
        raw_ref: range ? {
          attempt_number: attempt2,
          stream: range.channel,
          byte_from: range.from,
          byte_to: range.to,
          encoding: "utf-8"
        } : null
      };
      next.write(event);
    },
    /** The events that follow are about this range; `again` if it was spoken about before. */
    about(place, repeated = false) {
      if (place !== void 0 && place === range && !repeated) return;
      range = place;
      again = repeated || place === void 0;
      index = 0;
    },
    place: () => range,
    /** Sets the session; true for the first one. */
    session(id) {
      const first = session === void 0;
      session = id;
      return first;
    },
    voice(speaker) {
      voice = speaker;
      sources.clear();
    },
    count: () => seq
  };
}
var kinds = /* @__PURE__ */ new Map();
function kindOf(type) {
  let kind = kinds.get(type);
  if (!kind) {
    kind = Object.freeze({ category: type.slice(0, type.indexOf(".")), type });
    kinds.set(type, kind);
  }
  return kind;
}

// src/events/events.ts
function events(profile, options = {}) {
  const inside = options.dir === void 0 ? void 0 : linkCheck(options.dir);
  return flow(eventStage(profile, { ...options, inside }), { signal: options.signal, intake: eventIntake });
}
var MAX_UNPICKED = 1024;
var MAX_UNPICKED_TEXT = 1 << 18;
function eventStage(profile, options = {}) {
  const {
    run_id = "run",
    attempt: attempt2 = 1,
    clock = Date.now,
    window = 65536,
    maxFrame = 16 * 1024 * 1024
  } = options;
  const { doneMarker = "__SKILL_DONE__", hash = digest } = options;
  positive({ attempt: attempt2, window, maxFrame });
  payloadFinder({ schema: options.schema, maxFrame });
  return (next) => {
    const write = writer({ run_id, attempt: attempt2, clock }, next);
    const counts = tally(write);
    const payload = payloadFinder({ schema: options.schema, maxFrame });
    const floor = speech({
      writer: write,
      tally: counts,
      doneMarker,
      maxFrame,
      payloads: payload.find,
      artifact: (change, path) => files.claim(change, path)
    });
    const { dir, fsDiff } = options;
    const files = artifacts({
      writer: write,
      warn: floor.warn,
      dir,
      fsDiff,
      inside: options.inside ?? (() => true)
    });
    let exit;
    let engine;
    let reader;
    let unpicked = [];
    let unpickedSize = 0;
    const choose = (picked) => {
      engine = picked;
      reader = picked.open();
      write.voice(picked);
      if ("pick" in profile) {
        write.about(void 0);
        floor.warn("ENGINE_PICKED", `${profile.name} picked ${picked.name}`, "info");
      }
      const held = unpicked;
      unpicked = [];
      for (const { frame, how } of held) pass(frame, how);
    };
    const pass = (frame, how) => {
      if (!engine && "pick" in profile) {
        unpicked.push({ frame, how });
        unpickedSize += frame.text.length;
        const picked = profile.pick(frame);
        const full = unpicked.length >= MAX_UNPICKED || unpickedSize >= MAX_UNPICKED_TEXT;
        if (picked || full) choose(picked ?? profile.fallback);
        return;
      }
      const shape = engine.cut[frame.channel];
      if (how !== "first") {
        write.about(frame);
        if (frame.value === void 0) counts.noise("pty only", "PTY_STREAM_MISMATCH", 0.7);
        else floor.warn("PTY_STREAM_MISMATCH", "the PTY has a record that stdout lacks");
        if (how === "late") counts.noise("late", "LATE_DUPLICATE_POSSIBLE", 0.3);
      }
      const told = shape !== void 0 && (how === "first" || frame.value !== void 0);
      const understood = told && floor.frame(reader.read, frame);
      if (!told) floor.unread(frame);
      for (const note of frame.notes ?? []) counts.noise(note.code, note.code, 0.7, note.message);
      if (frame.open && told && shape !== "text" && understood !== "kept") {
        floor.sawTruncation();
        floor.warn("TRUNCATED", "the input ended inside a record");
      }
    };
    const once = unique({ hash, window, maxHeld: maxFrame, pass });
    const channels = /* @__PURE__ */ new Map();
    const open = (channel) => {
      const cut = cutter({ channel, cut: () => (engine ?? profile).cut, maxFrame }, once.admit);
      const seen = (bytes) => !cut.holding && once.hasTwin(bytes);
      const split = lines(maxFrame, cut.line, channel === "pty" ? seen : void 0);
      const made = {
        write: split.write,
        end() {
          split.end();
          cut.end();
        }
      };
      channels.set(channel, made);
      return made;
    };
    if (!("pick" in profile)) choose(profile);
    else write.voice(profile);
    return {
      write(chunk) {
        if (chunk.channel === "exit") {
          exit = chunk;
          return;
        }
        if (chunk.channels) once.announce(chunk.channels);
        if (chunk.bytes.length === 0) return;
        once.saw(chunk.channel);
        const channel = channels.get(chunk.channel) ?? open(chunk.channel);
        channel.write(chunk.bytes);
      },
      end() {
        for (const name of ["stdout", "stderr", "pty"]) channels.get(name)?.end();
        once.end();
        if (!engine && "pick" in profile) choose(profile.fallback);
        floor.last(reader.end);
        floor.end();
        counts.end();
        files.end();
        if (exit?.held)
          floor.warn("PIPE_HELD_OPEN", `the process ended, but something still holds ${exit.held.join(", ")}`);
        const { data, conflict } = judge({
          ...floor.evidence(),
          exit_code: exit?.code ?? null,
          signal: exit?.signal ?? null
        });
        const result = payload.result(data.state !== "interrupted");
        if (result) write.write("lifecycle.run.result", result, 0.95);
        if (conflict) floor.warn("COMPLETION_CONFLICT", conflict);
        write.write("lifecycle.completion.state", data, 0.95);
        next.end();
      }
    };
  };
}
function eventIntake() {
  const door = chunkIntake();
  let first = true;
  return {
    ...door,
    take(written) {
      const chunk = door.take(written);
      const alone = first && chunk.channel !== "exit" && chunk !== written;
      first = false;
      return alone ? { ...chunk, channels: ["stdout"] } : chunk;
    }
  };
}
function linkCheck(dir) {
  return (path) => {
    try {
      const root = realpathSync(dir);
      return `${realpathSync(join(dir, path))}${sep}`.startsWith(`${root}${sep}`);
    } catch {
      return true;
    }
  };
}
function digest(text2) {
  return hashOnce("sha256", text2, "binary").slice(0, 16);
}
function positive(numbers) {
  for (const [name, value] of Object.entries(numbers)) {
    if (Number.isSafeInteger(value) && value > 0) continue;
    throw new Fault("BAD_OPTION", `${name} must be a whole number above 0, but is ${value}`);
  }
}

// src/engines/codex.ts
var codex = {
  name: "codex",
  parser: "codex_ndjson",
  cut: { stdout: "records", pty: "records" },
  about: "codex exec --json; 0.166, 0.98, 0.42 (both of its dialects)",
  shape: ({ value }) => isRecord2(value) && (isLine(value) || isOldLine(value)),
  open: () => ({
    read({ value }, say) {
      if (!isRecord2(value)) return false;
      if (isRecord2(value["msg"])) return readOld(value["msg"], text(value["id"]) ?? "", say);
      if (isConfig(value)) {
        say.status("configured", typeof value["model"] === "string" ? { model: value["model"] } : {});
        return true;
      }
      if (typeof value["prompt"] === "string" && value["type"] === void 0) return true;
      return readLine(value, say);
    }
  })
};
function isLine(value) {
  const type = text(value["type"]) ?? "";
  return /^(thread|turn|item)\.[a-z]+$/.test(type.slice(0, 40)) || type === "session.created" && "session_id" in value;
}
function isOldLine(value) {
  return typeof value["id"] === "string" && isRecord2(value["msg"]) && typeof value["msg"]["type"] === "string";
}
function isConfig(value) {
  return typeof value["workdir"] === "string" && typeof value["provider"] === "string";
}
function readLine(line, say) {
  const type = text(line["type"]) ?? "";
  switch (type) {
    case "thread.started":
    case "session.created":
      say.fields(line, "type thread_id session_id");
      say.session(line["thread_id"] ?? line["session_id"]);
      return true;
    case "turn.started":
      say.fields(line, "type");
      say.begun();
      say.status("turn_started");
      return true;
    case "turn.completed":
      say.fields(line, "type usage");
      say.status("turn_completed", { usage: line["usage"] });
      say.ended(type);
      return true;
    case "turn.failed":
      say.fields(line, "type error");
      say.status("turn_failed");
      say.error(errorText(line["error"]), "fatal");
      return true;
    case "error":
      say.fields(line, "type message");
      say.error(errorText(line), /^Reconnecting/.test(errorText(line)) ? "warning" : "error");
      return true;
    case "item.started":
    case "item.updated":
    case "item.completed":
      say.fields(line, "type item");
      return isRecord2(line["item"]) && readItem(type, line["item"], say);
    default:
      say.unknownType(type);
      return false;
  }
}
function readItem(phase, item, say) {
  const id = text(item["id"]);
  const type = text(item["type"]) ?? text(item["item_type"]) ?? "";
  const done = phase === "item.completed";
  switch (type) {
    case "agent_message":
    case "assistant_message":
      say.fields(item, "id type item_type text");
      if (done) say.message(id, text(item["text"]) ?? "");
      return true;
    case "reasoning":
      say.fields(item, "id type item_type text");
      if (done) say.reasoning(id, text(item["text"]) ?? "");
      return true;
    case "error":
      say.fields(item, "id type item_type message");
      say.error(errorText(item), "warning");
      return true;
    case "command_execution":
      say.fields(item, "id type item_type command aggregated_output exit_code status");
      readCall(phase, item, "command_execution", { command: item["command"] }, item["aggregated_output"], say);
      return true;
    case "mcp_tool_call":
      say.fields(item, "id type item_type server tool arguments result error status");
      readCall(phase, item, `${item["server"]}.${item["tool"]}`, item["arguments"], item["result"], say);
      return true;
    case "web_search":
      say.fields(item, "id type item_type query action");
      readCall(phase, item, "web_search", { query: item["query"] }, void 0, say);
      return true;
    case "file_change":
      say.fields(item, "id type item_type changes status");
      readCall(phase, item, "file_change", { changes: item["changes"] }, void 0, say);
      if (done && item["status"] !== "failed") readChanges(item["changes"], say);
      return true;
    case "todo_list":
      say.fields(item, "id type item_type items");
      readCall(phase, item, "todo_list", { items: item["items"] }, void 0, say);
      return true;
    default:
      say.unknownType(`item ${type}`);
      return false;
  }
}
function readCall(phase, item, name, input, output, say) {
  const id = text(item["id"]) ?? "";
  if (phase === "item.started") say.started({ id, name, input });
  if (phase !== "item.completed") return;
  const exit_code = typeof item["exit_code"] === "number" ? item["exit_code"] : void 0;
  const error = item["error"] ? errorText(item["error"]) : void 0;
  const bad = item["status"] === "failed" || item["status"] === "declined" || (exit_code ?? 0) !== 0;
  const ended = { id, name, input, output: output ?? void 0, exit_code, error };
  if (bad || error !== void 0) say.failed(ended);
  else say.completed(ended);
}
var changeOf = { add: "created", update: "modified", delete: "deleted" };
function readChanges(changes, say) {
  for (const change of Array.isArray(changes) ? changes : []) {
    if (!isRecord2(change) || typeof change["path"] !== "string") continue;
    const kind = text(change["kind"]) ?? "";
    say.artifact(
      Object.hasOwn(changeOf, kind) ? changeOf[kind] : "modified",
      change["path"]
    );
  }
}
function readOld(msg, turn, say) {
  const id = text(msg["call_id"]) ?? "";
  switch (msg["type"]) {
    case "session_configured":
      say.session(msg["session_id"]);
      return true;
    case "task_started":
      say.begun();
      say.status("turn_started");
      return true;
    case "task_complete":
      say.status("turn_completed");
      say.ended("task_complete");
      return true;
    case "agent_message":
      say.message(void 0, text(msg["message"]) ?? "");
      return true;
    case "agent_message_delta":
      say.delta(`turn-${turn}`, text(msg["delta"]) ?? "");
      return true;
    case "agent_reasoning":
      say.reasoning(void 0, text(msg["text"]) ?? "");
      return true;
    case "token_count":
      say.status("token_count", isRecord2(msg["info"]) ? { usage: msg["info"]["total_token_usage"] } : {});
      return true;
    case "exec_command_begin":
      say.started({ id, name: "command_execution", input: { command: msg["command"] } });
      return true;
    case "exec_command_end": {
      const exit_code = typeof msg["exit_code"] === "number" ? msg["exit_code"] : void 0;
      const call = {
        id,
        name: "command_execution",
        output: msg["aggregated_output"] ?? msg["stdout"],
        exit_code
      };
      if ((exit_code ?? 0) === 0) say.completed(call);
      else say.failed(call);
      return true;
    }
    case "patch_apply_begin":
      say.started({ id, name: "file_change", input: { changes: msg["changes"] } });
      for (const [path, change] of Object.entries(isRecord2(msg["changes"]) ? msg["changes"] : {})) {
        const kind = isRecord2(change) ? Object.keys(change)[0] ?? "" : "";
        readChanges([{ path, kind }], say);
      }
      return true;
    case "patch_apply_end":
      if (msg["success"] === false) say.failed({ id, name: "file_change", error: text(msg["stderr"]) });
      else say.completed({ id, name: "file_change", output: msg["stdout"] });
      return true;
    case "stream_error":
      say.error(errorText(msg), "warning");
      return true;
    case "error":
      say.error(errorText(msg), "fatal");
      return true;
    case "agent_reasoning_section_break":
    case "exec_command_output_delta":
    case "turn_diff":
      return true;
    default:
      say.unknownType(`msg ${String(msg["type"])}`);
      return false;
  }
}
function errorText(error) {
  if (typeof error === "string") return error;
  return (isRecord2(error) ? text(error["message"]) : void 0) ?? "an error without a message";
}

// ../../../tmp/ev/mem5.ts
var both = process.argv[2] !== "alone";
var n = 0;
var peak = 0;
var started = process.cpuUsage();
var src = both ? { stdout: createReadStream("/tmp/ev/out.log"), pty: createReadStream("/tmp/ev/pty.log") } : { stdout: createReadStream("/tmp/ev/out.log") };
for await (const e of tap(src, { order: "step" }).pipe(events(codex))) {
  n++;
  if (n === 1) console.log("start", process.memoryUsage().heapUsed / 1e6, process.memoryUsage().rss / 1e6);
  if (n % 1e5 === 0) {
    globalThis.gc();
    console.log(n, "after gc", (process.memoryUsage().heapUsed / 1e6).toFixed(1), (process.memoryUsage().rss / 1e6).toFixed(0));
  }
  if (n % 2e3 === 0) peak = Math.max(peak, process.memoryUsage().rss);
}
var cpu = (process.cpuUsage(started).user + process.cpuUsage(started).system) / 1e6;
console.log(both ? "both" : "alone", n, "events", "peak RSS", Math.round(peak / 1e6), "MB;", cpu.toFixed(1), "cpu s", (200 * (both ? 2 : 1) / cpu).toFixed(0), "MB/cpu s");
