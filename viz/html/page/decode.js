// The data of a page as arrays; the counterpart of viz/html/page_data.cpp. viz/html/README.md describes the columns.

/** Bytes of base64 text. */
function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Reads the numbers of a `varint` column, one after another: LEB128 of zigzag. Exact below 2^53. */
class Varints {
  constructor(text) {
    this.bytes = bytesOf(text);
    this.at = 0;
  }
  next() {
    const bytes = this.bytes;
    let byte = bytes[this.at++];
    const negative = byte & 1;
    let value = (byte & 0x7f) >> 1;
    for (let scale = 64; byte >= 0x80; scale *= 128) {  // a product, not a shift: those have 32 bits
      byte = bytes[this.at++];
      value += (byte & 0x7f) * scale;
    }
    return negative ? -value - 1 : value;
  }
}

const noTask = -1;

/**
 * One run: its facts as they stand in the data, and its tasks as arrays by task id; times in ns.
 * Transfers have the id of their sender. Idle spans and memory points are arrays over all stages;
 * those of stage s are [idleOffsets[s], idleOffsets[s + 1]).
 */
class Run {
  constructor(facts) {
    Object.assign(this, facts);
    this.size = facts.offsets[facts.stages];
    this.decodeTasks(facts.columns);
    this.decodeTransfers(facts.columns);
    this.decodeIdle(facts.columns);
    this.decodeMemory(facts.columns, facts.memory_steps);
    delete this.columns;
  }

  decodeTasks(columns) {
    const n = this.size;
    const kinds = bytesOf(columns.kind);
    this.cause = bytesOf(columns.cause);
    this.pass = new Uint8Array(n);
    this.pairing = new Uint8Array(n);
    this.chunk = new Uint16Array(n);
    this.microbatch = new Uint32Array(n);
    this.start = new Float64Array(n);
    this.end = new Float64Array(n);
    this.released = new Int32Array(n);
    this.stage = new Uint16Array(n);
    const chunk = new Varints(columns.chunk), microbatch = new Varints(columns.microbatch);
    const start = new Varints(columns.start), length = new Varints(columns.length);
    const released = new Varints(columns.released);
    const recompute = columns.recompute === undefined ? null : new Varints(columns.recompute);
    this.recompute = recompute ? new Float64Array(n) : null;
    const lengths = [0, 0, 0, 0];
    for (let s = 0; s < this.stages; ++s) {
      let lastChunk = 0, lastMicrobatch = 0, lastEnd = 0;
      lengths.fill(0);
      for (let i = this.offsets[s]; i < this.offsets[s + 1]; ++i) {
        const pass = this.pass[i] = kinds[i] & 3;
        this.pairing[i] = kinds[i] >> 2;
        this.stage[i] = s;
        this.chunk[i] = lastChunk += chunk.next();
        this.microbatch[i] = lastMicrobatch += microbatch.next();
        const begin = this.start[i] = lastEnd + start.next();
        this.end[i] = lastEnd = begin + (lengths[pass] += length.next());
        const back = released.next();
        this.released[i] = back === 0 ? noTask : i - back;
        if (recompute) this.recompute[i] = recompute.next();
      }
    }
  }

  decodeTransfers(columns) {
    this.receiver = null;
    if (columns.receiver === undefined) return;
    const n = this.size;
    this.receiver = new Int32Array(n).fill(noTask);
    this.sender = new Int32Array(n).fill(noTask);  // by receiver
    this.transferStart = new Float64Array(n);
    this.transferEnd = new Float64Array(n);
    this.transferReleased = columns.transfer_released === undefined ? null : new Int32Array(n).fill(noTask);
    const receiver = new Varints(columns.receiver);
    const start = new Varints(columns.transfer_start), length = new Varints(columns.transfer_length);
    const released = this.transferReleased ? new Varints(columns.transfer_released) : null;
    let lastLength = 0;
    for (let i = 0; i < n; ++i) {
      const ahead = receiver.next();
      if (ahead === 0) continue;
      this.receiver[i] = i + ahead;
      this.sender[i + ahead] = i;
      this.transferStart[i] = this.end[i] + start.next();
      this.transferEnd[i] = this.transferStart[i] + (lastLength += length.next());
      if (!released) continue;
      const back = released.next();
      this.transferReleased[i] = back === 0 ? noTask : i - back;
    }
  }

  decodeIdle(columns) {
    const count = new Varints(columns.idle_count);
    this.idleLabel = bytesOf(columns.idle_label);
    const n = this.idleLabel.length;
    this.idleOffsets = new Uint32Array(this.stages + 1);
    this.idleStart = new Float64Array(n);
    this.idleEnd = new Float64Array(n);
    this.idleTask = new Int32Array(n);
    const start = new Varints(columns.idle_start), length = new Varints(columns.idle_length);
    const task = new Varints(columns.idle_task);
    for (let s = 0, i = 0; s < this.stages; ++s) {
      let lastEnd = 0, lastLength = 0, lastTask = 0;
      this.idleOffsets[s + 1] = this.idleOffsets[s] + count.next();
      for (; i < this.idleOffsets[s + 1]; ++i) {
        this.idleStart[i] = lastEnd + start.next();
        lastLength += length.next();
        this.idleEnd[i] = lastEnd = this.idleStart[i] + lastLength;
        lastTask += task.next();
        this.idleTask[i] = lastTask - 1;
      }
    }
  }

  decodeMemory(columns, steps) {
    const count = new Varints(columns.memory_count);
    const at = new Varints(columns.memory_at), live = new Varints(columns.memory_live);
    const step = new Varints(columns.memory_step);
    this.memoryOffsets = new Uint32Array(this.stages + 1);
    for (let s = 0; s < this.stages; ++s) this.memoryOffsets[s + 1] = this.memoryOffsets[s] + count.next();
    const n = this.memoryOffsets[this.stages];
    this.memoryAt = new Float64Array(n);
    this.memoryBytes = new Float64Array(n);
    this.memoryLive = new Float64Array(n);
    for (let s = 0, i = 0; s < this.stages; ++s) {
      let lastAt = 0, lastLive = 0, lastBytes = 0;
      for (; i < this.memoryOffsets[s + 1]; ++i) {
        this.memoryAt[i] = lastAt += at.next();
        this.memoryLive[i] = lastLive += live.next();
        this.memoryBytes[i] = lastBytes += steps[step.next()];
      }
    }
  }

  /** Task name in PyTorch's notation: chunk, pass, microbatch. */
  taskName(id) {
    return `${this.chunk[id]}${'FBIW'[this.pass[id]]}${this.microbatch[id]}`;
  }
}

/**
 * Position of the last of `values`[begin, end), which do not fall, that is at most `value`; begin - 1 where none is.
 */
function lastAtMost(values, begin, end, value) {
  let low = begin - 1, high = end;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (values[middle] <= value)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/** The same, searching near `from`, which is at least begin - 1 and at most the result. */
function lastAtMostFrom(values, from, end, value) {
  let step = 1;
  while (from + step < end && values[from + step] <= value) step *= 2;
  return lastAtMost(values, from + 1, Math.min(end, from + step), value);
}

if (typeof module !== 'undefined') module.exports = {Run, Varints, bytesOf, lastAtMost};
