/** How a piece of text looks: the parameters of one or more SGR sequences. */
export type Style = readonly number[]

export const styles = {
  plain: [],
  bold: [1],
  dim: [2],
  italic: [3],
  underline: [4],
  strike: [9],
  red: [31],
  green: [32],
  yellow: [33],
  magenta: [35],
  cyan: [36],
} as const satisfies Record<string, Style>

/** Paints text, if colours are enabled. The text must be safe already. */
export type Paint = (style: Style, text: string) => string

export function painter(color: boolean): Paint {
  return (style, text) =>
    color && style.length > 0 && text !== '' ? `\u001b[${style.join(';')}m${text}\u001b[0m` : text
}
