/**
 * The heights of many items below each other: where each begins and which is at a position, both in
 * logarithmic time, also while heights change (a Fenwick tree). Only visible items are measured.
 */
export class Heights {
  readonly #heights: number[] = []
  /** From 1: entry n has the sum of the heights up to n, as many as its lowest set bit. */
  readonly #sums: number[] = [0]

  get length(): number {
    return this.#heights.length
  }

  get total(): number {
    return this.top(this.length)
  }

  push(height: number): void {
    this.#heights.push(height)
    const n = this.#heights.length
    let sum = height
    for (let step = 1; step < (n & -n); step *= 2) sum += this.#sums[n - step]!
    this.#sums.push(sum)
  }

  /** Keeps the first ones. */
  cut(length: number): void {
    this.#heights.length = Math.min(length, this.length)
    this.#sums.length = this.length + 1
  }

  of(index: number): number {
    return this.#heights[index]!
  }

  set(index: number, height: number): void {
    const more = height - this.#heights[index]!
    this.#heights[index] = height
    for (let n = index + 1; n < this.#sums.length; n += n & -n) this.#sums[n]! += more
  }

  /** The top of the item at this index: the sum of the heights before it. */
  top(index: number): number {
    let sum = 0
    for (let n = index; n > 0; n -= n & -n) sum += this.#sums[n]!
    return sum
  }

  /** The index of the item at this position; the first or the last if it is outside. */
  at(place: number): number {
    let n = 0
    let left = place
    for (let step = 2 ** Math.floor(Math.log2(this.length || 1)); step >= 1; step /= 2) {
      const sum = this.#sums[n + step]
      if (sum !== undefined && n + step <= this.length && sum <= left) {
        n += step
        left -= sum
      }
    }
    return Math.max(0, Math.min(n, this.length - 1))
  }
}
